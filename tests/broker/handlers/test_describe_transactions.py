"""DescribeTransactions: the state of transactional ids."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from tests.broker.running import NOW_MS
from tests.broker.transactional import TransactionsTestCase


class DescribeTests(TransactionsTestCase):
    def describe(self, *names: str) -> list[TransactionState]:
        """Describe transactional ids."""
        states: list[TransactionState] = self.ask(
            65, 0, DescribeTransactionsRequest(list(names))
        ).transaction_states
        return states

    def test_open(self) -> None:
        """An open transaction has its partitions, its beginning and its time-out."""
        producer = self.producer(timeout_ms=5000)
        self.add(producer, 1, 0)
        (state,) = self.describe("tx")
        self.assertEqual(
            (state.error_code, state.transactional_id, state.transaction_state), (0, "tx", "Ongoing")
        )
        self.assertEqual((state.producer_id, state.producer_epoch), producer)
        self.assertEqual((state.transaction_timeout_ms, state.transaction_start_time_ms), (5000, NOW_MS))
        self.assertEqual([(one.topic, one.partitions) for one in state.topics], [("t", [0, 1])])

    def test_others(self) -> None:
        """An unknown id is told as such; a repeated one is described once."""
        self.producer()
        states = self.describe("no", "tx", "tx")
        self.assertEqual(
            [(one.transactional_id, one.error_code) for one in states],
            [("no", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND), ("tx", 0)],
        )

    def test_elsewhere(self) -> None:
        """A broker that does not coordinate the id says so."""
        for partition in list(self.broker.transactions.topic.led()):
            self.broker.transactions.runtime.role_changed(partition, False)
        self.patch(self.broker.transactions.topic, "leads", lambda number: False)
        self.assertEqual(self.describe("tx")[0].error_code, ErrorCode.NOT_COORDINATOR)
