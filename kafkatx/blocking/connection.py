"""One connection to one broker over a plain socket: version negotiation, pipelined requests.

The bytes are encoded and decoded by :class:`kafkatx.wire.connection.ClientConnection`.
"""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Protocol

from kafkatx import __version__
from kafkatx.blocking.security import SaslDial
from kafkatx.clientcore.bootstrap import format_address
from kafkatx.clientcore.errors import START_OR_NAME_A_BROKER, ClosedByPeer, ConnectionFailed
from kafkatx.errors import ErrorCode, KafkaTXError, ProtocolViolation, RequestError
from kafkatx.types import FileSlice
from kafkatx.wire.api import Api, api_for
from kafkatx.wire.connection import ClientConnection
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.schema import Message

API_VERSIONS = 18
RECEIVE_BYTES = 1 << 18
MAX_REPLY_BYTES = 1 << 30


class Channel(Protocol):
    """The part of a connection that the cluster, readers and writers use; tests have a fake one."""

    host: str
    port: int

    @property
    def closed(self) -> bool:
        """True if it failed or was closed; it cannot be reopened."""

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized level of each feature of the cluster, once it is open."""

    def open(self) -> None:
        """Connect and negotiate versions, unless that is done."""

    def version_for(self, message: type[Message], max_version: int | None = None) -> int:
        """Return the highest version of a request's API that both sides support."""

    def request(self, message: Message, version: int | None = None) -> Any:
        """Send a request and return its response."""

    def send(self, message: Message, version: int | None = None, *, expect_reply: bool = True) -> int:
        """Send a request; return a ticket for :meth:`receive`."""

    def receive(self, ticket: int) -> Any:
        """Wait for the response to a :meth:`send`."""

    def fileno(self) -> int:
        """Return the socket's descriptor, to wait for several connections at once."""

    def close(self) -> None:
        """Close the connection; pending responses are lost."""


