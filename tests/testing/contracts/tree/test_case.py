"""The checks that tests of trees share fail when they should."""

from __future__ import annotations

from twisted.internet.defer import DeferredQueue, fail, succeed
from twisted.trial.unittest import TestCase

from kafkatx.interfaces.nodes import BadVersion, Create, NodeExists, NoNode
from tests.metadata.tree.memory.test_tree import MemoryTreeContract


class _Case(MemoryTreeContract, TestCase):
    def runTest(self) -> None:
        """Do nothing: the checks are called by the tests below."""


class TreeCaseTests(TestCase):
    def setUp(self) -> None:
        """Make a case whose checks are called."""
        self.case = _Case()
        self.case.setUp()
        self.addCleanup(self.case.doCleanups)

    async def test_failed(self) -> None:
        """A result, and an error of another class, are no expected failure."""
        error = NodeExists("/t")
        self.assertIs(await self.case.failed(NodeExists, fail(error)), error)
        with self.assertRaises(AssertionError):
            await self.case.failed(NodeExists, succeed(None))
        with self.assertRaises(NodeExists):
            await self.case.failed(BadVersion, fail(error))

    async def test_refused(self) -> None:
        """The index of the operation at fault is returned; a multi that is made is no refusal."""
        tree = await self.case.connected()
        operations = (Create("/t/a"), Create("/missing/b"))
        self.assertEqual(await self.case.refused(NoNode, tree, *operations), 1)
        with self.assertRaises(AssertionError):
            await self.case.refused(NoNode, tree, Create("/t/a"))

    async def test_expect(self) -> None:
        """Entries of a queue have to come in order."""
        queue: DeferredQueue[int] = DeferredQueue()
        for number in (1, 2, 2):
            queue.put(number)
        await self.case.expect(queue, 1, 2)
        with self.assertRaises(AssertionError):
            await self.case.expect(queue, 3)

    async def test_ending(self) -> None:
        """A result and an error are told by the names of their classes."""
        self.assertEqual(await self.case.ending(succeed(7)), "int")
        self.assertEqual(await self.case.ending(fail(NoNode("/t"))), "NoNode")
