"""The connection between one tree in memory and the server, with the faults that a test injects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from twisted.internet.defer import Deferred, succeed

from kafkatx.interfaces.nodes import (
    Change,
    ConnectionLost,
    NodeStat,
    Operation,
    Outcome,
    SessionExpired,
    TreeError,
)
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.tree.client import SessionEvents
from kafkatx.metadata.tree.memory.channel import Channel
from kafkatx.metadata.tree.memory.server import MemoryServer

T = TypeVar("T")


class Link:
    """The connection of a tree, over all of its sessions.

    :ivar requests: requests under way to the server; ``delay_s`` may be set.
    :ivar replies: replies and watch events under way to the tree; ``delay_s`` may be set.
    """

    def __init__(self, server: MemoryServer) -> None:
        self.server = server
        self.up = True
        self.requests = Channel(server.clock)
        self.replies = Channel(server.clock)
        self._session: MemorySession | None = None

    def hold_requests(self) -> None:
        """Keep requests from the server, pings included: the session expires there after its time-out."""
        self.requests.hold()
        if self._session is not None:
            self._session.silent()

    def hold_replies(self) -> None:
        """Keep replies and watch events from the tree; requests are made nevertheless."""
        self.replies.hold()

    def release(self) -> None:
        """Deliver what was held; tell the tree if its session has expired meanwhile."""
        self.requests.release()
        self.replies.release()
        if self._session is not None and self.up:
            self._session.back(reconnected=False)

    def cut(self, apply_requests: bool = False) -> None:
        """End the connection: the tree is SUSPENDED, and its session expires after its time-out.

        :param apply_requests: True to make the requests under way, False to drop them. Replies are dropped in
            any case, so that the tree cannot know.
        """
        if self.up:
            for make in self.requests.clear():
                if apply_requests:
                    make()
            self.up = False
            self.requests.release()
            self.replies.release()
            self.replies.clear()
            if self._session is not None:
                self._session.dropped()

    def heal(self) -> None:
        """Connect again: the tree is CONNECTED if the server still has its session, else LOST."""
        if not self.up:
            self.up = True
            if self._session is not None:
                self._session.back(reconnected=True)

    def kill(self, apply_requests: bool = False) -> None:
        """End the tree's process: nothing reaches the tree any more; its session expires after the time-out.

        :param apply_requests: as in :meth:`cut`.
        """
        self.cut(apply_requests)
        self.requests.hold()
        self.replies.hold()
        if self._session is not None:
            self._session.abandon()

    def expire(self) -> None:
        """End the tree's session at the server now; the tree hears of it unless the link is cut or held."""
        if self._session is not None and self._session.session_id is not None:
            self.server.expire(self._session.session_id)

    def open_session(self, timeout_s: float, events: SessionEvents) -> MemorySession:
        """Start a session of the tree."""
        self._session = MemorySession(self, timeout_s, events)
        return self._session


class MemorySession:
    """One session of a tree in memory (``client.Session``).

    :ivar session_id: None until the server knows of it.
    """

    def __init__(self, link: Link, timeout_s: float, events: SessionEvents) -> None:
        self.session_id: int | None = None
        self._link = link
        self._server = link.server
        self._timeout_s = timeout_s
        self._events = events
        self._connection = 0
        self._closed = False
        self._server.clock.callLater(0, self._begin)

    def read(self, path: str, watch: Watch | None) -> Deferred[tuple[bytes, NodeStat]]:
        """Read a node."""
        return self._ask(lambda session_id: self._server.read(session_id, path, self._remote(watch)))

    def children(self, path: str, watch: Watch | None) -> Deferred[Sequence[str]]:
        """List the children of a node."""
        return self._ask(lambda session_id: self._server.children(session_id, path, self._remote(watch)))

    def exists(self, path: str, watch: Watch | None) -> Deferred[NodeStat | None]:
        """Look for a node."""
        return self._ask(lambda session_id: self._server.exists(session_id, path, self._remote(watch)))

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Make all of some operations, or none."""
        operations = tuple(operations)
        return self._ask(lambda session_id: self._server.multi(session_id, operations))

    def sync(self, path: str) -> Deferred[None]:
        """Wait for the requests before this one."""
        return self._ask(self._server.sync)

    def close(self) -> Deferred[None]:
        """End the session; a server that is cut off ends it after its time-out."""
        if not self._closed:
            self._closed = True
            session_id = self.session_id
            if session_id is not None and self._link.up:
                self._link.requests.send(lambda: self._server.close_session(session_id))
        return succeed(None)

    def silent(self) -> None:
        """Start counting the silence of this session at the server."""
        if self.session_id is not None and not self._closed:
            self._server.miss(self.session_id)

    def dropped(self) -> None:
        """End the connection."""
        if self._closed:
            return
        if self.session_id is None:
            self._link.replies.send(self._not_reached)
        else:
            self._connection += 1
            self._server.drop_watches(self.session_id)
            self._server.miss(self.session_id)
            self._link.replies.send(self._events.suspended)

    def abandon(self) -> None:
        """Never open the session, and tell the tree nothing: its process has ended."""
        self._closed = True

    def back(self, reconnected: bool) -> None:
        """Stop counting the silence of this session, or tell the tree that it has expired.

        :param reconnected: True if the connection is a new one.
        """
        session_id = self.session_id
        if session_id is None or self._closed:
            return
        if self._server.has_session(session_id):
            self._server.hear(session_id)
            if reconnected:
                self._link.replies.send(lambda: self._events.connected(session_id, self._timeout_s))
        else:
            self._expired(session_id)

    def _begin(self) -> None:
        """Ask the server for a session, if it is reached."""
        if not self._closed:
            if self._link.up:
                self._link.requests.send(self._open)
            else:
                self._not_reached()

    def _not_reached(self) -> None:
        self._events.lost(ConnectionLost("no server was reached"))

    def _open(self) -> None:
        if self._closed:
            return
        session_id = self.session_id = self._server.open_session(self._timeout_s, self._ended)
        self._link.replies.send(lambda: self._events.connected(session_id, self._timeout_s))

    def _ended(self) -> None:
        """Take it that the server has ended the session; the tree hears of it if the link works."""
        link = self._link
        if self.session_id is not None and link.up and not link.requests.held and not link.replies.held:
            self._expired(self.session_id)

    def _expired(self, session_id: int) -> None:
        self._connection += 1
        self._link.requests.clear()
        self._link.replies.send(self._events.suspended)
        error = SessionExpired(f"session {session_id} has expired")
        self._link.replies.send(lambda: self._events.lost(error))

    def _ask(self, make: Callable[[int], T]) -> Deferred[T]:
        asked: Deferred[T] = Deferred()
        connection = self._connection

        def arrive() -> None:
            if connection != self._connection or not self._link.up:
                return  # it was sent before the tree knew that the connection was gone
            session_id = self.session_id
            try:
                if session_id is None:
                    raise SessionExpired("the session was not started")
                result = make(session_id)
            except TreeError as error:
                failed = error
                self._link.replies.send(lambda: asked.errback(failed))
            else:
                self._link.replies.send(lambda: asked.callback(result))

        self._link.requests.send(arrive)
        return asked

    def _remote(self, watch: Watch | None) -> Watch | None:
        """Return a watch for the server, which sends the change over the connection that set it."""
        if watch is None:
            return None
        local, connection = watch, self._connection

        def report(change: Change) -> None:
            if connection == self._connection:
                self._link.replies.send(lambda: local(change))

        return report
