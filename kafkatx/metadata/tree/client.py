"""The part that all trees have in common: sessions, their state, pending operations, watches and the lease.

It does no I/O: a :class:`Session` carries the requests, and is made anew for each ``connect``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.interfaces.nodes import (
    Change,
    Check,
    ConnectionLost,
    Create,
    NodeStat,
    Operation,
    Outcome,
    Refused,
    SessionExpired,
    SessionState,
    SetData,
    TreeError,
    check_path,
)
from kafkatx.interfaces.tree import ITree, SessionListener, Watch
from kafkatx.metadata.tree.lease import Lease

T = TypeVar("T")


MAX_MULTI_BYTES = 1_000_000
"""Largest multi; others are refused. ZooKeeper closes the connection of a client that sends more than its
jute.maxbuffer, by default 1,048,575 bytes, and the client would not learn that it must not try again."""
OPERATION_BYTES = 128
"""Bytes that an operation takes beside its path and data, or more: header, access control list, chroot."""


class Session(Protocol):
    """Carries the requests of one session. A request whose reply never comes need not be answered."""

    def read(self, path: str, watch: Watch | None) -> Deferred[tuple[bytes, NodeStat]]:
        """Read a node, as ITree.read."""

    def children(self, path: str, watch: Watch | None) -> Deferred[Sequence[str]]:
        """List children, as ITree.children; in any order."""

    def exists(self, path: str, watch: Watch | None) -> Deferred[NodeStat | None]:
        """Look for a node, as ITree.exists."""

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Make all of some operations, or none, as ITree.multi."""

    def sync(self, path: str) -> Deferred[None]:
        """Catch up with other sessions, as ITree.sync."""

    def close(self) -> Deferred[None]:
        """End the session, or give up connecting; it may have ended."""


class SessionEvents(Protocol):
    """Told of a session's changes, in the reactor thread and never within a call of the session."""

    def connected(self, session_id: int, timeout_s: float) -> None:
        """Note that requests can be sent; the server ends the session after *timeout_s* of silence."""

    def suspended(self) -> None:
        """Note that the connection is lost."""

    def lost(self, reason: TreeError) -> None:
        """Note that the session has expired, or that none could be started. Nothing comes after it."""


class _Events:
    """The events of one session of a client; those after its end are dropped."""

    def __init__(self, client: TreeClient) -> None:
        self.client = client

    def connected(self, session_id: int, timeout_s: float) -> None:
        if self.client._events is self:
            self.client._connected(session_id, timeout_s)

    def suspended(self) -> None:
        if self.client._events is self:
            self.client._suspended()

    def lost(self, reason: TreeError) -> None:
        if self.client._events is self:
            self.client._lost(reason)


