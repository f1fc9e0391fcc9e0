"""Tests of kafkatx.client.producer.transactions.intake."""

from __future__ import annotations

from kafkatx.clientcore.errors import BufferExhausted
from kafkatx.clientcore.producer.transactions.errors import AbortRequired, TransactionMisuse
from kafkatx.errors import RequestError
from tests.client.producer.transactions.brokers import TransactionTestCase


class IntakeTests(TransactionTestCase):
    def test_outside(self) -> None:
        """Outside a transaction all ways of sending are refused."""
        producer = self.transactional()
        for _ in range(2):
            for sent in (producer.send("one", b"x"), producer.send_batch("one", [b"x"])):
                self.assertIsInstance(self.error(sent), TransactionMisuse)
            self.assertRaises(TransactionMisuse, producer.produce, "one", b"x")
            producer.begin()
            self.result(producer.commit())

    def test_refused(self) -> None:
        """A record that is refused at once makes the commit fail, if the program ignores its error."""
        producer = self.transactional(max_request_size=1000)
        for send in (
            lambda: self.error(producer.send("one", bytes(2000))),
            lambda: self.assertRaises(RequestError, producer.produce, "one", bytes(2000)),
            lambda: self.error(producer.send_batch("one", [None])),
        ):
            producer.begin()
            send()
            self.assertIsInstance(self.error(producer.commit()), AbortRequired)
            self.result(producer.abort())

    def test_no_memory(self) -> None:
        """A program that waits for memory and produces again loses nothing."""
        producer = self.transactional(buffer_memory=200, linger_ms=10)
        producer.begin()
        producer.produce("one", bytes(150))
        producer.produce("one", bytes(150))
        self.assertRaises(BufferExhausted, producer.produce, "one", b"x")
        self.result(producer.ready(), 1)
        producer.produce("one", b"x")
        self.result(producer.commit(), 1)
        self.assertEqual(len(self.records()), 3)
