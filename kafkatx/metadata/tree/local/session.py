"""A client's session with the server of a local tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from attrs import frozen
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall

from kafkatx.interfaces.nodes import (
    ConnectionLost,
    NodeStat,
    Operation,
    Outcome,
    Refused,
    SessionExpired,
    TreeError,
)
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.tree.client import SessionEvents
from kafkatx.metadata.tree.local.client_connection import ClientConnection
from kafkatx.metadata.tree.local.replies import (
    Answered,
    Event,
    Expired,
    Failed,
    Reply,
    Welcome,
    read_data,
    read_names,
    read_nothing,
    read_outcomes,
    read_stat,
)
from kafkatx.metadata.tree.local.requests import MAX_REQUEST_BYTES, Hello, Kind, Request, encode

T = TypeVar("T")


@frozen
class LocalSettings:
    """Socket and time-outs of a client.

    :ivar path: path of the server's Unix socket.
    :ivar session_timeout_s: time-out of sessions to ask for; the server bounds it.
    :ivar connection_timeout_s: how long to try to start a session.
    """

    path: str
    session_timeout_s: float = 18.0
    connection_timeout_s: float = 18.0


@frozen
class _Pending:
    """A request under way: how its end is told."""

    operations: Sequence[Operation]
    answer: Callable[[object], None]
    fail: Callable[[Exception], None]


class LocalSession:
    """One session (``client.Session``).

    :param reactor: a Twisted reactor; its clock is monotonic.
    """

    def __init__(self, settings: LocalSettings, reactor: Any, events: SessionEvents) -> None:
        self._settings = settings
        self._reactor = reactor
        self._events = events
        silence_s = min(settings.session_timeout_s, settings.connection_timeout_s)
        self._connection = ClientConnection(settings.path, reactor, silence_s, self)
        self._session: Welcome | None = None
        self._up = False
        self._over = False
        self._closed: Deferred[None] | None = None
        self._numbers = 0
        self._pending: dict[int, _Pending] = {}
        self._watches: dict[int, Watch] = {}
        self._timer: IDelayedCall | None = reactor.callLater(settings.connection_timeout_s, self._not_reached)
        self._connection.connect(0)

    def read(self, path: str, watch: Watch | None) -> Deferred[tuple[bytes, NodeStat]]:
        """Read a node."""
        return self._read(Kind.READ, path, watch, read_data)

    def children(self, path: str, watch: Watch | None) -> Deferred[Sequence[str]]:
        """List the children of a node."""
        return self._read(Kind.CHILDREN, path, watch, read_names)

    def exists(self, path: str, watch: Watch | None) -> Deferred[NodeStat | None]:
        """Look for a node."""
        return self._read(Kind.EXISTS, path, watch, read_stat)

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Make all of some operations, or none."""
        operations = tuple(operations)
        number = self._number()
        return self._ask(Request(number, Kind.MULTI, operations[0].path, False, operations), read_outcomes)

    def sync(self, path: str) -> Deferred[None]:
        """Wait for the requests before this one: all clients read the same state."""
        return self._ask(Request(self._number(), Kind.SYNC), read_nothing)

    def close(self) -> Deferred[None]:
        """End the session; if it is not connected, it is left to its time-out."""
        if self._over:
            return succeed(None)
        self._over = True
        self._pending.clear()
        self._watches.clear()
        self._disarm()
        if not self._up:
            self._connection.stop()
            return succeed(None)
        closed: Deferred[None] = Deferred()
        self._closed = closed
        self._connection.send(Request(self._number(), Kind.CLOSE))
        # the server ends the connection; if it does not answer, this does
        self._timer = self._reactor.callLater(self._settings.connection_timeout_s, self._connection.abort)
        return closed

    def opened(self) -> None:
        """Tell the server which session this is."""
        session = self._session
        self._connection.send(
            Hello(None, "", self._settings.session_timeout_s)
            if session is None
            else Hello(session.session_id, session.token, session.timeout_s)
        )

    def received(self, reply: Reply) -> None:
        """Take a message."""
        if self._over:
            return
        if isinstance(reply, Answered):
            pending = self._pending.pop(reply.number)
            pending.answer(reply.result)
        elif isinstance(reply, Failed):
            pending = self._pending.pop(reply.number)
            pending.fail(reply.exception(pending.operations))
        elif isinstance(reply, Event):
            watch = self._watches.pop(reply.number, None)
            if watch is not None:
                watch(reply.change)
        elif isinstance(reply, Welcome):
            self._session, self._up = reply, True
            self._disarm()
            self._connection.settle(reply.timeout_s)
            self._events.connected(reply.session_id, reply.timeout_s)
        elif isinstance(reply, Expired):
            self._lose(SessionExpired("the session has expired"))

    def ended(self) -> None:
        """Take it that the connection has ended; try to connect again."""
        if self._over:
            self._disarm()
            closed, self._closed = self._closed, None
            if closed is not None:
                closed.callback(None)
            return
        was_up, self._up = self._up, False
        self._pending.clear()
        self._watches.clear()
        self._connection.connect()
        if was_up:
            self._events.suspended()

    def _not_reached(self) -> None:
        self._timer = None
        self._lose(
            ConnectionLost(
                f"no server of the cluster was reached at {self._settings.path} in "
                f"{self._settings.connection_timeout_s:g} s"
            )
        )

    def _lose(self, error: TreeError) -> None:
        self._over = True
        self._disarm()
        self._connection.stop()
        was_up, self._up = self._up, False
        if was_up:
            self._events.suspended()
        self._events.lost(error)

    def _read(
        self, kind: Kind, path: str, watch: Watch | None, convert: Callable[[object], T]
    ) -> Deferred[T]:
        number = self._number()
        if watch is not None and self._up:
            self._watches[number] = watch
        return self._ask(Request(number, kind, path, watch is not None), convert)

    def _ask(self, request: Request, convert: Callable[[object], T]) -> Deferred[T]:
        """Send a request; what is asked without a connection is never answered."""
        asked: Deferred[T] = Deferred()
        if not self._up or self._over:
            return asked
        body = encode(request)
        reason = None
        if len(body) > MAX_REQUEST_BYTES:
            reason = f"the request has {len(body)} bytes, more than {MAX_REQUEST_BYTES}"
        elif not all(map(_is_text, [request.path, *(each.path for each in request.operations)])):
            reason = "the path cannot be encoded as UTF-8"
        if reason is not None:
            self._watches.pop(request.number, None)
            if request.operations:
                return fail(Refused(request.path, request.operations[0], 0, reason))
            return fail(Refused(request.path, reason=reason))
        self._pending[request.number] = _Pending(
            request.operations, lambda result: asked.callback(convert(result)), self._failing(request, asked)
        )
        self._connection.send_body(body)
        return asked

    def _failing(self, request: Request, asked: Deferred[T]) -> Callable[[Exception], None]:
        def failed(error: Exception) -> None:
            self._watches.pop(request.number, None)
            asked.errback(error)

        return failed

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
