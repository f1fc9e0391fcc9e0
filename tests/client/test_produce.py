"""Tests of Producer.produce: records without a Deferred."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.hooks import ProducerCallbacks
from kafkatx.client.producer import intake as intake_module
from kafkatx.client.producer import producer as producer_module
from kafkatx.clientcore.errors import BufferExhausted, ClientClosed, ProduceFailed, RecordsLost
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES
from kafkatx.clientcore.producer.values import ProducerRecord, RecordMetadata
from kafkatx.errors import ErrorCode, RequestError
from tests.client.producing import ProducerTestCase


class Heard:
    """An ``on_delivery`` that keeps its arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[Exception | None, RecordMetadata | None]] = []

    def __call__(self, error: Exception | None, metadata: RecordMetadata | None) -> None:
        """Keep the arguments."""
        self.calls.append((error, metadata))


def fail(error: Exception | None, metadata: RecordMetadata | None) -> None:
    """Fail, as a callback with a bug."""
    raise KeyError("a bug")


class ProduceTests(ProducerTestCase):
    """Sent records and their results."""

    def test_in_order_with_send(self) -> None:
        """Records of both calls and of lists keep their order, each with its own time."""
        wall_clock = SimpleNamespace(time=self.network.clock.seconds)
        for module in (producer_module, intake_module):
            self.patch(module, "time", wall_clock)
        producer = self.producer(linger_ms=1000)
        self.result(producer.send("one", b"0"), 2)
        for number in range(1, 9, 4):
            producer.produce("one", b"%d" % number)
            self.network.clock.advance(0.003)
            producer.send("one", b"%d" % (number + 1))
            producer.send_batch("one", [b"%d" % (number + 2)])
            producer.produce("one", b"%d" % (number + 3), key=b"k", headers=[("h", b"x")], timestamp_ms=7)
        self.result(producer.flush())
        self.assertEqual(self.log().values, [b"%d" % number for number in range(9)])
        times = [record.timestamp for record in self.records()]
        self.assertEqual(times[2] - times[1], 3)
        self.assertEqual([times[4], times[8]], [7, 7])
        self.assertEqual(self.sizes(), [[1], [8]])

    def test_on_delivery(self) -> None:
        """A callback is called once, with the metadata or the error, and may raise."""
        producer = self.producer()
        heard = Heard()
        producer.produce("one", b"1", on_delivery=heard, timestamp_ms=5)
        self.result(producer.flush())
        self.assertEqual(heard.calls, [(None, RecordMetadata("one", 0, 0, 5))])
        self.faults.append(ErrorCode.INVALID_RECORD)
        producer.produce("one", b"2", on_delivery=heard)
        producer.produce("one", b"3", on_delivery=fail)
        last = producer.send("one", b"4")
        self.assertIsInstance(self.error(last), ProduceFailed)
        self.result(producer.flush())
        self.assertIsInstance(heard.calls[1][0], ProduceFailed)
        self.assertEqual((len(heard.calls), heard.calls[1][1]), (2, None))
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_flush_tells(self) -> None:
        """The next flush reports failed records without a callback: their number, and the first error."""
        producer = self.producer(linger_ms=1000, batch_size=1)
        self.result(producer.send("one", b"0"), 2)
        self.faults.append(ErrorCode.INVALID_RECORD)
        for number in range(3):
            producer.produce("one", b"%d" % number)
        error = self.error(producer.flush(), 5)
        self.assertIsInstance(error, RecordsLost)
        self.assertEqual((error.count, error.first.code), (1, ErrorCode.INVALID_RECORD))
        self.assertIs(error.__cause__, error.first)
        self.assertIn("INVALID_RECORD", repr(error.first.code))
        self.result(producer.flush())
        self.assertEqual(self.log().values, [b"0", b"1", b"2"])

    def test_flush_counts_only_unheard(self) -> None:
        """Records with a Deferred, a list or a callback are not counted, nor in a batch that is cut."""
        self.log().max_bytes = 200
        producer = self.producer(linger_ms=1000)
        heard = Heard()
        calls: list[Deferred[Any]] = [producer.send("one", b"x" * 50), producer.send_batch("one", [b"y"] * 4)]
        producer.produce("one", b"z" * 50)
        producer.produce("one", b"z" * 50, on_delivery=heard)
        producer.produce("one", b"z" * 50)
        flushed = [producer.flush(), producer.flush()]
        self.faults.extend([None, *[ErrorCode.INVALID_RECORD] * 11])
        error = self.error(flushed[0], 9)
        self.assertEqual(error.count, 2)
        for call in calls:
            self.error(call)
        self.assertEqual(len(heard.calls), 1)
        self.result(flushed[1])

    def test_close_tells(self) -> None:
        """close() fails if records were lost, and the producer is closed."""
        producer = self.producer(linger_ms=60_000)
        producer.produce("one", b"1")
        error = self.error(producer.close(timeout_s=0))
        self.assertIsInstance(error, RecordsLost)
        self.assertIsInstance(error.first, ClientClosed)
        self.assertEqual(self.network.live(), [])
        self.result(producer.close())
        self.assertRaises(ClientClosed, producer.produce, "one", b"2")

    def test_raises(self) -> None:
        """Errors that are known at once are raised."""
        producer = self.producer(max_request_size=500)
        self.result(producer.send("one", b"0"))
        self.assertRaises(RequestError, producer.produce, "one", b"v", partition=1)
        error = self.assertRaises(RequestError, producer.produce, "one", b"x" * 500)
        self.assertIs(error.code, ErrorCode.MESSAGE_TOO_LARGE)

    def test_full(self) -> None:
        """A full memory raises an error at once, and after ready() records are accepted."""
        producer = self.producer(buffer_memory=1000)
        self.result(producer.send("one", b"0"))
        reply: Deferred[None] = Deferred()
        self.faults.append(reply)
        taken = 0
        with self.assertRaises(BufferExhausted) as caught:
            while True:
                producer.produce("one", b"x" * 76)
                taken += 1
        self.assertEqual(taken, 1000 // (76 + RECORD_OVERHEAD_BYTES))
        self.assertIn("wait for Producer.ready()", str(caught.exception))
        room = producer.ready()
        self.assertNoResult(room)
        reply.callback(None)
        self.result(room)
        producer.produce("one", b"1")
        self.result(producer.flush())
        self.assertEqual(len(self.log().values), taken + 2)

    def test_does_not_overtake(self) -> None:
        """An error is raised while calls of send() wait for memory."""
        producer = self.producer(buffer_memory=1000)
        self.result(producer.send("one", b"0"))
        self.faults.append(Deferred())
        producer.send_batch("one", [b"x" * 1000]).addErrback(lambda _: None)
        producer.send("one", b"1").addErrback(lambda _: None)
        self.assertRaises(BufferExhausted, producer.produce, "one", b"2")

    def test_with_parts(self) -> None:
        """Encoders and callbacks are called as for send()."""
        told: list[Any] = []

        class Callbacks(ProducerCallbacks):
            def before_enqueue(self, record: ProducerRecord) -> ProducerRecord:
                return record._replace(value=record.value * 2)

            def after_enqueue(self, record: ProducerRecord, added: bool) -> None:
                told.append((record.value, added))

        producer = self.producer(value_serializer="string", callback_handler=Callbacks())
        for text in ("a", "b"):
            producer.produce("one", text)
        self.result(producer.flush())
        self.assertEqual(self.log().values, [b"aa", b"bb"])
        self.assertEqual(told, [("aa", True), ("bb", True)])

    def test_spread(self) -> None:
        """Records without a key go to one partition a batch, and to others with the next (KIP-480)."""
        producer = self.producer(batch_size=1000, linger_ms=1000)
        for _ in range(400):
            producer.produce("t", b"x" * 76)
        self.result(producer.flush(), 5)
        sizes = [size for request in self.sizes() for size in request]
        self.assertEqual((sum(sizes), len(self.logs)), (400, 3))
        self.assertLessEqual(max(sizes), 9)

    def test_expires(self) -> None:
        """A batch that expired while open takes no more records: the next go into another."""
        producer = self.producer(linger_ms=3000, request_timeout_ms=1000, delivery_timeout_ms=4000)
        self.result(producer.send("one", b"0"), 4)
        producer._sender.stop()
        producer.produce("one", b"1")
        for batch in producer._accumulator.expire(self.network.clock.seconds() + 9):
            self.assertEqual(batch.count, 1)
        producer.produce("one", b"2")
        self.assertEqual([batch.count for batch in producer._accumulator.unsettled()], [1])
        self.error(producer.close(0))
