"""Tests of kafkatx.spark.sink.task, against a cluster in memory."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.sender import WriteTotals
from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.partitioners import murmur2
from kafkatx.records.batch import iter_records
from kafkatx.spark.sink import task as writing
from kafkatx.spark.sink.encoder import BadRow
from kafkatx.spark.sink.options import parse_sink
from kafkatx.spark.sink.schema import SinkColumns
from kafkatx.wire.messages.produce import ProduceRequest
from tests.blocking.fakes import LOSE_REQUEST, FakeCluster, Log

COLUMNS = SinkColumns(value=0, key=1, partition=2, topic=3)


def batch(count: int, value: bytes = b"", **columns: Any) -> Any:
    """A batch whose values are numbered."""
    given = {"key": None, "partition": None, "topic": "t", **columns}
    types = {"key": pa.binary(), "partition": pa.int32(), "topic": pa.string()}
    arrays = [pa.array([b"%d" % n + value for n in range(count)], pa.binary())]
    arrays += [pa.array([given[name]] * count, dtype) for name, dtype in types.items()]
    return pa.RecordBatch.from_arrays(arrays, names=["value", *types])


class WriteTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two topics."""
        self.fake = FakeCluster({"t": [Log(), Log()], "u": [Log()]})
        self.patch(writing, "connect", lambda settings: self.fake.client())

    def write(self, batches: Iterable[Any], columns: SinkColumns = COLUMNS, **options: str) -> WriteTotals:
        """Write as a task does; options with ``_`` for ``.``."""
        named = {name.replace("_", "."): value for name, value in options.items()}
        return writing.write(parse_sink({"kafka.bootstrap.servers": "x:1", **named}), columns, batches)

    def records(self, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
        """(partition, key, value) of all that is in a topic."""
        return [
            (number, record.key, record.value)
            for number, log in enumerate(self.fake.topics[topic])
            for data in log.batches
            for record in iter_records(memoryview(data))
        ]

    def test_by_key(self) -> None:
        """Rows with a key go where Java's producer sends them."""
        keys = [b"a", b"b", b"c", b"d"]
        written = self.write(batch(2, key=key) for key in keys)
        expected = [(murmur2(key) % (1 << 31) % 2, key, value) for key in keys for value in (b"0", b"1")]
        self.assertEqual(sorted(self.records("t")), sorted(expected))
        self.assertEqual((written.records, written.bytes), (8, 16))

    def test_by_column(self) -> None:
        """Topic and partition are those of the columns."""
        self.write([batch(1, partition=1), batch(2, topic="u")])
        self.assertEqual(self.records("t"), [(1, None, b"0")])
        self.assertEqual(self.records("u"), [(0, None, b"0"), (0, None, b"1")])

    def test_option_before_column(self) -> None:
        """The option topic is that of all rows."""
        self.write([batch(1)], SinkColumns(value=0), topic="u")
        self.assertEqual((self.records("t"), self.records("u")), ([], [(0, None, b"0")]))

    def test_server(self) -> None:
        """kafka.audit.server.header gives each record a header with the worker's name, or another."""
        for given, told in (("", platform.node()), ("worker-1", "worker-1")):
            self.write(
                [batch(2, topic="u")],
                kafka_audit_server_header="server",
                kafka_audit_server=given,
                kafka_enable_idempotence="false",
            )
            self.assertEqual(self.headers(), [[("server", told.encode())]] * 2)
        self.write([batch(1, topic="u")], kafka_enable_idempotence="false")
        self.assertEqual(self.headers(), [[]])

    def headers(self) -> list[list[tuple[str, bytes | None]]]:
        """The headers of the records of the last batch."""
        data = self.fake.topics["u"][0].batches[-1]
        return [list(record.headers) for record in iter_records(memoryview(data))]

    def test_gathered(self) -> None:
        """Small batches of Spark's become large ones of Kafka's, as long as there is room for them."""
        self.patch(writing, "GATHER_BYTES", 10_000)
        self.write([batch(10, b"x" * 90, partition=0) for _ in range(20)])
        self.assertEqual(len(self.records("t")), 200)
        self.assertLessEqual(len(self.fake.sent(ProduceRequest)), 3)
        self.assertGreater(len(self.fake.sent(ProduceRequest)), 1)

    def test_large_batches_of_spark(self) -> None:
        """A batch of Spark's that is larger than what is gathered is taken in pieces."""
        self.patch(writing, "GATHER_BYTES", 1000)
        sizes: list[int] = []
        add = writing.Task.add

        def seen(task: writing.Task, topic: str, rows: Any) -> None:
            sizes.append(rows.num_rows)
            add(task, topic, rows)

        self.patch(writing.Task, "add", seen)
        self.write([batch(100, b"x" * 90, partition=0)])
        self.assertEqual((sum(sizes), max(sizes) < 12), (100, True))
        self.assertEqual([int((value or b"")[:-90]) for _, _, value in self.records("t")], list(range(100)))

    def test_batch_size(self) -> None:
        """kafka.batch.size is heeded."""
        self.write([batch(100, b"x" * 90, partition=0)], kafka_batch_size="1000")
        self.assertEqual(len(self.fake.sent(ProduceRequest)), 13)

    def test_buffer_memory(self) -> None:
        """kafka.buffer.memory says how much may be gathered."""
        self.write([batch(10, b"x" * 90, partition=0)] * 3, kafka_buffer_memory="500")
        self.assertEqual(len(self.fake.sent(ProduceRequest)), 3)

    def test_nothing(self) -> None:
        """A task without rows connects to no broker."""
        self.assertEqual(self.write([batch(0)]), WriteTotals())
        self.assertEqual(self.fake.channels, [])

    def test_no_such_partition(self) -> None:
        """A partition that the topic does not have is an error that names both, and so is a negative one."""
        error = self.assertRaises(ProduceFailed, self.write, [batch(1, partition=2)])
        self.assertEqual((error.code, error.topic, error.partition), (ErrorCode.INVALID_PARTITIONS, "t", 2))
        self.assertIn("the topic has 0 to 1", str(error))
        self.assertRaises(BadRow, self.write, [batch(1, partition=-1)])
        self.assertEqual(self.records("t"), [])

    def test_too_large(self) -> None:
        """A row above kafka.max.request.size is an error that says so."""
        large = batch(1, b"x" * 3000)
        error = self.assertRaises(RequestError, self.write, [large], kafka_max_request_size="2000")
        self.assertEqual(error.code, ErrorCode.MESSAGE_TOO_LARGE)
        self.assertIn("t: a record of up to 3025 bytes is above kafka.max.request.size", str(error))

    def test_failed_delivery(self) -> None:
        """A failed delivery fails the task, with topic, partition and cause."""
        self.fake.faults[ProduceRequest].append(ErrorCode.POLICY_VIOLATION)
        error = self.assertRaises(ProduceFailed, self.write, [batch(1, partition=1)])
        self.assertIn("t [1]: policy violation", str(error))

    def test_lost_requests(self) -> None:
        """A request that was lost is sent again, once."""
        self.fake.faults[ProduceRequest].extend([LOSE_REQUEST, None, LOSE_REQUEST])
        self.write([batch(1000, partition=0)], kafka_batch_size="1000")
        self.assertEqual([value for _, _, value in self.records("t")], [b"%d" % n for n in range(1000)])

    def test_ignore_keys(self) -> None:
        """kafka.partitioner.ignore.keys spreads rows over partitions whatever their keys."""
        self.write([batch(100, key=b"k")], kafka_partitioner_ignore_keys="true", kafka_batch_size="1000")
        self.assertEqual({partition for partition, _, _ in self.records("t")}, {0, 1})


class ConnectTests(SynchronousTestCase):
    def test_settings(self) -> None:
        """Time limits and pauses are those of the options."""
        options = {"kafka.bootstrap.servers": "h:1", "kafka.request.timeout.ms": "5000"}
        settings = parse_sink({**options, "kafka.retry.backoff.ms": "7"}).settings()
        cluster = writing.connect(settings)
        self.addCleanup(cluster.close)
        self.assertEqual((cluster.timeout_s, cluster.backoff.first_ms), (5.0, 7))
