"""Tests of kafkatx.clientcore.transactions.values."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.transactions.values import OpenTransaction, TransactionDescription, hanging
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class HangingTests(SynchronousTestCase):
    def test_table(self) -> None:
        """Hanging: no coordinator has the producer, or not with this partition."""
        known = TransactionDescription("id", 0, "Ongoing", 7, 0, 1, 1, (T0,))
        for producer_id, place, expected in ((7, T0, False), (7, T1, True), (8, T0, True)):
            transaction = OpenTransaction(place, producer_id, 0, 5, 1, -1)
            found = hanging([transaction], {7: known})
            self.assertEqual(found, [transaction] if expected else [])
