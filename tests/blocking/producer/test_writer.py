"""Tests of kafkatx.blocking.producer.writer and delivery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.writer import Writer
from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.partitioners import RoundRobinPartitioner, murmur2
from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.conversion import iter_any
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.blocking.fakes import FakeCluster, Log


class WriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic with one empty partition."""
        self.fake = FakeCluster({"t": [Log()]})

    def writer(self, **options: Any) -> Writer:
        """A writer to the topic with a fixed clock."""
        return Writer(self.fake.client(), "t", clock=lambda: 12.3456, **options)

    def values(self, partition: int = 0) -> list[bytes | None]:
        """Return the values in the log."""
        log = self.fake.topics["t"][partition]
        return [record.value for data in log.batches for record in iter_records(memoryview(data))]

    def produced(self) -> list[Any]:
        """(base sequence, records) of every produce request, in the order sent."""
        headers = [
            parse_header(request.topic_data[0].partition_data[0].records)
            for request in self.fake.sent(ProduceRequest)
        ]
        return [(header.base_sequence, header.count) for header in headers]

    def test_fields(self) -> None:
        """Key, value, headers and timestamp arrive; without a timestamp it is the clock's."""
        with self.writer() as writer:
            writer.send(b"v", b"k", headers=[("h", b"x")], timestamp_ms=5)
            writer.send(None)
        records = list(iter_any(self.fake.topics["t"][0].batches[0]))
        self.assertEqual(records[0][1:], (5, b"k", b"v", [("h", b"x")]))
        self.assertEqual(records[1][1:], (12345, None, None, []))
        self.assertEqual((writer.totals.records, writer.totals.bytes), (2, 2))

    def test_wrong_types(self) -> None:
        """A str or int fails with one sentence, before anything is sent; the writer goes on."""
        self.fake = FakeCluster({"t": [Log(), Log()]})
        with self.writer() as writer:
            self.check_refused(writer, "text", "serializer=string")
            self.check_refused(writer, 7, "serializer")
            text: Any = "text"
            self.assertRaises(TypeError, writer.send_values, text)
            self.assertRaises(TypeError, writer.send, b"v", headers=[("h", text)])
            self.assertEqual(self.fake.sent(ProduceRequest), [])
            key: Any = bytearray(b"k")
            writer.send(b"v", key)
        self.assertEqual(self.values(murmur2(b"k") & 0x7FFFFFFF & 1), [b"v"])

    def check_refused(self, writer: Writer, wrong: Any, serializer: str) -> None:
        """Check the message of each call with a wrong value or key."""
        calls: list[tuple[str, Callable[[], None]]] = [
            ("value", lambda: writer.send(wrong)),
            ("key", lambda: writer.send(b"v", wrong)),
            ("value", lambda: writer.send_values([b"v", wrong])),
        ]
        kind = type(wrong).__name__
        for what, call in calls:
            self.assertEqual(
                str(self.assertRaises(TypeError, call)),
                f"a record's {what} must be bytes, not {kind}: encode it, or set {what}.{serializer}",
            )

    def test_batches_by_size(self) -> None:
        """A batch is closed before it would exceed batch_bytes; a larger record goes alone."""
        with self.writer(batch_bytes=300) as writer:
            for size in (100, 100, 100, 500, 10):
                writer.send(b"x" * size)
        self.assertEqual(self.produced(), [(0, 2), (2, 1), (3, 1), (4, 1)])

    def test_values_in_few_batches(self) -> None:
        """send_values cuts what is too much for one batch, keeps the order, and leaves nothing behind."""
        values = [b"%d" % i for i in range(1000)]
        with self.writer(batch_bytes=10_000) as writer:
            writer.send_values(values)
            self.assertEqual(self.values(), values)
        self.assertEqual(sum(count for _, count in self.produced()), 1000)
        self.assertLessEqual(len(self.produced()), 4)
        sizes = [len(data) for data in self.fake.topics["t"][0].batches]
        self.assertLessEqual(max(sizes), 10_000)

    @settings(deadline=None, max_examples=50)
    @given(st.lists(st.binary(max_size=200), max_size=60), st.integers(RECORD_OVERHEAD_BYTES, 2000))
    def test_any_values(self, values: list[bytes], batch_bytes: int) -> None:
        """With any values and limits all arrive in order."""
        self.fake.topics["t"] = [Log()]
        with self.writer(batch_bytes=batch_bytes) as writer:
            writer.send_values(values)
            writer.send_lines(iter(values))
            for value in values:
                writer.send(value)
        self.assertEqual(self.values(), values * 3)

    def test_mixed_order(self) -> None:
        """Records of send() leave before later ones of send_values()."""
        with self.writer() as writer:
            writer.send(b"1")
            writer.send_values([b"2", b"3"])
            writer.send(b"4")
        self.assertEqual(self.values(), [b"1", b"2", b"3", b"4"])

    def test_partitions(self) -> None:
        """Keys are hashed as Java does; a given partition is obeyed."""
        self.fake.topics["t"] = [Log(), Log(), Log()]
        with self.writer() as writer:
            writer.send(b"by key", b"some key")
            writer.send(b"given", b"some key", partition=2)
            writer.send_values([b"all"], partition=2)
        self.assertIn(b"by key", self.values((murmur2(b"some key") & 0x7FFFFFFF) % 3))
        self.assertEqual([v for v in self.values(2) if v != b"by key"], [b"given", b"all"])

    def test_own_partitioner(self) -> None:
        """A partitioner of the caller's is asked for each record, also of send_values."""
        self.fake.topics["t"] = [Log(), Log()]
        with self.writer(partitioner=RoundRobinPartitioner()) as writer:
            writer.send_values([b"%d" % i for i in range(6)])
        self.assertEqual([len(self.values(0)), len(self.values(1))], [3, 3])

    def test_compression(self) -> None:
        """Batches are compressed with the codec that is named."""
        with self.writer(compression="zstd") as writer:
            writer.send_values([b"x" * 1000])
        data = self.fake.topics["t"][0].batches[0]
        self.assertEqual(parse_header(data).codec, 4)
        self.assertLess(len(data), 200)

    def test_pipelining(self) -> None:
        """No more than max_in_flight requests wait for replies, and that many do."""
        with self.writer(max_in_flight=3) as writer:
            for i in range(10):
                writer.send_values([b"%d" % i])
        self.assertEqual(max(channel.most_unread for channel in self.fake.channels), 3)

    def test_not_idempotent(self) -> None:
        """Without idempotence one request is under way at a time, and batches carry no producer id."""
        with self.writer(idempotent=False) as writer:
            for i in range(3):
                writer.send_values([b"%d" % i])
        self.assertEqual(max(channel.most_unread for channel in self.fake.channels), 1)
        self.assertEqual(self.produced(), [(-1, 1)] * 3)
        self.assertEqual(self.fake.sent(InitProducerIdRequest), [])

    def test_acks_0(self) -> None:
        """With acks=0 no reply is waited for."""
        with self.writer(acks=0) as writer:
            writer.send_values([b"a", b"b"])
        self.assertEqual(self.values(), [b"a", b"b"])
        self.assertEqual(writer.totals.records, 2)
        self.assertEqual(self.fake.sent(ProduceRequest)[0].acks, 0)

    def test_old_broker(self) -> None:
        """A broker before Kafka 0.11 gets message sets of the magic that its version asks for."""
        for version, magic in ((0, 0), (1, 0), (2, 1)):
            self.fake.versions[ProduceRequest] = version
            taken: list[bytes] = []
            self.patch(Log, "append", lambda log, data, taken=taken: (taken.append(data), (0, 0))[1])
            with self.writer(idempotent=False) as writer:
                writer.send(b"v", b"k")
            self.assertEqual(taken[0][16], magic)
            self.assertEqual([(r.key, r.value) for r in iter_any(taken[0])], [(b"k", b"v")])

    def test_no_producer_ids(self) -> None:
        """A broker without InitProducerId is written to without idempotence."""
        self.fake.faults[InitProducerIdRequest].append(ErrorCode.UNSUPPORTED_VERSION)
        with self.writer() as writer:
            writer.send(b"v")
        self.assertEqual(self.produced(), [(-1, 1)])

    def test_too_large(self) -> None:
        """A refusal names topic, partition and reason, and nothing can be sent after it."""
        self.fake.faults[ProduceRequest].append(ErrorCode.MESSAGE_TOO_LARGE)
        writer = self.writer()
        writer.send(b"x")
        error = self.assertRaises(ProduceFailed, writer.flush)
        self.assertEqual((error.code, error.topic, error.partition), (ErrorCode.MESSAGE_TOO_LARGE, "t", 0))
        self.assertIn("max.message.bytes", str(error))
        writer.send(b"y")
        self.assertIs(self.assertRaises(ProduceFailed, writer.close), error)
        self.assertEqual(len(self.fake.sent(ProduceRequest)), 1)

    def test_cut(self) -> None:
        """Batches that the topic refuses as too large are cut until they fit, in order, and counted once."""
        values = [b"%d" % i * 20 for i in range(500)]
        for idempotent in (True, False):
            self.fake.topics["t"] = [Log(max_bytes=1000)]
            with self.writer(batch_bytes=5000, idempotent=idempotent, compression="snappy") as writer:
                writer.send_values(values[:400])
                for value in values[400:]:
                    writer.send(value, timestamp_ms=7)
            self.assertEqual(self.values(), values)
            self.assertEqual(writer.totals.records, 500)
            self.assertEqual(writer.totals.bytes, sum(map(len, values)))
            self.assertEqual(self.fake.slept, [])

    def test_bad_topic(self) -> None:
        """A topic that cannot be is refused at once."""
        self.fake.auto_create = False
        error = self.assertRaises(RequestError, Writer, self.fake.client(retries=1), "x")
        self.assertEqual(error.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_left_by_an_error(self) -> None:
        """Leaving the context with an error sends nothing more."""

        def fail() -> None:
            with self.writer() as writer:
                writer.send(b"x")
                raise KeyError

        self.assertRaises(KeyError, fail)
        self.assertEqual(self.fake.sent(ProduceRequest), [])
