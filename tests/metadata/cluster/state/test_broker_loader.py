"""The nodes of brokers are read so that each incarnation belongs to its registration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Create, Delete, SetData
from kafkatx.metadata.cluster.state.broker_loader import BrokerLoader
from kafkatx.metadata.cluster.state.image import FoundBrokers
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.incarnations import Incarnation, decode_incarnation, encode_offline
from kafkatx.types import TopicPartition
from tests.metadata.cluster.cases import RunningCase

ONE = TopicPartition("t", 0)


class Between:
    """A tree that calls a function once, before or after the first read of a path."""

    def __init__(self, tree: ITree, path: str, before: bool, function: Callable[[], None]) -> None:
        self._tree = tree
        self._path = path
        self._before = before
        self._function: Callable[[], None] | None = function

    def _call(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            function()

    def read(self, path: str, watch: Any = None) -> Deferred[Any]:
        """Read a node."""
        if path == self._path and self._before:
            self._call()
        found = self._tree.read(path, watch)
        if path == self._path:
            self._call()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)


class BrokerLoaderTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()
        self.unreadable: list[UnreadableNode] = []

    def load(self, tree: ITree | None = None) -> FoundBrokers:
        """Read all brokers."""
        return self.done(BrokerLoader(tree or self.tool, self.unreadable.append).load())

    def register(self) -> None:
        """Give the broker a later life, as a transaction of its own would."""
        path = paths.broker(1)
        data, incarnation = self.read(path), self.read(paths.incarnation(1))
        self.write(
            Delete(path), Create(path, data, ephemeral=True), SetData(paths.incarnation(1), incarnation)
        )

    def test_lives(self) -> None:
        """A broker has the version of its incarnation; one that is gone has a version only."""
        self.started(2)
        self.result(self.started(3).stop())
        found = self.load()
        self.assertEqual(found.nodes, self.store.state.brokers)
        self.assertEqual({one: node and node.incarnation for one, node in found.nodes.items()}, {1: 0, 2: 0})
        self.assertEqual(found.incarnations, {1: 0, 2: 0, 3: 1})
        self.assertEqual(found.offline, {})

    def test_stopping(self) -> None:
        """A broker that begins to stop has the incarnation of its registration, whose node has another."""
        stopping = Incarnation("host1", clean=False, stopping=True).encode()
        self.write(SetData(paths.incarnation(1), stopping))
        found = self.load()
        node = found.nodes[1]
        assert node is not None
        self.assertEqual(
            (node.incarnation, node.incarnation_version, node.stopping, node.clean), (0, 1, True, False)
        )
        self.assertEqual(found.incarnations, {1: 1})

    def test_registers_meanwhile(self) -> None:
        """The incarnation is of the life that is read, wherever a broker registers again in between."""
        for path in (paths.incarnation(1), paths.broker(1)):
            for before in (True, False):
                found = self.load(Between(self.tool, path, before, self.register))  # type: ignore[arg-type]
                node = found.nodes[1]
                assert node is not None
                incarnation, registration = self.stat(paths.incarnation(1)), self.stat(paths.broker(1))
                assert incarnation is not None and registration is not None
                ahead = node.epoch < registration.czxid
                self.assertEqual(node.incarnation, incarnation.version - ahead, f"{path}, {before}")
                self.assertEqual(found.incarnations, {1: node.incarnation})

    def test_leaves_meanwhile(self) -> None:
        """A broker that is gone when its node is read is not known, and has no version to trust."""

        def leave() -> None:
            self.write(Delete(paths.broker(1)))

        found = self.load(Between(self.tool, paths.broker(1), True, leave))  # type: ignore[arg-type]
        self.assertEqual((found.nodes, found.incarnations), ({1: None}, {}))

    def test_without_an_incarnation(self) -> None:
        """A broker without an incarnation has the version -1."""
        self.write(Delete(paths.incarnation(1)))
        node = self.load().nodes[1]
        assert node is not None
        self.assertEqual(node.incarnation, -1)

    def test_lost_epochs(self) -> None:
        """The epoch of the last life that was not clean is known in that life and after it."""
        node = self.store.state.brokers[1]
        path = paths.incarnation(1)
        clean = decode_incarnation(path, self.read(path))
        unclean = evolve(clean, clean=False)
        self.assertEqual(self.load().lost_epochs, {})
        for content, live in (
            (evolve(clean, lost_epoch=node.epoch), True),
            (unclean, True),
            (unclean.stops(node.epoch), True),
            (evolve(clean, lost_epoch=node.epoch), False),
            (unclean.stops(node.epoch), False),
        ):
            self.write(SetData(path, content.encode()))
            if not live and self.stat(paths.broker(1)) is not None:
                self.write(Delete(paths.broker(1)))
            self.assertEqual(self.load().lost_epochs, {1: node.epoch}, f"{content}, {live}")
        self.write(SetData(path, unclean.encode()))
        stat = self.stat(path)
        assert stat is not None
        self.assertEqual(self.load().lost_epochs, {1: stat.mzxid})

    def test_offline(self) -> None:
        """Offline replicas are those of the session that has registered the broker."""
        path = paths.offline(1)
        self.write(Create(path, encode_offline([ONE]), ephemeral=True))
        self.assertEqual(self.load().offline, {})
        self.write(Delete(path))
        self.result(self.tree(self.store).multi([Create(path, encode_offline([ONE]), ephemeral=True)]))
        self.assertEqual(self.load().offline, {1: {ONE}})

    def test_unreadable(self) -> None:
        """A broker whose nodes cannot be read is reported; other names are ignored."""
        self.write(Create("/brokers/ids/5", b"?"), Create("/brokers/ids/x", b"?"))
        self.write(SetData(paths.incarnation(1), b"?"))
        self.assertEqual(self.load().nodes, {1: None, 5: None})
        self.assertEqual({error.path for error in self.unreadable}, {paths.incarnation(1), "/brokers/ids/5"})
