"""ListTransactions: the transactional ids that pass the filters."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.coordinator.transactions.pattern import IdPattern
from kafkatx.broker.handlers import list_transactions
from kafkatx.errors import ErrorCode
from kafkatx.group.consumer.subscription import automaton
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest, TransactionState
from tests.broker.transactional import TransactionsTestCase


class ListTests(TransactionsTestCase):
    def setUp(self) -> None:
        """Make an open transaction, a committed one, and an id without any."""
        super().setUp()
        self.open = self.producer("open")
        self.add(self.open, 0, name="open")
        self.transact(b"x", name="done")
        self.producer("empty")

    def names(self, version: int = 1, **filters: Any) -> set[str]:
        """Return the listed ids."""
        response = self.ask(66, version, ListTransactionsRequest(**filters))
        self.assertEqual(response.error_code, 0)
        return {one.transactional_id for one in response.transaction_states}

    def test_all(self) -> None:
        """Without filters all are listed, with their producer ids and states."""
        for version in (0, 1):
            self.assertEqual(self.names(version), {"open", "done", "empty"})
        states = self.ask(66, 0, ListTransactionsRequest()).transaction_states
        found = {one.transactional_id: (one.producer_id, one.transaction_state) for one in states}
        self.assertEqual(found["open"], (self.open[0], "Ongoing"))

    def test_filters(self) -> None:
        """Filters are combined; unknown states are told."""
        self.assertEqual(self.names(state_filters=["Ongoing", "Empty"]), {"open", "empty"})
        self.assertEqual(self.names(producer_id_filters=[self.open[0]]), {"open"})
        self.assertEqual(self.names(state_filters=["Empty"], producer_id_filters=[self.open[0]]), set())
        response = self.ask(66, 0, ListTransactionsRequest(["Ongoing", "Odd", "Odd"]))
        self.assertEqual(response.unknown_state_filters, ["Odd"])

    def matching(self, pattern: str | None, **filters: Any) -> Any:
        """Return the response to a request with an expression, which is served in the next turn."""
        request = ListTransactionsRequest(transactional_id_pattern=pattern, **filters)
        waiting = self.answer(66, 2, request)
        self.clock.advance(0)
        return self.response(66, 2, self.answered(waiting))

    def test_pattern(self) -> None:
        """The expression has to match the whole id, besides the other filters; an empty one is none."""
        for pattern, names in (
            (".*e.*", {"open", "done", "empty"}),
            ("[od].*", {"open", "done"}),
            ("o", set()),
        ):
            found = {one.transactional_id for one in self.matching(pattern).transaction_states}
            self.assertEqual(found, names, pattern)
        response = self.matching("[od].*", state_filters=["Ongoing", "Odd"])
        self.assertEqual([one.transactional_id for one in response.transaction_states], ["open"])
        self.assertEqual(response.unknown_state_filters, ["Odd"])
        for none in ("", None):
            self.assertEqual(self.names(2, transactional_id_pattern=none), {"open", "done", "empty"})

    def test_bad_pattern(self) -> None:
        """An invalid expression is refused, and one that takes too much work."""
        response = self.ask(66, 2, ListTransactionsRequest(transactional_id_pattern="("))
        self.assertEqual(response.error_code, ErrorCode.INVALID_REGULAR_EXPRESSION)
        self.patch(automaton, "MOST_WORK", 10)
        self.assertEqual(self.matching("(.*)*(.*)*").error_code, ErrorCode.INVALID_REGULAR_EXPRESSION)

    def test_steps(self) -> None:
        """Other requests have their turn after a number of characters."""
        self.patch(list_transactions, "CHARACTERS", 8)
        found: list[TransactionState] = []
        ids = [TransactionState(name * 4) for name in "abcde"]
        steps = list_transactions._match(ids, IdPattern("[^c]*"), found)
        self.assertEqual([len(found) for _ in steps], [2, 3])
        self.assertEqual(len(found), 4)

    def test_duration(self) -> None:
        """Transactions that are older than the filter are listed."""
        self.now_ms += 1000
        self.assertIn("open", self.names(duration_filter=999))
        self.assertNotIn("open", self.names(duration_filter=1000))

    def test_loading(self) -> None:
        """While a partition is loaded the list would not be complete."""
        self.patch(type(self.broker.transactions.runtime), "loading", True)
        response = self.ask(66, 0, ListTransactionsRequest())
        self.assertEqual(response.error_code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
