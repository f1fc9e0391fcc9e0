"""The collector of transactions: states, age, and those that hang in a log."""

from __future__ import annotations

from tests.broker.metrics.scraped import ScrapeTestCase
from tests.broker.running import NOW_MS
from tests.broker.transactional import TransactionsTestCase


class TransactionCollectorTests(TransactionsTestCase, ScrapeTestCase):
    def test_states(self) -> None:
        """Transactional ids are counted by their state; the age is that of the oldest open transaction."""
        self.transact(b"done")
        for name, started_ms in (("older", NOW_MS), ("newer", NOW_MS + 2000)):
            self.now_ms = started_ms
            self.assertEqual(self.add(self.producer(name), 0, name=name), [0])
        self.now_ms = NOW_MS + 5000
        found = self.scrape()
        self.assertValues(found, {"kafkatx_transactional_ids": 2}, state="Ongoing")
        self.assertValues(found, {"kafkatx_transactional_ids": 1}, state="CompleteCommit")
        self.assertValues(found, {"kafkatx_transaction_oldest_seconds": 5})

    def test_none(self) -> None:
        """Without an open transaction the age is 0, and nothing is held back."""
        self.transact(b"done")
        wanted = {
            "kafkatx_transaction_oldest_seconds": 0,
            "kafkatx_partitions_held_back": 0,
            "kafkatx_transactions_hanging": 0,
        }
        self.assertValues(self.scrape(), wanted)

    def test_hanging(self) -> None:
        """A transaction that is open for longer than any may be hangs."""
        producer = self.producer()
        self.add(producer, 0)
        self.write(producer, b"open")
        wanted = {"kafkatx_partitions_held_back": 1, "kafkatx_transactions_hanging": 0}
        self.now_ms = self.broker.transactions.max_timeout_ms + 30_000  # its batch has the timestamp 0
        self.assertValues(self.scrape(), wanted)
        self.now_ms += 60_000
        self.assertValues(self.scrape(), {**wanted, "kafkatx_transactions_hanging": 1})