@implementer(ITree)
class TreeClient:
    """A tree whose requests are carried by sessions.

    :param open_session: starts a session, which tells the given object of its changes.
    :param boottime_s: the clock of the lease.
    """

    _log = Logger()

    def __init__(
        self, open_session: Callable[[SessionEvents], Session], boottime_s: Callable[[], float]
    ) -> None:
        self.session_id: int | None = None
        self.session_timeout_s = 0.0
        self.state = SessionState.CLOSED
        self._open_session = open_session
        self._boottime_s = boottime_s
        self._listeners: list[SessionListener] = []
        self._events: _Events | None = None
        self._session: Session | None = None
        self._lease: Lease | None = None
        self._connecting: Deferred[int] | None = None
        self._numbers = 0
        self._pending: dict[int, Callable[[TreeError], None]] = {}
        self._watches: dict[int, Watch] = {}

    def connect(self) -> Deferred[int]:
        """Start a session."""
        if self._events is not None:
            raise RuntimeError(f"the session is {self.state.value}")
        self.state = SessionState.CONNECTING
        self._events = _Events(self)
        connecting = self._connecting = Deferred()
        self._session = self._open_session(self._events)
        return connecting

    def close(self) -> Deferred[None]:
        """End the session."""
        session = self._session
        connecting, self._connecting = self._connecting, None
        self._forget(SessionState.CLOSED)
        self._watches.clear()
        self._end(SessionExpired("the session was closed"))
        if connecting is not None:
            connecting.errback(SessionExpired("the session was closed"))
        return succeed(None) if session is None else session.close()

    def subscribe(self, listener: SessionListener) -> None:
        """Call *listener* for each change to CONNECTED, SUSPENDED or LOST."""
        self._listeners.append(listener)

    def read(self, path: str, watch: Watch | None = None) -> Deferred[tuple[bytes, NodeStat]]:
        """Read a node."""
        check_path(path)
        return self._watching(watch, lambda session, watch: session.read(path, watch))

    def children(self, path: str, watch: Watch | None = None) -> Deferred[Sequence[str]]:
        """List the children of a node."""
        check_path(path)
        return self._watching(watch, lambda session, watch: session.children(path, watch)).addCallback(sorted)

    def exists(self, path: str, watch: Watch | None = None) -> Deferred[NodeStat | None]:
        """Look for a node."""
        check_path(path)
        return self._watching(watch, lambda session, watch: session.exists(path, watch))

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Make all of some operations, or none."""
        if not operations:
            raise ValueError("a multi needs an operation")
        size = sum(map(_size_bytes, operations))
        if size > MAX_MULTI_BYTES:
            reason = f"a multi of {size} bytes, above the limit of {MAX_MULTI_BYTES}"
            return fail(Refused(operations[0].path, operations[0], 0, reason=reason))
        lease, sent_s = self._lease, self._boottime_s()

        def renew(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
            if lease is not None:
                lease.renew(sent_s)
            return outcomes

        made = self._ask(lambda session: session.multi(operations))
        return made if all(isinstance(each, Check) for each in operations) else made.addCallback(renew)

    def sync(self, path: str = "/") -> Deferred[None]:
        """Catch up: later reads see all writes that had succeeded when this was called."""
        check_path(path)
        return self._ask(lambda session: session.sync(path))

    def lease_remaining_s(self) -> float:
        """Return for how many seconds no other client can have seen this session expire."""
        return 0.0 if self._lease is None else self._lease.remaining_s()

    def _ask(self, call: Callable[[Session], Deferred[T]]) -> Deferred[T]:
        """Send a request unless the session cannot; fail it if the connection is lost before the reply."""
        if self.state is not SessionState.CONNECTED or self._session is None:
            waiting = self.state in (SessionState.SUSPENDED, SessionState.CONNECTING)
            error = ConnectionLost if waiting else SessionExpired
            return fail(error(f"the session is {self.state.value}"))
        number = self._number()
        asked: Deferred[T] = Deferred()
        self._pending[number] = asked.errback

        def answer(result: T | Failure) -> None:
            if self._pending.pop(number, None) is not None:
                if isinstance(result, Failure):
                    asked.errback(result)
                else:
                    asked.callback(result)

        call(self._session).addBoth(answer)
        return asked

    def _watching(
        self, watch: Watch | None, call: Callable[[Session, Watch | None], Deferred[T]]
    ) -> Deferred[T]:
        if watch is None:
            return self._ask(lambda session: call(session, None))
        number = self._number()
        self._watches[number] = watch

        def forget(failure: Failure) -> Failure:
            self._watches.pop(number, None)
            return failure

        asked = self._ask(lambda session: call(session, lambda change: self._changed(number, change)))
        return asked.addErrback(forget)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _changed(self, number: int, change: Change) -> None:
        watch = self._watches.pop(number, None)
        if watch is not None:
            try:
                watch(change)
            except Exception:
                self._log.failure("A watch failed.")

    def _connected(self, session_id: int, timeout_s: float) -> None:
        if self._lease is None:
            self._lease = Lease(self._boottime_s, timeout_s)
        self.session_id = session_id
        self.session_timeout_s = timeout_s
        connecting, self._connecting = self._connecting, None
        self.state = SessionState.CONNECTED
        self._tell(SessionState.CONNECTED)
        if connecting is not None:
            connecting.callback(session_id)

    def _suspended(self) -> None:
        if self.state is SessionState.CONNECTED:
            self.state = SessionState.SUSPENDED
            self._end(ConnectionLost("the connection was lost"))
            if self._events is not None:
                self._tell(SessionState.SUSPENDED)

    def _lost(self, reason: TreeError) -> None:
        session = self._session
        connecting, self._connecting = self._connecting, None
        self._forget(SessionState.CLOSED if connecting is not None else SessionState.LOST)
        self._end(reason)
        if session is not None:
            session.close().addErrback(lambda failure: self._log.failure("Closing a lost session.", failure))
        if connecting is not None:
            connecting.errback(reason)
        elif self.state is not SessionState.CLOSED:
            self._tell(SessionState.LOST)

    def _forget(self, state: SessionState) -> None:
        self.state = state
        self.session_id = None
        self._events = self._session = self._lease = None

    def _end(self, error: TreeError) -> None:
        """Fail the pending operations with *error*, then call the watches with LOST."""
        pending, self._pending = self._pending, {}
        for errback in pending.values():
            errback(error)
        for number in list(self._watches):
            self._changed(number, Change.LOST)

    def _tell(self, state: SessionState) -> None:
        for listener in list(self._listeners):
            try:
                listener(state)
            except Exception:
                self._log.failure("A listener of session events failed.")


def _size_bytes(operation: Operation) -> int:
    data = operation.data if isinstance(operation, Create | SetData) else b""
    return OPERATION_BYTES + len(operation.path.encode()) + len(data)
