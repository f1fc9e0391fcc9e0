"""A TCP proxy in threads, whose connections a test cuts: for brokers in processes of their own."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

CHUNK_BYTES = 65536


class CutProxy:
    """Forwards connections to a port of 127.0.0.1; what it closes is lost at both ends.

    :ivar port: the port that clients connect to.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._refusing = False
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections, and each new one, until :meth:`heal`."""
        with self._lock:
            self._refusing = True
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        """Forward again."""
        self._refusing = False

    def close(self) -> None:
        """Close all connections, and listen no more."""
        self.cut()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                try:
                    if self._refusing:
                        raise ConnectionRefusedError
                    server = socket.create_connection(("127.0.0.1", self._target_port))
                except OSError:
                    client.close()
                    continue
                self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open.discard(source)
        source.close()
