"""The tree in memory keeps the contract of trees."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import TestCase

from kafkatx.interfaces import ITree
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from kafkatx.testing.contracts.tree import TreeContract

T = TypeVar("T")


class MemoryTreeContract(TreeContract):
    """The contract with trees in memory, for a test case."""

    request_delay_s = 0.0
    reply_delay_s = 0.0

    def setUp(self) -> None:
        """Make a server."""
        self.clock = Clock()
        self.server = MemoryServer(self.clock)

    def make_tree(self) -> MemoryTree:
        """Return a tree of the test's server."""
        tree = MemoryTree(self.server)
        tree.link.requests.delay_s = self.request_delay_s
        tree.link.replies.delay_s = self.reply_delay_s
        return tree

    async def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred that fires within some steps of the clock."""
        for _ in range(100):
            if deferred.called:
                return await deferred
            self.clock.advance(self.request_delay_s or self.reply_delay_s)
        raise self.failureException("the Deferred does not fire")

    async def hold(self, tree: ITree, applied: bool) -> None:
        """Hold replies or requests."""
        assert isinstance(tree, MemoryTree)
        if applied:
            tree.link.hold_replies()
        else:
            tree.link.hold_requests()

    async def cut(self, tree: ITree) -> None:
        """Cut the link."""
        assert isinstance(tree, MemoryTree)
        tree.link.cut()

    async def heal(self, tree: ITree) -> None:
        """Heal the link."""
        assert isinstance(tree, MemoryTree)
        tree.link.heal()

    async def expire(self, tree: ITree) -> None:
        """Expire the session."""
        assert isinstance(tree, MemoryTree)
        tree.link.expire()


class MemoryTreeTests(MemoryTreeContract, TestCase):
    """At once."""


class DelayedMemoryTreeTests(MemoryTreeContract, TestCase):
    """With delays in both directions."""

    request_delay_s = 0.25
    reply_delay_s = 0.5
