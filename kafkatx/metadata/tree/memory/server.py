"""The server of a tree in memory: nodes, sessions with their time-outs, and watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.interfaces.nodes import (
    Delete,
    NodeStat,
    NoNode,
    Operation,
    Outcome,
    SessionExpired,
)
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.tree.nodes import Node, Transaction
from kafkatx.metadata.tree.watches import Watches


@define
class _Session:
    """:ivar timer: ends the session, which is silent."""

    timeout_s: float
    ended: Callable[[], None]
    timer: IDelayedCall | None = None


class MemoryServer:
    """One tree for any number of sessions. Calls take effect at once; links between them and it delay them.

    :param clock: runs the time-outs of sessions.
    :ivar zxid: the last transaction.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.clock = clock
        self.zxid = 0
        self._nodes = {"/": Node(b"", 0, 0)}
        self._sessions: dict[int, _Session] = {}
        self._last_session = 0
        self._watches: Watches[int] = Watches()

    def open_session(self, timeout_s: float, ended: Callable[[], None]) -> int:
        """Start a session.

        :param ended: called when the session expires, but not when it is closed.
        :return: its id.
        """
        self._last_session += 1
        self._sessions[self._last_session] = _Session(timeout_s, ended)
        return self._last_session

    def has_session(self, session_id: int) -> bool:
        """Return True if the session has neither expired nor been closed."""
        return session_id in self._sessions

    def hear(self, session_id: int) -> None:
        """Stop counting a session's silence."""
        session = self._sessions.get(session_id)
        if session is not None and session.timer is not None:
            session.timer.cancel()
            session.timer = None

    def miss(self, session_id: int) -> None:
        """Count a session's silence from now on; it expires after its time-out."""
        session = self._sessions.get(session_id)
        if session is not None and session.timer is None:
            session.timer = self.clock.callLater(session.timeout_s, self.expire, session_id)

    def expire(self, session_id: int) -> None:
        """End a session now, as its time-out does. Do nothing if there is no such session."""
        session = self._sessions.get(session_id)
        if session is not None:
            if session.timer is not None and not session.timer.active():
                session.timer = None
            self.close_session(session_id)
            session.ended()

    def close_session(self, session_id: int) -> None:
        """End a session: delete its ephemeral nodes and drop its watches."""
        if session_id in self._sessions:
            self.hear(session_id)
            del self._sessions[session_id]
            self.drop_watches(session_id)
            owned = sorted(path for path, node in self._nodes.items() if node.owner == session_id)
            if owned:
                self._commit(0, [Delete(path) for path in owned])

    def drop_watches(self, session_id: int) -> None:
        """Remove the watches of a session whose connection ended."""
        self._watches.drop(session_id)

    def read(self, session_id: int, path: str, watch: Watch | None) -> tuple[bytes, NodeStat]:
        """Return data and stat of a node."""
        node = self._node(session_id, path)
        self._watches.on_data(path, session_id, watch)
        return node.data, node.stat

    def children(self, session_id: int, path: str, watch: Watch | None) -> Sequence[str]:
        """Return the names of a node's children."""
        node = self._node(session_id, path)
        self._watches.on_children(path, session_id, watch)
        return sorted(node.children)

    def exists(self, session_id: int, path: str, watch: Watch | None) -> NodeStat | None:
        """Return the stat of a node, if there is one."""
        self._require(session_id)
        self._watches.on_data(path, session_id, watch)
        node = self._nodes.get(path)
        return None if node is None else node.stat

    def multi(self, session_id: int, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
        """Make all of *operations*, or none; then call the watches."""
        self._require(session_id)
        return self._commit(session_id, operations)

    def sync(self, session_id: int) -> None:
        """Do nothing: all sessions read the latest state."""
        self._require(session_id)

    def _require(self, session_id: int) -> None:
        if session_id not in self._sessions:
            raise SessionExpired(f"session {session_id} has ended")

    def _node(self, session_id: int, path: str) -> Node:
        self._require(session_id)
        node = self._nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node

    def _commit(self, session_id: int, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
        transaction = Transaction(self._nodes, self.zxid + 1, session_id)
        outcomes = transaction.make(operations)
        self.zxid += 1
        self._watches.report(transaction.changes)
        return outcomes
