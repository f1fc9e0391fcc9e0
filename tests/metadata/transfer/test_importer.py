"""Tests of the import of a cluster of one broker into a tree in memory."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import ConnectionLost, Create, Operation
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.controller import decode_cluster_id, encode_cluster_id
from kafkatx.metadata.transfer.content import nodes
from kafkatx.metadata.transfer.importer import Found, import_content, look
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from tests.metadata.transfer.states import content

T = TypeVar("T")

WHERE = "zookeeper.connect=h/k"
OTHER = "AAAAAAAAAAAAAAAAAAAAAA"


class FailingTree(MemoryTree):
    """A tree whose multis fail after some, and which calls a function before some.

    :ivar left: number of multis that succeed.
    :ivar before: called before each multi that creates a path, by the path.
    """

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.left = 1_000_000
        self.before: dict[str, Callable[[], object]] = {}

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Any, ...]]:
        """Fail, or make the operations."""
        if not self.left:
            raise ConnectionLost("cut")
        self.left -= 1
        for operation in operations:
            if isinstance(operation, Create) and operation.path in self.before:
                self.before.pop(operation.path)()
        return super().multi(operations)


class ImporterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Connect to an empty tree."""
        self.content = content(partitions=400)
        self.make_tree()

    def make_tree(self) -> None:
        """Replace the tree by an empty one."""
        self.clock = Clock()
        self.tree = FailingTree(MemoryServer(self.clock))
        self.result(self.tree.connect())

    def fired(self, deferred: Deferred[T]) -> Deferred[T]:
        """Answer requests until a Deferred has fired."""
        for _ in range(10_000):
            if deferred.called:
                break
            self.clock.advance(0)
        return deferred

    def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred."""
        return self.successResultOf(self.fired(deferred))

    def done(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine."""
        return self.result(Deferred.fromCoroutine(coroutine))

    def multi(self, *operations: Operation) -> None:
        """Change the tree."""
        self.result(self.tree.multi(operations))

    def nodes(self) -> dict[str, bytes]:
        """Return the content of all nodes by path."""
        found: dict[str, bytes] = {}
        todo = ["/"]
        while todo:
            path = todo.pop()
            for name in self.result(self.tree.children(path)):
                below = f"{path.rstrip('/')}/{name}"
                found[below] = self.result(self.tree.read(below))[0]
                todo.append(below)
        return found

    def import_it(self) -> None:
        """Import the content."""
        self.done(import_content(self.tree, WHERE, self.content))

    def refusal(self) -> str:
        """Return the message of an import that is refused."""
        importing = Deferred.fromCoroutine(import_content(self.tree, WHERE, self.content))
        return str(self.failureResultOf(self.fired(importing), SettingError).value)

    def test_nodes(self) -> None:
        """The tree has all nodes of the content, the cluster's id, and a change log; the mark is gone."""
        self.import_it()
        found = self.nodes()
        for node in nodes(self.content):
            self.assertEqual(found[node.path], node.data)
        self.assertEqual(decode_cluster_id(found[paths.CLUSTER_ID]), self.content.state.cluster_id)
        self.assertLessEqual(set(paths.PERSISTENT), found.keys())
        self.assertEqual(len([path for path in found if path.startswith(paths.CHANGE_PREFIX)]), 1)
        self.assertNotIn(paths.IMPORT, found)

    def test_twice(self) -> None:
        """A second import of the same cluster changes nothing."""
        self.import_it()
        before = self.nodes()
        self.import_it()
        self.assertEqual(self.nodes(), before)
        self.assertIs(self.done(look(self.tree, WHERE, self.content.state.cluster_id)), Found.IMPORTED)

    def test_interrupted(self) -> None:
        """An import that was interrupted anywhere can be repeated, and the tree is then the same."""
        self.import_it()
        expected = self.without_changes()
        multis = 1_000_000 - self.tree.left
        for made in range(multis):
            self.make_tree()
            self.tree.left = made
            importing = Deferred.fromCoroutine(import_content(self.tree, WHERE, self.content))
            self.failureResultOf(self.fired(importing), ConnectionLost)
            self.tree.left = 1_000_000
            self.import_it()
            self.assertEqual(self.without_changes(), expected)
        self.assertGreater(multis, len(paths.PERSISTENT))

    def without_changes(self) -> dict[str, bytes]:
        """Return the nodes but for change records, whose sequence numbers differ."""
        return {path: data for path, data in self.nodes().items() if paths.CHANGE_PREFIX not in path}

    def test_other_cluster(self) -> None:
        """A tree with another cluster is left alone, by name."""
        self.multi(Create("/cluster"), Create(paths.CLUSTER_ID, encode_cluster_id(OTHER)))
        self.multi(Create("/brokers"), Create("/brokers/topics"), Create("/brokers/topics/t"))
        before = self.nodes()
        self.assertIn(f"cluster {OTHER} is there already: /brokers/topics", self.refusal())
        self.assertEqual(self.nodes(), before)

    def test_brokers(self) -> None:
        """A tree in which a broker runs is left alone."""
        self.multi(Create("/brokers"), Create("/brokers/ids"), Create("/brokers/ids/1"))
        self.assertIn("brokers are running there", self.refusal())

    def test_unused_cluster(self) -> None:
        """The id of a cluster that has nothing else yet is replaced: a refused broker leaves such a tree."""
        self.multi(Create("/cluster"), Create(paths.CLUSTER_ID, encode_cluster_id(OTHER)))
        self.import_it()
        self.assertEqual(decode_cluster_id(self.nodes()[paths.CLUSTER_ID]), self.content.state.cluster_id)

    def test_other_import(self) -> None:
        """The interrupted import of another cluster is not taken for this one's."""
        self.tree.left = len(paths.PERSISTENT) + 3
        importing = Deferred.fromCoroutine(import_content(self.tree, WHERE, self.content))
        self.failureResultOf(self.fired(importing), ConnectionLost)
        self.tree.left = 1_000_000
        self.content = content(OTHER)
        self.assertIn("was interrupted there", self.refusal())

    def test_second_writer(self) -> None:
        """Another program that names the cluster meanwhile makes the import fail."""
        named = Create(paths.CLUSTER_ID, encode_cluster_id(OTHER))
        self.tree.before[paths.CLUSTER_ID] = lambda: self.multi(named)
        self.assertIn("another program is changing it", self.refusal())
