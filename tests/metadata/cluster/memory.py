"""Stores on a tree in memory, driven by a clock."""

from __future__ import annotations

import uuid
from random import Random
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase

from kafkatx.interfaces import IMetadataStore
from kafkatx.metadata.cluster.store import ClusterMetadataStore, ClusterOptions
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from kafkatx.testing.contracts.cluster.case import ClusterStoreCase

T = TypeVar("T")

STEP_S = 0.05
TIMEOUT_S = 6.0


class MemoryStores:
    """Stores that share one tree.

    :ivar trees: the tree of each store.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.server = MemoryServer(self.clock)
        self.random = Random(1)
        self.trees: dict[IMetadataStore, MemoryTree] = {}

    def make_tree(self) -> MemoryTree:
        """Return a tree without a session."""
        return MemoryTree(self.server, TIMEOUT_S)

    def make_store(self, eligible: bool = True) -> ClusterMetadataStore:
        """Return a store that is not started."""
        tree = self.make_tree()
        options = ClusterOptions("memory", controller_eligible=eligible)
        store = ClusterMetadataStore(tree, self.clock, options, self.now_ms, self.new_uuid)
        self.trees[store] = tree
        return store

    def now_ms(self) -> int:
        """Return the time of day of the clock."""
        return int(self.clock.seconds() * 1000)

    def new_uuid(self) -> uuid.UUID:
        """Return a random id, the same ones in each run."""
        return uuid.UUID(int=self.random.getrandbits(128), version=4)

    def run(self, deferred: Deferred[T], timeout_s: float = 60.0) -> None:
        """Advance the clock until a Deferred fires."""
        self.settle()
        end_s = self.clock.seconds() + timeout_s
        while not deferred.called:
            if self.clock.seconds() >= end_s:
                raise AssertionError(f"no result in {timeout_s} s")
            self.clock.advance(STEP_S)
            self.settle()

    def settle(self) -> None:
        """Run everything that takes no time."""
        for _ in range(100_000):
            if not any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
                return
            self.clock.advance(0)
        raise AssertionError("the stores do not come to rest")

    def advance(self, seconds: float) -> None:
        """Advance the clock in small steps."""
        end_s = self.clock.seconds() + seconds
        self.settle()
        while self.clock.seconds() < end_s:
            self.clock.advance(min(STEP_S, end_s - self.clock.seconds()))
            self.settle()


class MemoryCase(SynchronousTestCase):
    """Stores on a tree in memory, for tests that are no coroutines."""

    def setUp(self) -> None:
        """Make the server."""
        self.stores = MemoryStores()

    def make_store(self) -> ClusterMetadataStore:
        """Return a store that is not started."""
        return self.stores.make_store()

    def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred, or raise its error."""
        results: list[T | Failure] = []
        fired: Deferred[None] = Deferred()
        deferred.addBoth(results.append).addCallback(fired.callback)
        self.stores.run(fired)
        found = results[0]
        if isinstance(found, Failure):
            found.raiseException()
        return found


class MemoryClusterCase(ClusterStoreCase, TestCase):
    """Several stores on a tree in memory."""

    def setUp(self) -> None:
        """Make the server."""
        self.stores = MemoryStores()

    def make_store(self) -> ClusterMetadataStore:
        """Return a store that is not started."""
        return self.stores.make_store()

    def make_tree(self) -> MemoryTree:
        """Return a tree without a session."""
        return self.stores.make_tree()

    async def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred; advance the clock until it fires."""
        self.stores.run(deferred)
        return await deferred

    async def cut(self, store: IMetadataStore) -> None:
        """Cut the link."""
        self.stores.trees[store].link.cut()
        self.stores.settle()

    async def heal(self, store: IMetadataStore) -> None:
        """Heal the link."""
        self.stores.trees[store].link.heal()

    async def expire(self, store: IMetadataStore) -> None:
        """End the session at the server."""
        self.stores.trees[store].link.expire()
