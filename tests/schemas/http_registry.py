"""The registry in memory as an HTTP server in a thread, for clients that block, and for other processes."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.schemas.registry import MemoryRegistry


class HttpRegistry:
    """A context with a registry at :attr:`url`.

    :ivar registry: the registry; only to be changed while no request is in progress.
    :ivar headers: of each request.
    :ivar close_each: close the connection after each reply without saying so.
    :param context: of TLS; None: the server speaks plain HTTP.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.registry = MemoryRegistry()
        self.headers: list[Any] = []
        self.close_each = False
        owner, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with lock:
                    owner.headers.append(self.headers)
                    status, reply = owner.registry.answer(self.command, self.path, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)
                self.close_connection = owner.close_each

            do_GET = do_POST = do_PUT = do_DELETE = _answer

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("0.0.0.0" if context else "127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        if context is not None:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self._server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> HttpRegistry:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
