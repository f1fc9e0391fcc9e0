"""Tests of kafkatx.client.producer.buffer_pool."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.receipts import LostRecords
from kafkatx.clientcore.errors import BufferExhausted, ClientClosed
from kafkatx.clientcore.producer.values import RecordMetadata
from tests.client.producer.fake_cluster import accumulator

FULL = 5000


class BufferPoolTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a pool of 5000 bytes, all of them used, with waits of two seconds."""
        self.make(2.0)

    def make(self, max_block_s: float) -> None:
        """Make another pool."""
        self.clock = Clock()
        self.accumulator = accumulator()
        self.accumulator.used_bytes = FULL
        self.lost = LostRecords()
        self.waiting: list[bool] = []
        self.order: list[int] = []
        self.pool = BufferPool(self.clock, self.accumulator, max_block_s, self.lost, self.waiting.append)

    def put(self, number: int) -> None:
        """Use 100 bytes."""
        self.order.append(number)
        self.accumulator.used_bytes += 100

    def reserve(self, number: int) -> Deferred[RecordMetadata]:
        """Reserve 100 bytes; return the receipt."""
        receipt: Deferred[RecordMetadata] = Deferred()
        self.pool.reserve(100, receipt, self.put, (number,), None)
        return receipt

    def free(self, size: int) -> None:
        """Settle records of this size."""
        self.accumulator.used_bytes -= size
        self.pool.admit()

    def test_free_memory(self) -> None:
        """With free memory wait() fires at once."""
        self.accumulator.used_bytes = FULL - 1
        self.successResultOf(self.pool.wait())

    def test_order(self) -> None:
        """Callers are admitted in order, as long as memory is free."""
        for number in range(3):
            self.reserve(number)
        self.free(100)
        self.assertEqual(self.order, [0])
        self.free(200)
        self.assertEqual(self.order, [0, 1, 2])

    def test_nobody_overtakes(self) -> None:
        """While a caller waits the accumulator is closed for others, also if memory is free."""
        waiting = self.pool.wait()
        self.assertEqual(self.accumulator.open_below_bytes, 0)
        self.accumulator.used_bytes = FULL - 1
        self.assertNoResult(self.pool.wait())
        self.free(2000)
        self.successResultOf(waiting)
        self.assertEqual(self.accumulator.open_below_bytes, FULL)

    def test_slack(self) -> None:
        """A caller of wait() goes on only when several batches have room."""
        waiting = self.pool.wait()
        self.free(500)
        self.assertNoResult(waiting)
        self.free(500)
        self.successResultOf(waiting)

    def test_told_of_waiting(self) -> None:
        """set_waiting is called when the first caller waits, and when none does any more."""
        self.reserve(0)
        self.reserve(1)
        self.assertEqual(self.waiting, [True])
        self.free(1000)
        self.assertEqual(self.waiting, [True, False])

    def test_too_long(self) -> None:
        """After two seconds a caller fails, and one that came later has its own two seconds."""
        first = self.reserve(0)
        self.clock.advance(1)
        second = self.reserve(1)
        self.clock.advance(1)
        error = self.failureResultOf(first, BufferExhausted).value
        self.assertIn("buffer.memory is 5000; none became free within 2 s (max.block.ms)", str(error))
        self.assertNoResult(second)
        self.clock.advance(1)
        self.failureResultOf(second, BufferExhausted)
        self.assertEqual((self.order, self.clock.getDelayedCalls()), ([], []))

    def test_no_waiting(self) -> None:
        """With max.block.ms=0 reserve() raises at once."""
        self.make(0)
        error = self.assertRaises(BufferExhausted, self.reserve, 0)
        self.assertIn("max.block.ms is 0", str(error))

    def test_cancelled(self) -> None:
        """A caller that has cancelled its Deferred is passed over."""
        heard: list[bool] = []
        receipt: Deferred[RecordMetadata] = Deferred()
        self.pool.reserve(100, receipt, self.put, (0,), heard.append)
        self.reserve(1)
        receipt.addErrback(lambda _: None).cancel()
        self.free(100)
        self.assertEqual((self.order, heard), ([1], [False]))

    def test_on_enqueued(self) -> None:
        """on_enqueued hears whether the put succeeded; an error of it goes to the receipt."""
        heard: list[bool] = []
        receipt: Deferred[RecordMetadata] = Deferred()
        self.pool.reserve(100, None, self.put, (0,), heard.append)
        self.pool.reserve(100, receipt, self.fail_to_put, (), heard.append)
        self.free(1000)
        self.assertEqual(heard, [True, False])
        self.failureResultOf(receipt, ZeroDivisionError)

    def fail_to_put(self) -> None:
        """Fail to append."""
        raise ZeroDivisionError

    def test_reject_new(self) -> None:
        """After reject_new() those that wait are still admitted, and new callers are not."""
        self.reserve(0)
        self.pool.reject_new(ClientClosed("closed"))
        self.assertRaises(ClientClosed, self.reserve, 1)
        self.free(200)
        self.assertEqual((self.order, self.accumulator.open_below_bytes), ([0], 0))

    def test_close(self) -> None:
        """close() fails all callers, without a receipt by counting them, and stops the timer."""
        receipt, waiting = self.reserve(0), self.pool.wait()
        self.pool.reserve(100, None, self.put, (1,), None)
        self.pool.close(ClientClosed("closed"))
        for deferred in (receipt, waiting, self.pool.wait()):
            self.failureResultOf(deferred, ClientClosed)
        lost = self.lost.take()
        assert lost is not None
        self.assertEqual((lost.count, self.clock.getDelayedCalls()), (1, []))

    def test_wait_until_admitted(self) -> None:
        """wait_until_admitted() ends when those that wait now are admitted or have failed."""
        self.reserve(0)
        ended = Deferred.fromCoroutine(self.pool.wait_until_admitted())
        self.assertNoResult(ended)
        self.free(1500)
        self.successResultOf(ended)
        self.successResultOf(Deferred.fromCoroutine(self.pool.wait_until_admitted()))

    def test_fork(self) -> None:
        """In a fork every caller fails, and no timer is touched."""
        self.reserve(0)
        error = ClientClosed("fork")
        self.pool.forked(error)
        self.assertIs(self.failureResultOf(self.pool.wait()).value, error)
        self.assertRaises(ClientClosed, self.reserve, 1)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
