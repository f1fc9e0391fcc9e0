"""A client that can send whatever it likes: frames by hand over a plain socket."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import Any

from kafkatx.wire import codec
from kafkatx.wire.api import APIS
from kafkatx.wire.headers import decode_response_header, encode_request_header
from kafkatx.wire.schema import Message

TIMEOUT_S = 20.0


def request_frame(key: int, version: int, request: Message, correlation_id: int = 1) -> bytes:
    """A whole frame of a request, size first."""
    body = encode_request_header(key, version, correlation_id, "raw") + codec.encode(request, version)
    return struct.pack(">i", len(body)) + body


class RawClient:
    """One connection; a context manager."""

    def __init__(self, bootstrap: str, source: str = "") -> None:
        """Connect.

        :param source: the client's own address: any of 127.0.0.0/8 at a broker of this machine.
        """
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), TIMEOUT_S, (source, 0))
        self.name = "{}:{}".format(*self._socket.getsockname())

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send_some(self, data: bytes | memoryview) -> int:
        """Send what the peer takes at once; return how much that is.

        :raises OSError: the peer has closed the connection.
        """
        self._socket.setblocking(False)
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        finally:
            self._socket.settimeout(TIMEOUT_S)

    def send(self, data: bytes) -> None:
        """Send bytes; a peer that has closed is no error here."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)

    def closed(self) -> bool:
        """Wait for what comes next; say whether it is the end."""
        try:
            return not self._socket.recv(1)
        except ConnectionResetError:
            return True

    def receive(self) -> bytes:
        """The next frame's body."""
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise EOFError(f"closed after {len(data)} of {size} bytes")
            data += more
        return data

    def ask(self, key: int, version: int, request: Message) -> Any:
        """Send a request and decode its response."""
        self.send(request_frame(key, version, request))
        body = self.receive()
        _, at = decode_response_header(key, version, body)
        return codec.decode(APIS[key].response, version, body[at:])


def rss_bytes(pid: int) -> int:
    """The resident memory of a process."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise ValueError(f"process {pid} tells no VmRSS")
