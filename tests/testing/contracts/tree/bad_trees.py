"""Bad trees, and a test case that says which tests of the contract notice them."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase, TestCase

from kafkatx.interfaces.nodes import Change, Operation, Outcome, TreeError
from kafkatx.metadata.tree.client import TreeClient
from kafkatx.metadata.tree.nodes import Transaction
from kafkatx.metadata.tree.watches import Watches
from tests.metadata.tree.memory.test_tree import MemoryTreeContract
from tests.testing.contracts.failures import failed_in


def half_made(transaction: Transaction, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
    """Make operations until one fails, and undo nothing."""
    return tuple(transaction._make(operation, index) for index, operation in enumerate(operations))


def fire_again(watches: Watches[Any], changes: Sequence[tuple[str, Change]]) -> None:
    """Call watches and keep them."""
    for path, change in changes:
        for kept in (watches._data, watches._children):
            for _, watch in kept.get(path, ()):
                watch(change)


def keep_watches(client: TreeClient, number: int, change: Change) -> None:
    """Call a watch and keep it."""
    if change is not Change.LOST:
        client._watches[number](change)


def end_silently(client: TreeClient, error: TreeError) -> None:
    """Fail the operations, and tell no watch."""
    pending, client._pending = client._pending, {}
    for errback in pending.values():
        errback(error)


class BadTreeCase(SynchronousTestCase):
    """Runs the contract against the tree in memory, with one attribute replaced."""

    def failed(self) -> set[str]:
        """Return the tests that fail for the tree in memory, patched as it is now."""

        class Case(MemoryTreeContract, TestCase):
            pass

        return failed_in(Case)

    def noticed(self, owner: type, name: str, value: object, *tests: str) -> None:
        """Check that some tests fail if an attribute has another value."""
        patch = self.patch(owner, name, value)
        self.assertLessEqual(set(tests), self.failed())
        patch.restore()
        gc.collect()  # log the errors of Deferreds that failed tests have left, here and not in a later test
        self.flushLoggedErrors()
