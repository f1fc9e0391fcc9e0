"""The base of the contract of trees: makers, faults, and waiting for results."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import Deferred, DeferredQueue

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    Create,
    Operation,
    OperationError,
    Outcome,
    SessionState,
    TreeError,
)

if TYPE_CHECKING:
    from twisted.trial.unittest import TestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

T = TypeVar("T")
Error = TypeVar("Error", bound=TreeError)


class TreeCase(_Case):
    """Mixin for a ``twisted.trial.unittest.TestCase``; the subclass says how trees and faults are made.

    A test works in the folder ``/t``, which it finds empty.
    """

    def make_tree(self) -> ITree:
        """Return a tree without a session. All trees of a test share their nodes."""
        raise NotImplementedError

    async def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred; make it fire if nothing else does."""
        return await deferred

    async def hold(self, tree: ITree, applied: bool) -> None:
        """Hold back replies to *tree* from now on; its requests reach the server if *applied* is True."""
        raise NotImplementedError

    async def cut(self, tree: ITree) -> None:
        """End the connection of *tree*, and let it get no other; forget what :meth:`hold` held."""
        raise NotImplementedError

    async def heal(self, tree: ITree) -> None:
        """Allow *tree* to connect again."""
        raise NotImplementedError

    async def expire(self, tree: ITree) -> None:
        """End the session of *tree* at the server; its connection works."""
        raise NotImplementedError

    async def connected(self) -> ITree:
        """Return a tree with a session, which is closed at the test's end, and the folder ``/t``."""
        tree = self.make_tree()
        await self.result(tree.connect())
        self.addCleanup(self._close, tree)
        if not await self.is_there(tree, "/t"):
            await self.multi(tree, Create("/t"))
        return tree

    def _close(self, tree: ITree) -> Deferred[None]:
        return Deferred.fromCoroutine(self.result(tree.close()))

    async def multi(self, tree: ITree, *operations: Operation) -> tuple[Outcome, ...]:
        """Return the outcome of operations."""
        return await self.result(tree.multi(operations))

    async def is_there(self, tree: ITree, path: str) -> bool:
        """Return True if *tree* sees a node."""
        return await self.result(tree.exists(path)) is not None

    async def failed(self, error: type[Error], deferred: Deferred[T]) -> Error:
        """Return the error of the given class with which a Deferred fails."""
        try:
            result = await self.result(deferred)
        except error as found:
            self.assertIs(type(found), error)
            return found
        raise self.failureException(f"{error.__name__} expected, but the result is {result!r}")

    async def refused(self, error: type[OperationError], tree: ITree, *operations: Operation) -> int | None:
        """Return the index of the operation for which a multi fails; check that the error names it."""
        found = await self.failed(error, tree.multi(operations))
        assert found.index is not None
        self.assertEqual(found.operation, operations[found.index])
        return found.index

    def states(self, tree: ITree) -> DeferredQueue[SessionState]:
        """Return a queue of the states that *tree* reports from now on."""
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        return states

    async def expect(self, queue: DeferredQueue[T], *expected: T) -> None:
        """Check that the next entries of a queue are the expected ones."""
        for each in expected:
            self.assertEqual(await self.result(queue.get()), each)

    async def ending(self, deferred: Deferred[T]) -> str:
        """Return the class name of a Deferred's result or TreeError."""
        try:
            found = await self.result(deferred)
            return type(found).__name__
        except TreeError as error:
            return type(error).__name__