class Connection:
    """A connection that is opened at its first use, when it negotiates versions with ApiVersions.

    Not thread-safe. After :class:`ConnectionFailed` it stays closed: make another one.

    :param timeout_s: the longest time without progress in receiving a response or in sending.
    :param dial: connects a socket to (host, port) with a timeout; tests pass another function.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str = "kafkatx",
        timeout_s: float = 30.0,
        connect_timeout_s: float = 10.0,
        dial: Callable[[tuple[str, int], float], socket.socket] = socket.create_connection,
    ) -> None:
        self.host = host
        self.port = port
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._dial = dial
        self._login = dial.login if isinstance(dial, SaslDial) else None
        self._login_due_s = float("inf")
        self._socket: socket.socket | None = None
        self._closed = False
        self._negotiated = False
        self._reset()

    def _reset(self) -> None:
        self._protocol = ClientConnection(self._client_id, MAX_REPLY_BYTES)
        self._sent = 0
        self._expected: deque[int] = deque()
        self._replies: dict[int, Any] = {}

    @property
    def closed(self) -> bool:
        """True if it failed or was closed; it cannot be reopened."""
        return self._closed

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized level of each feature of the cluster, once it is open."""
        return self._protocol.features

    @property
    def address(self) -> str:
        """The broker's ``host:port``."""
        return format_address((self.host, self.port))

    def open(self) -> None:
        """Connect and negotiate versions, unless that is done.

        A broker that closes the connection on ApiVersions 3 is asked with version 0. If it closes on that
        too, it is older than ApiVersions (Kafka 0.9) if it answers a Metadata request: then version 0 of
        every API is used. A proxy whose broker is away closes connections, too.

        :raises ConnectionFailed: the broker cannot be reached or does not speak Kafka's protocol.
        :raises AuthenticationFailed: it refuses the login.
        """
        if self._socket is not None:
            return
        for version in (3, 0):
            self._connect()
            with contextlib.suppress(ClosedByPeer):
                self._negotiate(version)
                self._negotiated = True
                break
        if self._negotiated:
            self._log_in()
            return
        self._connect()
        self._protocol.fallback_versions()
        self._exchange(MetadataRequest([]), 0)
        self._negotiated = True

    def _connect(self) -> None:
        if self._closed:
            raise ConnectionFailed(f"the connection to {self.address} is closed")
        self._drop_socket()
        self._reset()
        try:
            connected = self._dial((self.host, self.port), self._connect_timeout_s)
        except (OSError, UnicodeError) as error:  # UnicodeError: the name cannot be a host's
            self._closed = True
            raise ConnectionFailed(
                f"no broker answers at {self.address} ({_reason(error)}): {START_OR_NAME_A_BROKER}"
            ) from error
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.settimeout(self._timeout_s)
        self._socket = connected

    def _negotiate(self, version: int) -> None:
        request = ApiVersionsRequest(client_software_name="kafkatx", client_software_version=__version__)
        response = self._exchange(request, version)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION and version:
            known = [api.max_version for api in response.api_keys if api.api_key == API_VERSIONS]
            response = self._exchange(request, min(version, *known) if known else 0)
        if response.error_code:
            raise self._failed(f"ApiVersions was refused with {ErrorCode.of(response.error_code).name}")
        self._protocol.negotiate(response)

    def _log_in(self) -> None:
        """Log in, if that is needed; again when the session is about to end (KIP-368).

        :raises AuthenticationFailed: the broker refuses; the connection is closed.
        """
        if self._login is None:
            return
        self._login_due_s = float("inf")
        try:
            requests = self._login.requests(self._login.fetch_token())
            request = next(requests)
            while True:
                version = self._protocol.version_for(api_for(request.API_KEY))
                request = requests.send(self._exchange(request, version))
        except StopIteration as end:
            if end.value is not None:
                self._login_due_s = monotonic() + end.value
        except KafkaTXError:
            self.close()
            raise

    def _exchange(self, message: Message, version: int) -> Any:
        return self._receive(self._send(api_for(message.API_KEY), message, version, True))

    def version_for(self, message: type[Message], max_version: int | None = None) -> int:
        """Return the highest version of a request's API that both sides support.

        :param message: the request's class.
        :raises RequestError: UNSUPPORTED_VERSION, there is none.
        """
        self.open()
        return self._protocol.version_for(api_for(message.API_KEY), max_version)

    def request(self, message: Message, version: int | None = None) -> Any:
        """Send a request and return its response.

        :raises ConnectionFailed: it cannot be sent, or there was no response within ``timeout_s``.
        :raises RequestError: UNSUPPORTED_VERSION, the broker has no version of this API in common with us.
        """
        return self.receive(self.send(message, version))

    def send(self, message: Message, version: int | None = None, *, expect_reply: bool = True) -> int:
        """Send a request without waiting; return a ticket for :meth:`receive`.

        :param expect_reply: false for a produce request with acks=0.
        :raises ConnectionFailed: it cannot be sent.
        """
        self.open()
        if self._login_due_s <= monotonic():
            self._log_in()
        api = api_for(message.API_KEY)
        if version is None:
            version = self.version_for(type(message))
        return self._send(api, message, version, expect_reply)

    def receive(self, ticket: int) -> Any:
        """Wait for the response to a :meth:`send`; earlier responses are kept for their tickets.

        :raises ConnectionFailed: the broker closed the connection, did not answer in time, or sent an invalid
            response.
        """
        return self._receive(ticket)

    def _send(self, api: Api, message: Message, version: int, expect_reply: bool) -> int:
        chunks = self._protocol.send(api, version, message, expect_reply)
        data = b"".join(chunk.tobytes() if isinstance(chunk, FileSlice) else chunk for chunk in chunks)
        self._sent += 1
        if expect_reply:
            self._expected.append(self._sent)
        try:
            self._live_socket().sendall(data)
        except OSError as error:
            raise self._lost(error) from error
        return self._sent

    def _receive(self, ticket: int) -> Any:
        while ticket not in self._replies:
            try:
                data = self._live_socket().recv(RECEIVE_BYTES)
            except OSError as error:
                raise self._lost(error) from error
            if not data:
                raise self._lost(None)
            try:
                for _, response in self._protocol.receive(data):
                    self._replies[self._expected.popleft()] = response
            except (ProtocolViolation, RequestError) as error:
                raise self._failed(f"it does not speak Kafka's protocol ({error})") from error
        return self._replies.pop(ticket)

    def _live_socket(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionFailed(f"the connection to {self.address} is closed")
        return self._socket

    def _lost(self, error: OSError | None) -> ConnectionFailed:
        if isinstance(error, TimeoutError):
            return self._failed(
                f"it did not answer within {self._timeout_s:g} s: is it overloaded? see --timeout"
            )
        if error is None or isinstance(error, ConnectionError):
            failure = ClosedByPeer(f"the broker at {self.address} closed the connection: see its log")
            self._drop_socket()
            self._closed = self._negotiated  # before the negotiation, open() retries with an older version
            return failure
        return self._failed(_reason(error))

    def _failed(self, reason: str) -> ConnectionFailed:
        self.close()
        return ConnectionFailed(f"the broker at {self.address} cannot be used: {reason}")

    def fileno(self) -> int:
        """Return the socket's descriptor, to wait for several connections at once; -1 if closed."""
        return -1 if self._socket is None else self._socket.fileno()

    def close(self) -> None:
        """Close the socket; pending responses are lost. Sent requests are still delivered."""
        self._closed = True
        self._drop_socket()

    def _drop_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _reason(error: OSError | UnicodeError) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
