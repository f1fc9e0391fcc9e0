"""A tree under the names of txzookeeper's ``ZookeeperClient``, for code that knows these. No I/O of its own.

https://pypi.org/project/txzookeeper/: one operation per call, and watches as Deferreds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from twisted.internet.defer import Deferred

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    ANY_VERSION,
    Change,
    ConnectionLost,
    Create,
    Delete,
    NodeStat,
    SessionExpired,
    SessionState,
    SetData,
)
from kafkatx.interfaces.tree import SessionListener, Watch

T = TypeVar("T")

EPHEMERAL = 1
SEQUENCE = 2
"""Flags of :meth:`ZookeeperClient.create`, as ZooKeeper's."""


class ZookeeperClient:
    """The calls of txzookeeper on a tree; errors are those of trees."""

    def __init__(self, tree: ITree) -> None:
        self.tree = tree

    def connect(self) -> Deferred[ZookeeperClient]:
        """Start a session.

        :return: fires with this client.
        """
        return self.tree.connect().addCallback(lambda session_id: self)

    def close(self) -> Deferred[None]:
        """End the session. Deferreds of watches never fire then."""
        return self.tree.close()

    def set_session_callback(self, callback: SessionListener) -> None:
        """Call *callback* with each state of the session."""
        self.tree.subscribe(callback)

    def create(self, path: str, data: bytes = b"", flags: int = 0) -> Deferred[str]:
        """Create a node.

        :return: fires with its path, which has a number at its end with :data:`SEQUENCE`.
        """
        create = Create(path, data, ephemeral=bool(flags & EPHEMERAL), sequential=bool(flags & SEQUENCE))
        return self.tree.multi([create]).addCallback(lambda outcomes: cast(str, outcomes[0]))

    def set(self, path: str, data: bytes = b"", version: int = ANY_VERSION) -> Deferred[NodeStat]:
        """Set the data of a node.

        :return: fires with the new stat.
        """
        made = self.tree.multi([SetData(path, data, version)])
        return made.addCallback(lambda outcomes: cast(NodeStat, outcomes[0]))

    def delete(self, path: str, version: int = ANY_VERSION) -> Deferred[None]:
        """Delete a node."""
        return self.tree.multi([Delete(path, version)]).addCallback(lambda outcomes: None)

    def get(self, path: str) -> Deferred[tuple[bytes, NodeStat]]:
        """Return data and stat of a node."""
        return self.tree.read(path)

    def get_children(self, path: str) -> Deferred[Sequence[str]]:
        """Return the names of a node's children."""
        return self.tree.children(path)

    def exists(self, path: str) -> Deferred[NodeStat | None]:
        """Return the stat of a node, or None."""
        return self.tree.exists(path)

    def sync(self, path: str = "/") -> Deferred[None]:
        """Catch up with the writes of other sessions."""
        return self.tree.sync(path)

    def get_and_watch(self, path: str) -> tuple[Deferred[tuple[bytes, NodeStat]], Deferred[Change]]:
        """Return a node's data and stat, and its next change.

        :return: the second Deferred fires with the first change, and fails with ConnectionLost or
            SessionExpired if the watch is lost; it never fires if the first one fails.
        """
        return self._watched(lambda watch: self.tree.read(path, watch))

    def get_children_and_watch(self, path: str) -> tuple[Deferred[Sequence[str]], Deferred[Change]]:
        """Return the names of a node's children, and their next change, as :meth:`get_and_watch`."""
        return self._watched(lambda watch: self.tree.children(path, watch))

    def exists_and_watch(self, path: str) -> tuple[Deferred[NodeStat | None], Deferred[Change]]:
        """Return the stat of a node or None, and its next change, as :meth:`get_and_watch`."""
        return self._watched(lambda watch: self.tree.exists(path, watch))

    def _watched(self, call: Callable[[Watch], Deferred[T]]) -> tuple[Deferred[T], Deferred[Change]]:
        changed: Deferred[Change] = Deferred()

        def watch(change: Change) -> None:
            if change is not Change.LOST:
                changed.callback(change)
            elif self.tree.state is SessionState.SUSPENDED:
                changed.errback(ConnectionLost("the watch was lost with the connection"))
            else:
                changed.errback(SessionExpired("the watch was lost with the session"))

        return call(watch), changed
