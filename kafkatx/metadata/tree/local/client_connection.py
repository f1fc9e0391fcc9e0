"""The client's end of a connection to the server of a local tree: attempts to connect, and signs of life."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Protocol, cast

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import Factory, connectionDone
from twisted.logger import Logger
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from kafkatx.errors import SettingError
from kafkatx.metadata.tree.local.replies import MAX_REPLY_BYTES, Reply, decode
from kafkatx.metadata.tree.local.requests import Malformed, Message, Ping, encode
from kafkatx.metadata.tree.local.socket_path import short_path

MIN_RETRY_S, MAX_RETRY_S = 0.02, 1.0
"""Seconds between attempts to connect, which double."""
ATTEMPT_S = 2
"""Seconds that an attempt may take."""
LATE_S = 0.05
"""Seconds in which messages are read that came while this process stood still itself."""
PINGS = 3
"""Signs of life for each time-out; after two of them without an answer the connection counts as lost."""


class Events(Protocol):
    """Told of connections, by the reactor."""

    def opened(self) -> None:
        """Note that there is a connection."""

    def received(self, reply: Reply) -> None:
        """Take a message; a ValueError, TypeError or LookupError ends the connection."""

    def ended(self) -> None:
        """Note that the connection has ended, or that an attempt has failed."""


class _Protocol(Int32StringReceiver):
    """Frames of one connection."""

    MAX_LENGTH = MAX_REPLY_BYTES

    def __init__(self, client: ClientConnection) -> None:
        self._client = client

    def stringReceived(self, string: bytes) -> None:
        """Take a frame."""
        self._client.received(self, string)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell the client."""
        self._client.lost(self)

    def abort(self) -> None:
        """End the connection at once."""
        cast(Any, self.transport).abortConnection()


class ClientConnection:
    """The connection of a client, over all attempts. It makes the first when :meth:`connect` is called.

    :param path: path of the server's socket.
    :param reactor: a Twisted reactor; its clock is monotonic.
    :param silence_s: the connection is given up when two thirds of it have passed without a message.
    """

    _log = Logger()

    def __init__(self, path: str, reactor: Any, silence_s: float, events: Events) -> None:
        self._path = path
        self._reactor = reactor
        self._silence_s = silence_s
        self._events = events
        self._heard_s = 0.0
        self._retry_s = MIN_RETRY_S
        self._protocol: _Protocol | None = None
        self._attempt: Deferred[None] | None = None
        self._timer: IDelayedCall | None = None

    def connect(self, wait_s: float | None = None) -> None:
        """Try to connect, after a while that grows with each attempt."""
        if wait_s is None:
            wait_s, self._retry_s = self._retry_s, min(self._retry_s * 2, MAX_RETRY_S)
        self._timer = self._reactor.callLater(wait_s, self._connect)

    def settle(self, silence_s: float) -> None:
        """Note that the server has accepted the client, and what its time-out is."""
        self._silence_s = silence_s
        self._retry_s = MIN_RETRY_S

    def send(self, message: Message) -> None:
        """Send a message if there is a connection."""
        self.send_body(encode(message))

    def send_body(self, body: bytes) -> None:
        """Send an encoded message if there is a connection."""
        if self._protocol is not None:
            self._protocol.sendString(body)

    def abort(self) -> None:
        """End the connection; :meth:`Events.ended` comes later."""
        if self._protocol is not None:
            self._protocol.abort()

    def stop(self) -> None:
        """End everything, and tell of nothing any more."""
        self._disarm()
        protocol, self._protocol = self._protocol, None
        attempt, self._attempt = self._attempt, None
        if protocol is not None:
            protocol.abort()
        if attempt is not None:
            attempt.cancel()

    def received(self, protocol: _Protocol, body: bytes) -> None:
        """Take a frame. Called by the protocol."""
        if protocol is not self._protocol:
            return
        self._heard_s = self._reactor.seconds()
        try:
            self._events.received(decode(body))
        except (Malformed, ValueError, TypeError, LookupError) as error:
            self._log.warn(
                "{path}: the server of the cluster sent a wrong reply: {error}",
                path=self._path,
                error=error,
            )
            protocol.abort()

    def lost(self, protocol: _Protocol) -> None:
        """Take it that the connection has ended. Called by the protocol."""
        if protocol is self._protocol:
            self._protocol = None
            self._disarm()
            self._events.ended()

    def _connect(self) -> None:
        self._timer = None
        path = ExitStack()
        try:
            short = path.enter_context(short_path(self._path))
        except (OSError, SettingError):
            self._events.ended()
            return
        endpoint = UNIXClientEndpoint(self._reactor, short, ATTEMPT_S)
        attempt = endpoint.connect(Factory.forProtocol(lambda: _Protocol(self)))

        def done(result: object) -> object:
            path.close()
            return result

        self._attempt = attempt.addBoth(done).addCallbacks(self._connected, self._failed)

    def _connected(self, protocol: _Protocol) -> None:
        self._attempt = None
        self._protocol = protocol
        self._heard_s = self._reactor.seconds()
        self._timer = self._reactor.callLater(self._silence_s / PINGS, self._tick, False)
        self._events.opened()

    def _failed(self, failure: Failure) -> None:
        if self._attempt is not None:
            self._attempt = None
            self._events.ended()

    def _tick(self, again: bool) -> None:
        """Send a sign of life, or give the connection up if nothing was heard.

        :param again: False to look once more after the messages have been read that are here already: this
            process itself may have stood still.
        """
        self._timer = None
        silent = self._reactor.seconds() - self._heard_s >= self._silence_s * (PINGS - 1) / PINGS
        if silent and again:
            self.abort()
            return
        self.send(Ping())
        wait_s = LATE_S if silent else self._silence_s / PINGS
        self._timer = self._reactor.callLater(wait_s, self._tick, silent)

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
