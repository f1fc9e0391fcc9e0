"""Tests of kafkatx.client.producer.transactions.calls, and of the block."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.clientcore.producer.transactions.errors import AbortRequired, TransactionMisuse
from kafkatx.errors import ErrorCode
from tests.client.producer.transactions.brokers import T0, TransactionTestCase


class CallsTests(TransactionTestCase):
    def test_no_transactions(self) -> None:
        """Without transactional.id each call says which setting is missing."""
        producer = self.producer()
        for call in (producer.commit, producer.abort, lambda: producer.send_offsets({T0: 1}, "g")):
            self.assertIn("transactional.id", str(self.error(call())))
        self.assertRaises(TransactionMisuse, producer.begin)
        self.assertFalse(producer.in_transaction())

    def block(self, body: Any) -> Deferred[None]:
        """Run a function in a block of a started producer."""

        async def run() -> None:
            async with self.made.transaction():
                await body()

        self.made = self.transactional()
        return Deferred.fromCoroutine(run())

    def test_committed(self) -> None:
        """A block commits at its end."""

        async def body() -> None:
            await self.made.send("one", b"x")

        self.result(self.block(body))
        self.assertEqual(self.ends(), [True])

    def test_aborted(self) -> None:
        """A block that an exception leaves aborts, and the exception goes on."""

        async def body() -> None:
            await self.made.send("one", b"x")
            raise ZeroDivisionError

        self.assertIsInstance(self.error(self.block(body)), ZeroDivisionError)
        self.assertEqual(self.ends(), [False])

    def test_failed(self) -> None:
        """A record that fails unseen aborts the block, which says so."""
        self.faults.append(ErrorCode.INVALID_RECORD)

        async def body() -> None:
            self.made.produce("one", b"x")

        self.assertIsInstance(self.error(self.block(body)), AbortRequired)
        self.assertEqual(self.ends(), [False])
        self.assertFalse(self.made.in_transaction())

    def test_ended_inside(self) -> None:
        """A block whose transaction was ended in it does nothing more."""

        async def body() -> None:
            await self.made.send("one", b"x")
            await self.made.abort()

        self.result(self.block(body))
        self.assertEqual(self.ends(), [False])

    def test_direct_way(self) -> None:
        """After the end the open batches of the topic are not appended to."""
        producer = self.transactional(linger_ms=100)
        producer.begin()
        self.result(producer.send("one", b"0"), 1)
        producer.produce("one", b"1")
        ending = producer.commit()
        self.assertIsInstance(self.error(producer.send("one", b"2")), TransactionMisuse)
        self.result(ending, 1)
        self.assertEqual([record.value for record in self.records()], [b"0", b"1"])
