"""The contract notices trees that break its rules about nodes and watches."""

from __future__ import annotations

from kafkatx.interfaces.nodes import Create, Outcome
from kafkatx.metadata.tree.client import TreeClient
from kafkatx.metadata.tree.nodes import Transaction
from kafkatx.metadata.tree.watches import Watches
from tests.testing.contracts.tree.bad_trees import (
    BadTreeCase,
    fire_again,
    half_made,
    keep_watches,
)


class NodesContractTests(BadTreeCase):
    def test_good(self) -> None:
        """The tree in memory keeps it."""
        self.assertEqual(self.failed(), set())

    def test_atomicity(self) -> None:
        """A multi that is made in part is noticed."""
        self.noticed(Transaction, "make", half_made, "test_multi_is_atomic")

    def test_watches(self) -> None:
        """Watches that fire twice, or outlive a connection, are noticed."""
        self.patch(TreeClient, "_changed", keep_watches)
        self.noticed(Watches, "report", fire_again, "test_watch_fires_once")

    def test_sequence(self) -> None:
        """Sequential names that are used again are noticed."""

        def create(transaction: Transaction, create: Create, index: int) -> Outcome:
            parent = transaction._nodes["/t"] if "/t" in transaction._nodes else transaction._nodes["/"]
            parent.sequence = len(parent.children)
            return made(transaction, create, index)

        made = Transaction._create
        self.noticed(Transaction, "_create", create, "test_sequential")
