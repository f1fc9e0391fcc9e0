"""One TCP connection to one broker: sends requests, pairs replies with them, and enforces time-outs.

:class:`kafkatx.wire.connection.ClientConnection` encodes and decodes; this module owns the transport and one
timer per connection (not per request). The timer fires at the earliest deadline known when it was set, and is
set again then. Reconnecting is :mod:`kafkatx.networkclient.connection`'s.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.clientcore.errors import ClientClosed, ClosedByPeer, ConnectionFailed, RequestTimedOut
from kafkatx.errors import KafkaTXError, ProtocolViolation, RequestError
from kafkatx.networkclient.waiters import Waiters
from kafkatx.wire.api import api_for
from kafkatx.wire.connection import ClientConnection
from kafkatx.wire.schema import Message

READ_BYTES = 1 << 18
"""Bytes read from the socket at once."""

LogIn = Callable[[], Awaitable["float | None"]]
"""Logs in; returns the seconds after which to log in again, None for never."""

_OF_TLS = ("OpenSSL.", "service_identity.")

CLOSE_S = 5.0
"""Seconds for sending what is left after :meth:`BrokerProtocol.close`."""


@attrs.frozen
class ConnectionLimits:
    """Limits of one connection.

    :ivar response_bytes: the largest reply.
    :ivar request_s: seconds to wait for a reply, unless the request says otherwise.
    :ivar idle_s: seconds without requests after which the connection is closed; None: never.
    :ivar send_buffer_bytes: SO_SNDBUF; -1: the system's default; *receive_buffer_bytes* likewise.
    """

    response_bytes: int = 1 << 28
    request_s: float = 30.0
    idle_s: float | None = None
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


@attrs.define(eq=False)
class _InFlight:
    """A request that awaits its reply; ``deferred`` is None after the caller has cancelled it."""

    deferred: Deferred[Any] | None
    deadline: float
    timeout_s: float
    name: str
    error: KafkaTXError | None = None


@implementer(IPushProducer)
class BrokerProtocol(Protocol):
    """The protocol of one connection, from connect to disconnect. It never reconnects.

    A broker replies in the order of the requests, so a missing reply blocks all later ones. After a time-out
    the connection is therefore aborted, and the other requests fail with :class:`ConnectionFailed`.

    :ivar wire: encodes and decodes; :mod:`kafkatx.networkclient.negotiation` tells it the broker's versions.
    :ivar error: why nothing can be sent any more; None while the connection is usable.
    :ivar on_lost: called once when ``error`` is set, before the pending requests fail.
    """

    _log = Logger()

    def __init__(self, reactor: IReactorTime, address: str, client_id: str, limits: ConnectionLimits) -> None:
        """:param address: the broker's ``host:port``, for error messages."""
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
        self._last_request_s = 0.0
        self._timer: IDelayedCall | None = None
        self._timer_at = float("inf")
        self._login_due_s = float("inf")
        self._log_in: LogIn | None = None
        self._after_login: Waiters[None] = Waiters()

    @property
    def in_flight(self) -> int:
        """The number of requests that await a reply."""
        return len(self._pending)

    def connectionMade(self) -> None:
        """Set the socket's options, and register for back-pressure."""
        transport = self._tcp
        if hasattr(transport, "setTcpNoDelay"):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        if hasattr(transport, "bufferSize"):
            transport.bufferSize = READ_BYTES
        self._set_buffers()
        transport.registerProducer(self, True)
        self._last_request_s = self._reactor.seconds()
        if self._limits.idle_s is not None:
            self._set_timer(self._last_request_s + self._limits.idle_s)

    @property
    def _tcp(self) -> Any:
        """The transport: TCP, TLS, or a test's."""
        return self.transport

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
        message: Message,
        *,
        version: int | None = None,
        at_most: int | None = None,
        timeout_s: float | None = None,
        expect_reply: bool = True,
        is_login: bool = False,
    ) -> Deferred[Any]:
        """Send a request; if a login is due, after that.

        :param version: None: the highest version that both sides speak and *at_most* allows.
        :param timeout_s: None: ``ConnectionLimits.request_s``.
        :param expect_reply: False for a Produce request with acks=0.
        :param is_login: True for a request of a login, which does not wait for one.
        :return: fires with the reply; without *expect_reply* fires with None when the transport has room.
            Fails with ConnectionFailed, RequestTimedOut, RequestError (UNSUPPORTED_VERSION) or ValueError (a
            value does not fit its field). Cancelling it drops the reply; the broker may still act on the
            request.
        """
        if self.error is not None:
            return fail(self.error)
        if self._log_in is not None and not is_login and self._login_due_s <= self._reactor.seconds():
            return self._after(message, version, at_most, timeout_s, expect_reply)
        api = api_for(message.API_KEY)
        try:
            if version is None:
                version = self.wire.version_for(api, at_most)
            chunks = self.wire.send(api, version, message, expect_reply)
        except (RequestError, ValueError):
            return fail()
        now = self._last_request_s = self._reactor.seconds()
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
        self._tcp.writeSequence(chunks)
        return waiting if expect_reply else self._when_writable()

    def log_in_again(self, log_in: LogIn, after_s: float | None) -> None:
        """Log in again before the first request after some seconds.

        :param log_in: logs in, and returns the seconds after which to do it again; None: never.
        """
        self._log_in = log_in
        self._login_due_s = float("inf") if after_s is None else self._reactor.seconds() + after_s

    def _after(self, message: Message, *options: Any) -> Deferred[Any]:
        """Send a request after the login that is due."""
        version, at_most, timeout_s, expect_reply = options
        waiting = self._after_login.wait()
        if self._login_due_s > float("-inf"):
            self._login_due_s = float("-inf")  # all requests wait
            Deferred.fromCoroutine(self._renew())
        return waiting.addCallback(
            lambda _: self.request(
                message, version=version, at_most=at_most, timeout_s=timeout_s, expect_reply=expect_reply
            )
        )

    async def _renew(self) -> None:
        assert self._log_in is not None
        try:
            self.log_in_again(self._log_in, await self._log_in())
        except KafkaTXError as error:
            self._abort(error)
            self._after_login.fail(error)
        else:
            self._after_login.fire(None)

    def version_for(self, message: type[Message], at_most: int | None = None) -> int:
        """Return the highest version of a request's API that both sides speak.

        :raises RequestError: UNSUPPORTED_VERSION: there is none.
        """
        return self.wire.version_for(api_for(message.API_KEY), at_most)

    def _when_writable(self) -> Deferred[None]:
        if self.error is not None:
            return fail(self.error)
        return succeed(None) if self._full_since is None else self._writable.wait()

    def pauseProducing(self) -> None:
        """Stop firing Deferreds of requests without a reply; the transport's buffer is full."""
        self._full_since = self._reactor.seconds()
        self._set_timer(self._full_since + self._limits.request_s)

    def resumeProducing(self) -> None:
        """Fire the Deferreds that wait for room in the transport's buffer."""
        self._full_since = None
        self._writable.fire(None)

    def stopProducing(self) -> None:
        """Do nothing; Twisted calls connectionLost as well."""

    # -- replies

    def dataReceived(self, data: bytes) -> None:
        """Decode complete replies and fire the Deferreds of their requests."""
        try:
            replies = self.wire.receive(data)
        except (ProtocolViolation, RequestError) as error:
            failed = self._unusable(f"it does not speak Kafka's protocol ({error})")
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
        """Extend the deadlines of all requests by a throttle time.

        The broker mutes the connection for that long (KIP-219).
        """
        until = self._reactor.seconds() + throttle_s
        for pending in self._pending.values():
            pending.deadline = max(pending.deadline, until + pending.timeout_s)

    def _set_timer(self, at: float) -> None:
        """Check deadlines at time *at*, unless a check is due earlier."""
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
            pending.error = RequestTimedOut(f"the broker at {self._address} {_unanswered(pending)}")
        if late:
            self._abort(self._unusable(f"it {_unanswered(late[0])}"))
            return
        due = [pending.deadline for pending in self._pending.values()]
        if self._full_since is not None:
            due.append(self._full_since + self._limits.request_s)
            if due[-1] <= now:
                self._abort(self._unusable(f"it read nothing for {self._limits.request_s:g} s"))
                return
        if self._limits.idle_s is not None and not due:
            due.append(self._last_request_s + self._limits.idle_s)
            if due[-1] <= now:
                self.close(ClientClosed(f"the connection to {self._address} was idle"))
                return
        if due:
            self._set_timer(min(due))

    # -- the end

    def close(self, error: KafkaTXError) -> Deferred[None]:
        """Flush the send buffer and close the connection; pending requests fail with *error*.

        Fires when it is closed, at most ``CLOSE_S`` later.
        """
        self._fail_pending(error)
        if self._is_disconnected:
            return succeed(None)
        transport = self._tcp
        transport.unregisterProducer()
        transport.loseConnection()
        abort = self._reactor.callLater(CLOSE_S, transport.abortConnection)
        closed = self._disconnected.wait()

        def cancel_abort(_: object) -> None:
            if abort.active():
                abort.cancel()

        return closed.addBoth(cancel_abort)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fail the pending requests with ClosedByPeer, unless this side has closed the connection."""
        self._is_disconnected = True
        if type(reason.value).__module__.startswith(_OF_TLS):  # no retry with another version may help
            self._fail_pending(self._unusable(f"TLS: {_tls_reason(reason)}"))
            self._disconnected.fire(None)
            return
        why = "" if reason.check(ConnectionDone) else f" ({reason.getErrorMessage().rstrip('.')})"
        self._fail_pending(
            ClosedByPeer(f"the broker at {self._address} closed the connection{why}: its log says why")
        )
        self._disconnected.fire(None)

    def _unusable(self, reason: str) -> ConnectionFailed:
        return ConnectionFailed(f"the broker at {self._address} cannot be used: {reason}")

    def _abort(self, error: KafkaTXError) -> None:
        self._fail_pending(error)
        self._tcp.abortConnection()

    def _fail_pending(self, error: KafkaTXError) -> None:
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


def _unanswered(request: _InFlight) -> str:
    return f"did not answer {request.name} within {request.timeout_s:g} s"


def _tls_reason(reason: Failure) -> str:
    from kafkatx.net.tls.contexts import error_text  # not without TLS

    return error_text(reason.value)
