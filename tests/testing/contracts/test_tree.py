"""The contract of trees notices bad ones."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from twisted.trial.unittest import SynchronousTestCase, TestCase

from kafkatx.interfaces.nodes import Change, Create, Operation, Outcome, TreeError
from kafkatx.metadata.tree.client import TreeClient
from kafkatx.metadata.tree.lease import Lease
from kafkatx.metadata.tree.memory.link import MemorySession
from kafkatx.metadata.tree.memory.nodes import Transaction
from kafkatx.metadata.tree.memory.server import MemoryServer
from tests.metadata.tree.memory.test_tree import MemoryTreeContract
from tests.testing.contracts.failures import failed_in


def half_made(transaction: Transaction, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
    """Make operations until one fails, and undo nothing."""
    return tuple(transaction._make(operation, index) for index, operation in enumerate(operations))


def fire_again(
    server: MemoryServer,
    watches: dict[str, list[tuple[int, Callable[[Change], None]]]],
    path: str,
    change: Change,
) -> None:
    """Call watches and keep them."""
    for _, watch in watches.get(path, ()):
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


class TreeContractTests(SynchronousTestCase):
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

    def test_good(self) -> None:
        """The tree in memory keeps it."""
        self.assertEqual(self.failed(), set())

    def test_atomicity(self) -> None:
        """A multi that is made in part is noticed."""
        self.noticed(Transaction, "make", half_made, "test_multi_is_atomic")

    def test_watches(self) -> None:
        """Watches that fire twice, or outlive a connection, are noticed."""
        self.patch(TreeClient, "_changed", keep_watches)
        self.noticed(MemoryServer, "_fire", fire_again, "test_watch_fires_once")

    def test_lost_watches(self) -> None:
        """Watches that end untold are noticed."""
        self.noticed(TreeClient, "_end", end_silently, "test_connection_cut", "test_session_expires")

    def test_ephemerals(self) -> None:
        """A session whose end leaves its nodes is noticed."""
        self.noticed(
            MemoryServer,
            "close_session",
            lambda server, session_id: server._sessions.pop(session_id, None),
            "test_ephemerals_end_with_the_session",
            "test_session_expires",
        )

    def test_expiry_unnoticed(self) -> None:
        """A tree that does not tell of its session's expiry is noticed."""
        self.noticed(MemorySession, "_expired", lambda session, session_id: None, "test_session_expires")

    def test_lease(self) -> None:
        """A lease without a write is noticed."""
        self.noticed(Lease, "remaining_s", lambda lease: 1.0, "test_lease")

    def test_sequence(self) -> None:
        """Sequential names that are used again are noticed."""

        def create(transaction: Transaction, create: Create, index: int) -> Outcome:
            parent = transaction._nodes["/t"] if "/t" in transaction._nodes else transaction._nodes["/"]
            parent.sequence = len(parent.children)
            return made(transaction, create, index)

        made = Transaction._create
        self.noticed(Transaction, "_create", create, "test_sequential")
