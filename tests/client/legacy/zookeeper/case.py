"""A member's registry on a tree in memory, for the tests of this package."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.legacy.zookeeper.registry import GroupRegistry
from kafkatx.clientcore.legacy.zookeeper.nodes import GroupPaths
from kafkatx.interfaces.nodes import Create, SessionState
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree

PATHS = GroupPaths("g")


def topic_data(partitions: int) -> bytes:
    """Return the content of a topic's node, as Kafka 0.8 writes it."""
    return b'{"version":1,"partitions":{%s}}' % b",".join(b'"%d":[0]' % one for one in range(partitions))


class TreeTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a tree with the nodes of a broker, and a registry with a session."""
        self.clock = Clock()
        self.server = MemoryServer(self.clock)
        self.session = self.server.open_session(1e9, lambda: None)
        for path in ("/brokers", "/brokers/ids", "/brokers/topics"):
            self.make(path)
        self.changes = 0
        self.tree, self.registry = self.member("m")

    def make(self, path: str, data: bytes = b"") -> None:
        """Create a node."""
        self.server.multi(self.session, [Create(path, data)])

    def member(self, name: str) -> tuple[MemoryTree, GroupRegistry]:
        """Return the tree of a new session, and a registry."""
        tree = MemoryTree(self.server, 6.0)
        registry = GroupRegistry(tree, PATHS, name, self.changed)

        def session_changed(state: SessionState) -> None:
            if state is SessionState.LOST:
                registry.forget()

        tree.subscribe(session_changed)
        self.result(tree.connect())
        return tree, registry

    def changed(self) -> None:
        """Count a change."""
        self.changes += 1

    def result(self, waiting: Any) -> Any:
        """Return the result of a Deferred or a coroutine, or raise its error."""
        if not isinstance(waiting, Deferred):
            waiting = Deferred.fromCoroutine(waiting)
        outcome: list[Any] = []
        waiting.addBoth(outcome.append)
        self.settle()
        if not outcome:
            self.fail("no result")
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        return outcome[0]

    def settle(self) -> None:
        """Deliver all requests and replies."""
        for _ in range(200):
            self.clock.advance(0)

    def data(self, path: str) -> bytes:
        """Return the content of a node."""
        return self.server.read(self.session, path, None)[0]

    def names(self, path: str) -> list[str]:
        """Return the children of a node."""
        return list(self.server.children(self.session, path, None))
