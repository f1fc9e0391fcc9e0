"""Tests of kafkatx.client.legacy.message_streams: one stream, without a connector."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.legacy.message_streams import MessageStream, StreamRecords
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError


def delivery(*offsets: int) -> Delivery:
    """Return records of one partition."""
    state: Any = SimpleNamespace()
    return Delivery(state, [Record("t", 0, offset) for offset in offsets], offsets[0])


class MessageStreamTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty stream."""
        self.clock = Clock()
        self.stream = MessageStream(self.clock, lambda: succeed(None))
        self.reports = 0

    def report(self) -> None:
        """Count the reports of activity."""
        self.reports += 1

    def deliver(self, *offsets: int) -> Deferred[None]:
        """Deliver records; fires when the application has finished them."""
        return Deferred.fromCoroutine(self.stream.deliver(delivery(*offsets), self.report))

    def offsets(self, taken: StreamRecords) -> list[int]:
        """Iterate over records as an application does."""
        return [record.offset for record in self.stream.records(taken, taken.report_activity)]

    def test_order(self) -> None:
        """Deliveries come in order; one is finished when the next is requested."""
        first, second = self.deliver(1, 2), self.deliver(3)
        self.assertEqual(self.offsets(self.successResultOf(self.stream.next_records())), [1, 2])
        self.assertNoResult(first)
        self.assertEqual(self.offsets(self.successResultOf(self.stream.next_records())), [3])
        self.successResultOf(first)
        self.assertNoResult(second)

    def test_wait(self) -> None:
        """A request waits for the next delivery; a second reader is refused meanwhile."""
        waiting = self.stream.next_records()
        self.assertNoResult(waiting)
        error = self.failureResultOf(self.stream.next_records(), KafkaTXError).value
        self.assertIn("being read already", str(error))
        self.deliver(1)
        self.assertEqual(self.offsets(self.successResultOf(waiting)), [1])

    def test_activity(self) -> None:
        """Activity is reported when records are taken, and every half second of processing."""
        self.deliver(1, 2, 3)
        taken = self.successResultOf(self.stream.next_records())
        self.assertEqual(self.reports, 1)
        for _ in self.stream.records(taken, taken.report_activity):
            self.clock.advance(0.3)
        self.assertEqual(self.reports, 2)

    def test_interrupted(self) -> None:
        """Records that are taken back before the application has them are finished, and not yielded."""
        records = delivery(1)
        done = Deferred.fromCoroutine(self.stream.deliver(records, self.report))
        records.on_interrupted()
        self.successResultOf(done)
        self.assertNoResult(self.stream.next_records())

    def test_shutdown(self) -> None:
        """After a shutdown all records are finished, and requests fail with ClientClosed."""
        first, second = self.deliver(1), self.deliver(2)
        self.successResultOf(self.stream.next_records())
        self.stream.end(ClientClosed("shut down"))
        self.successResultOf(first)
        self.successResultOf(second)
        self.failureResultOf(self.stream.next_records(), ClientClosed)

    def test_error(self) -> None:
        """After an error the waiting reader gets it; the record in hand is not finished."""
        first = self.deliver(1)
        self.successResultOf(self.stream.next_records())
        self.stream.end(KafkaTXError("no"))
        self.assertNoResult(first)
        self.failureResultOf(self.stream.next_records(), KafkaTXError)
        other = MessageStream(self.clock, lambda: succeed(None))
        waiting = other.next_records()
        other.end(KafkaTXError("no"))
        self.failureResultOf(waiting, KafkaTXError)

    def test_iteration(self) -> None:
        """The asynchronous iteration yields records until the connector is shut down."""
        found: list[int] = []

        async def read() -> None:
            async for record in self.stream:
                found.append(record.offset)

        reading = Deferred.fromCoroutine(read())
        self.deliver(1, 2)
        self.deliver(3)
        self.assertEqual(found, [1, 2, 3])
        self.stream.end(ClientClosed("shut down"))
        self.successResultOf(reading)
