"""Fetch of records that must be read from the disk first."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.wire.messages.fetch import PartitionData
from tests.broker.fetch.case import FetchTestCase, asking
from tests.broker.running import values


class ColdFetchTests(FetchTestCase):
    """A test case with two partitions of records; the logs of those in ``cold`` must be loaded first."""

    def setUp(self) -> None:
        """Fill both partitions."""
        super().setUp()
        self.cold: dict[int, Deferred[None]] = {}
        self.asked: list[tuple[int, int, int]] = []
        self.read: list[int] = []
        for number, partition in enumerate(self.broker.topics.of("t")):
            self.fill(b"%d" % number * 100, partition=number)
            self.patch(partition.log, "warm", self.warm(number))
            self.patch(partition.log, "read", self.note_read(number, partition.log.read))
            self.patch(partition.log, "readable_bytes", self.note_read(number, partition.log.readable_bytes))

    def warm(self, number: int) -> Any:
        """Return a log's warm() that records its arguments and waits for the test."""

        def warm(offset: int, max_bytes: int) -> Deferred[None] | None:
            self.asked.append((number, offset, max_bytes))
            waiting = self.cold.get(number)
            return waiting if waiting is not None and not waiting.called else None

        return warm

    def note_read(self, number: int, real: Any) -> Any:
        """Return a method that records when a log is read."""

        def look(*args: Any) -> Any:
            self.read.append(number)
            return real(*args)

        return look

    def values(self, parts: list[PartitionData]) -> list[list[bytes | None]]:
        """Return the values in each part."""
        return [values(part.records) for part in parts]

    def test_waits(self) -> None:
        """A cold log is read only after the requested range was loaded; then the reply has it."""
        self.cold[0] = Deferred()
        waiting = self.park(asking(0, 0))
        self.assertNoResult(waiting)
        self.assertEqual(self.read, [])
        self.cold[0].callback(None)
        self.assertEqual(self.values(self.came(waiting)), [[b"0" * 100], [b"1" * 100]])

    def test_waits_for_all(self) -> None:
        """Several partitions are loaded at a time, and the reply is sent when all are."""
        self.cold = {0: Deferred(), 1: Deferred()}
        waiting = self.park(asking(0, 0), min_bytes=0)
        self.cold[1].callback(None)
        self.assertNoResult(waiting)
        self.cold[0].callback(None)
        self.assertEqual(self.values(self.came(waiting)), [[b"0" * 100], [b"1" * 100]])

    def test_min_bytes_afterwards(self) -> None:
        """A fetch waits for more if the loaded records are fewer than min_bytes."""
        self.cold[0] = Deferred()
        waiting = self.park(asking(0), min_bytes=250)
        self.cold[0].callback(None)
        self.assertNoResult(waiting)
        self.fill(b"2" * 100)
        self.assertEqual(self.values(self.came(waiting)), [[b"0" * 100, b"2" * 100]])

    def test_not_more_than_the_reply_holds(self) -> None:
        """No more is loaded than the reply may hold; further partitions wait for the next request."""
        self.cold = {0: Deferred(), 1: Deferred()}
        waiting = self.park(asking(0, 0, max_bytes=1000), max_bytes=1000)
        self.assertEqual(self.asked, [(0, 0, 1000)])
        self.cold[0].callback(None)
        self.assertEqual(self.values(self.came(waiting)), [[b"0" * 100], []])
        self.assertNotIn(1, self.read)

    def test_asks_for_the_rest(self) -> None:
        """The second partition loads no more than the first one leaves of the reply."""
        self.cold = {0: Deferred(), 1: Deferred()}
        self.park(asking(0, 0, max_bytes=1000), max_bytes=1500).addErrback(lambda _: None).cancel()
        self.assertEqual(self.asked, [(0, 0, 1000), (1, 0, 500)])

    def test_cancelled(self) -> None:
        """A cancelled fetch stops waiting, reads no log and is not parked."""
        for count in (1, 2):
            self.cold = {number: Deferred() for number in range(count)}
            waiting = self.park(asking(0, 0))
            waiting.cancel()
            self.failureResultOf(waiting, CancelledError)
            self.assertEqual((self.read, self.clock.getDelayedCalls()), ([], []))
