"""The wait for the high watermark of a partition."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred, fail

from kafkatx.broker.coordinator.runtime.high_watermark import high_watermark_at
from kafkatx.errors import RequestError
from tests.broker.running import BrokerTestCase


class HighWatermarkTests(BrokerTestCase):
    def setUp(self) -> None:
        """Make a partition whose last records are not replicated."""
        super().setUp()
        (self.partition,) = self.make_topic("t")
        self.fill(b"1", b"2", b"3")
        self.partition.high_watermark = 1

    def test_reached(self) -> None:
        """The wait ends when the high watermark is at the offset, not before; then nothing is left of it."""
        self.successResultOf(high_watermark_at(self.partition, 1))
        waiting = high_watermark_at(self.partition, 3)
        for offset in (1, 2):
            self.partition.high_watermark = offset
            self.partition.wake()
            self.assertNoResult(waiting)
        self.partition.high_watermark = 3
        self.partition.wake()
        self.successResultOf(waiting)
        self.assertEqual(self.partition.delayed_fetches, set())

    def test_flushed(self) -> None:
        """A log that shows only what is flushed is flushed at once."""
        flushes: list[Deferred[int]] = [Deferred(), fail(OSError(5, "bad disk"))]
        self.patch(self.partition.log, "flush", lambda: flushes.pop())
        self.partition.exposes_flushed = True
        first, second = high_watermark_at(self.partition, 3), high_watermark_at(self.partition, 3)
        self.assertEqual(flushes, [])
        self.partition.high_watermark = 3
        self.partition.wake()
        self.successResultOf(first)
        self.successResultOf(second)

    def test_offline(self) -> None:
        """The wait fails if the log dir fails."""
        waiting = high_watermark_at(self.partition, 3)
        self.partition.go_offline()
        self.partition.wake()
        self.failureResultOf(waiting, RequestError)

    def test_cancelled(self) -> None:
        """A cancelled wait is woken no more."""
        waiting = high_watermark_at(self.partition, 3)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.partition.high_watermark = 3
        self.partition.wake()
