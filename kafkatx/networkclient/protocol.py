"""One TCP connection to one broker: requests out, replies in, and how long a reply may take.

The bytes are :class:`kafkatx.wire.connection.ClientConnection`'s. There is one timer per connection, not per
request: it is due at the earliest deadline that was known when it was set, and looks again then.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.clientcore.errors import ClientClosed, ClosedByPeer, ConnectionFailed, RequestTimedOut
from kafkatx.errors import KafkaTXError, ProtocolViolation, RequestError
from kafkatx.networkclient.waiters import Waiters
from kafkatx.wire.api import api_for
from kafkatx.wire.connection import ClientConnection

READ_BYTES = 1 << 18
"""How much is read from the socket at once."""

CLOSE_S = 5.0
"""How long what is still to be sent may take after the connection was closed."""


@attrs.frozen
class ConnectionLimits:
    """What a connection may take.

    :ivar response_bytes: the largest reply.
    :ivar request_s: how long a reply may take, unless the request says otherwise.
    :ivar idle_s: after how long without requests the connection closes; None: never.
    :ivar send_buffer_bytes: SO_SNDBUF; -1: the system's; *receive_buffer_bytes* likewise.
    """

    response_bytes: int = 1 << 28
    request_s: float = 30.0
    idle_s: float | None = None
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


@attrs.define(eq=False)
class _InFlight:
    """A request whose reply is expected. ``deferred`` is None once nobody waits for it any more."""

    deferred: Deferred[Any] | None
    deadline: float
    timeout_s: float
    name: str
    error: KafkaTXError | None = None


@implementer(IPushProducer)
class BrokerProtocol(Protocol):
    """A connection from its beginning to its end; it does not come back.

    Replies come in the order of the requests, so one that fails to come stops all behind it: after a
    time-out the connection is given up, and the others fail with :class:`ConnectionFailed`.

    :ivar wire: which versions the broker speaks is told to it by whoever negotiates.
    :ivar error: why nothing can be sent any more; None while it can.
    :ivar on_lost: called once, when that is so, before those who wait for replies hear of it.
    """

    _log = Logger()

    def __init__(self, reactor: Any, address: str, client_id: str, limits: ConnectionLimits) -> None:
        """:param address: the broker's, for messages."""
        self.wire = ClientConnection(client_id, limits.response_bytes)
        self.error: KafkaTXError | None = None
        self.on_lost: Callable[[], None] = lambda: None
        self._reactor = reactor
        self._address = address
        self._limits = limits
        self._pending: dict[int, _InFlight] = {}
        self._writable: Waiters[None] = Waiters()
        self._full_since: float | None = None
        self._disconnected: Waiters[None] = Waiters()
        self._is_disconnected = False
        self._used = 0.0
        self._timer: Any = None
        self._timer_at = float("inf")

    @property
    def in_flight(self) -> int:
        """How many replies are expected."""
        return len(self._pending)

    def connectionMade(self) -> None:
        """Send small requests at once, and learn when the socket takes no more."""
        transport: Any = self.transport
        if hasattr(transport, "setTcpNoDelay"):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        if hasattr(transport, "bufferSize"):
            transport.bufferSize = READ_BYTES
        self._set_buffers()
        transport.registerProducer(self, True)
        self._used = self._reactor.seconds()
        if self._limits.idle_s is not None:
            self._set_timer(self._used + self._limits.idle_s)

    def _set_buffers(self) -> None:
        get_socket = getattr(self.transport, "getHandle", None)
        for option, size in (
            (socket.SO_SNDBUF, self._limits.send_buffer_bytes),
            (socket.SO_RCVBUF, self._limits.receive_buffer_bytes),
        ):
            if size >= 0 and get_socket is not None:
                get_socket().setsockopt(socket.SOL_SOCKET, option, size)

    # -- requests

    def request(
        self,
        message: Any,
        *,
        version: int | None = None,
        at_most: int | None = None,
        timeout_s: float | None = None,
        expect_reply: bool = True,
    ) -> Deferred[Any]:
        """Send a request.

        :param version: None: the highest that both sides speak and *at_most* allows.
        :return: fires with the reply, or without *expect_reply* with None when there is room for more. Fails
            with ConnectionFailed, RequestTimedOut, RequestError (UNSUPPORTED_VERSION) or ValueError (a value
            does not fit its field). Cancelling it drops the reply; the request may be carried out.
        """
        if self.error is not None:
            return fail(self.error)
        api = api_for(message.API_KEY)
        try:
            if version is None:
                version = self.wire.version_for(api, at_most)
            chunks: Any = self.wire.send(api, version, message, expect_reply)
        except (RequestError, ValueError):
            return fail()
        now = self._used = self._reactor.seconds()
        if timeout_s is None:
            timeout_s = self._limits.request_s
        pending = _InFlight(None, now + timeout_s, timeout_s, api.name)

        def forget(_: Deferred[Any]) -> None:
            pending.deferred = None

        waiting: Deferred[Any] = Deferred(forget)
        if expect_reply:
            pending.deferred = waiting
            self._pending[self.wire.correlation_id] = pending
            self._set_timer(pending.deadline)
        transport: Any = self.transport
        transport.writeSequence(chunks)
        return waiting if expect_reply else self._when_writable()

    def version_for(self, message: type[Any], at_most: int | None = None) -> int:
        """The highest version of a request's API that both sides speak.

        :raises RequestError: UNSUPPORTED_VERSION, there is none.
        """
        return self.wire.version_for(api_for(message.API_KEY), at_most)

    def _when_writable(self) -> Deferred[None]:
        if self.error is not None:
            return fail(self.error)
        return succeed(None) if self._full_since is None else self._writable.wait()

    def pauseProducing(self) -> None:
        """The transport holds as much as it should: who expects no reply waits."""
        self._full_since = self._reactor.seconds()
        self._set_timer(self._full_since + self._limits.request_s)

    def resumeProducing(self) -> None:
        """There is room again."""
        self._full_since = None
        self._writable.fire(None)

    def stopProducing(self) -> None:
        """The transport is gone; connectionLost tells of it."""

    # -- replies

    def dataReceived(self, data: bytes) -> None:
        """Give the replies that are complete to those who wait for them."""
        try:
            replies = self.wire.receive(data)
        except (ProtocolViolation, RequestError) as error:
            failed = self._failed(f"it does not speak Kafka's protocol as we do ({error})")
            if self.error is None:
                self._log.warn("{error}; the connection is closed", error=failed)
            self._abort(failed)
            return
        for correlation_id, reply in replies:
            pending = self._pending.pop(correlation_id, None)
            if getattr(reply, "throttle_time_ms", 0):
                self._extend_deadlines(reply.throttle_time_ms / 1000)  # type: ignore[attr-defined]
            if pending is not None and pending.deferred is not None:
                pending.deferred.callback(reply)

    def _extend_deadlines(self, throttle_s: float) -> None:
        """The broker will not look at the next requests before that (KIP-219): it has as much longer."""
        until = self._reactor.seconds() + throttle_s
        for pending in self._pending.values():
            pending.deadline = max(pending.deadline, until + pending.timeout_s)

    def _set_timer(self, at: float) -> None:
        """Look for what is late at this time, if not before."""
        if at >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._reactor.callLater(max(0.0, at - self._reactor.seconds()), self._check_deadlines)

    def _check_deadlines(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        now = self._reactor.seconds()
        late = [pending for pending in self._pending.values() if pending.deadline <= now]
        for pending in late:
            reason = f"{pending.name} was not answered within {pending.timeout_s:g} s"
            pending.error = RequestTimedOut(f"the broker at {self._address} kept silent: {reason}")
        if late:
            self._abort(self._failed(f"{late[0].name} was not answered within {late[0].timeout_s:g} s"))
            return
        due = [pending.deadline for pending in self._pending.values()]
        if self._full_since is not None:
            due.append(self._full_since + self._limits.request_s)
            if due[-1] <= now:
                self._abort(self._failed(f"it read nothing for {self._limits.request_s:g} s"))
                return
        if self._limits.idle_s is not None and not due:
            due.append(self._used + self._limits.idle_s)
            if due[-1] <= now:
                self.close(ClientClosed(f"the connection to {self._address} was idle"))
                return
        if due:
            self._set_timer(min(due))

    # -- the end

    def close(self, error: KafkaTXError) -> Deferred[None]:
        """Close the connection when what was sent has left; what waits for a reply fails with *error*.

        Fires when it is closed, at most ``CLOSE_S`` later.
        """
        self._end(error)
        if self._is_disconnected:
            return succeed(None)
        transport: Any = self.transport
        transport.unregisterProducer()
        transport.loseConnection()
        impatient = self._reactor.callLater(CLOSE_S, transport.abortConnection)
        self._disconnected.wait().addBoth(lambda _: impatient.active() and impatient.cancel())
        return self._disconnected.wait()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Nothing comes any more."""
        self._is_disconnected = True
        why = "" if reason.check(ConnectionDone) else f" ({reason.getErrorMessage().rstrip('.')})"
        self._end(ClosedByPeer(f"the broker at {self._address} closed the connection{why}: its log says why"))
        self._disconnected.fire(None)

    def _failed(self, reason: str) -> ConnectionFailed:
        return ConnectionFailed(f"the broker at {self._address} cannot be used: {reason}")

    def _abort(self, error: KafkaTXError) -> None:
        self._end(error)
        transport: Any = self.transport
        transport.abortConnection()

    def _end(self, error: KafkaTXError) -> None:
        if self.error is not None:
            return
        self.error = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = float("-inf")
        self.on_lost()
        pending, self._pending = list(self._pending.values()), {}
        for request in pending:
            if request.deferred is not None:
                request.deferred.errback(request.error or error)
        self._writable.fail(error)
