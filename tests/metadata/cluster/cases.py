"""A store that is running, and a tool beside it, for tests of the store's parts."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.interfaces.metadata import BrokerLife
from kafkatx.interfaces.nodes import NodeStat, Operation, Outcome
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.metadata.tree.memory import MemoryTree
from kafkatx.types import BrokerNode
from tests.metadata.cluster.lives import DiskLife, LifeDisk
from tests.metadata.cluster.memory import MemoryCase

T = TypeVar("T")


class RunningCase(MemoryCase):
    """Stores that have started, and a tree with a session of its own.

    :ivar tool: the tree.
    """

    def setUp(self) -> None:
        """Start the tool."""
        super().setUp()
        self.clock = self.stores.clock
        self.tool = self.stores.make_tree()
        self.result(self.tool.connect())
        self.disks: dict[int, LifeDisk] = {}

    def started(
        self, broker_id: int = 1, eligible: bool = True, life: BrokerLife | None = None
    ) -> ClusterMetadataStore:
        """Return a store that is started and registered; it is stopped at the test's end.

        :param life: the process; None: one that has the broker's only disk.
        """
        store = self.stores.make_store(eligible)
        self.result(store.start(BrokerNode(broker_id, f"host{broker_id}", 9092)))
        self.addCleanup(lambda: self.result(store.stop()))
        life = life or DiskLife(self.disk(broker_id))
        self.result(store.register([f"directory-{broker_id}"], life=life))
        return store

    def disk(self, broker_id: int = 1) -> LifeDisk:
        """Return the disk of a broker."""
        return self.disks.setdefault(broker_id, LifeDisk(f"directory-{broker_id}"))

    def tree(self, store: ClusterMetadataStore) -> MemoryTree:
        """Return the tree of a store."""
        return self.stores.trees[store]

    def done(self, coroutine: Coroutine[Deferred[Any], Any, T]) -> T:
        """Return the result of a coroutine."""
        return self.result(Deferred.fromCoroutine(coroutine))

    def write(self, *operations: Operation) -> tuple[Outcome, ...]:
        """Make operations by the tool."""
        return self.result(self.tool.multi(operations))

    def read(self, path: str) -> bytes:
        """Return the content of a node."""
        return self.result(self.tool.read(path))[0]

    def stat(self, path: str) -> NodeStat | None:
        """Return the stat of a node; None if there is none."""
        return self.result(self.tool.exists(path))

    def children(self, path: str) -> list[str]:
        """Return the names of a node's children."""
        names = self.result(self.tool.children(path))
        return list(names)
