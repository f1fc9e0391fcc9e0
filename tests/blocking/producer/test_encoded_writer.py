"""Tests of kafkatx.blocking.producer.encoded_writer."""

from __future__ import annotations

import json
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.encoded_writer import EncodedWriter
from kafkatx.clientcore.errors import ConnectionFailed, ProduceFailed
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.builder import encode_values
from kafkatx.records.compression import Codec
from kafkatx.records.header import HEADER_BYTES
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.produce import ProduceRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST, FakeCluster, Log


class EncodedWriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two topics, one of them with two partitions."""
        self.fake = FakeCluster({"t": [Log(), Log()], "u": [Log()]})

    def writer(self, **settings: str) -> EncodedWriter:
        """A writer with a fixed clock; settings with ``_`` for ``.``."""
        values = {"bootstrap.servers": "broker1:9092", **settings}
        made = ClientSettings.load("producer", values)
        return EncodedWriter(self.fake.client(retries=2), made, clock=lambda: 12.3456)

    def send(self, writer: EncodedWriter, topic: str, partition: int, *values: bytes) -> None:
        """Send one batch of values."""
        to = TopicPartition(topic, partition)
        writer.send(to, memoryview(encode_values(values)), len(values), sum(map(len, values)))

    def log(self, topic: str, partition: int = 0) -> list[Any]:
        """(offset, timestamp, value) of all that is in a log."""
        return [
            (record.offset, record.timestamp, record.value)
            for data in self.fake.topics[topic][partition].batches
            for record in iter_records(memoryview(data))
        ]

    def test_several_topics(self) -> None:
        """Batches arrive where they were sent, with the time at which they were; all are counted."""
        with self.writer() as writer:
            self.assertEqual((writer.partitions("t"), writer.partitions("u")), (2, 1))
            self.send(writer, "t", 1, b"a", b"b")
            self.send(writer, "u", 0, b"c")
            self.send(writer, "t", 1, b"d")
        expected = [(0, 12345, b"a"), (1, 12345, b"b"), (2, 12345, b"d")]
        self.assertEqual((self.log("t", 1), self.log("u"), self.log("t")), (expected, [(0, 12345, b"c")], []))
        self.assertEqual((writer.totals.records, writer.totals.bytes), (4, 4))

    def test_settings(self) -> None:
        """acks, compression and idempotence are the producer's settings."""
        with self.writer(acks="1", compression_type="zstd") as writer:
            self.send(writer, "t", 0, b"x" * 1000)
        (request,) = self.fake.sent(ProduceRequest)
        self.assertEqual((request.acks, self.fake.sent(InitProducerIdRequest)), (1, []))
        header = parse_header(self.fake.topics["t"][0].batches[0])
        self.assertEqual((header.codec, header.producer_id), (Codec.ZSTD, -1))

    def test_audit(self) -> None:
        """With audit.interval.ms what got into each topic is announced at the end."""
        with self.writer(audit_interval_ms="1000", audit_topic="a") as writer:
            self.send(writer, "t", 0, b"1", b"2")
            self.send(writer, "u", 0, b"3")
        events = [json.loads(value) for _, _, value in self.log("a")]
        self.assertEqual({event["topic"]: event["count"] for event in events}, {"t": 2, "u": 1})

    def test_replies_lost(self) -> None:
        """Batches that are sent again are not duplicated: the broker knows the producer id and epoch."""
        self.fake.faults[ProduceRequest].extend([LOSE_REPLY, LOSE_REQUEST])
        with self.writer() as writer:
            for number in range(5):
                self.send(writer, "t", 0, b"%d" % number)
        self.assertEqual([value for _, _, value in self.log("t")], [b"%d" % n for n in range(5)])
        self.assertEqual(len(self.fake.sent(InitProducerIdRequest)), 1)

    def test_without_identities(self) -> None:
        """A broker that has no producer ids is written to one request at a time."""
        self.fake.faults[InitProducerIdRequest].append(ErrorCode.UNSUPPORTED_VERSION)
        self.fake.faults[ProduceRequest].append(LOSE_REQUEST)
        with self.writer() as writer:
            for number in range(5):
                self.send(writer, "t", 0, b"%d" % number)
        self.assertEqual([value for _, _, value in self.log("t")], [b"%d" % n for n in range(5)])

    def test_refused(self) -> None:
        """A refused batch is an error with topic, partition and cause; nothing can be sent after it."""
        self.fake.faults[ProduceRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        writer = self.writer()
        self.send(writer, "t", 1, b"a")
        error = self.assertRaises(ProduceFailed, writer.flush)
        self.assertEqual((error.topic, error.partition), ("t", 1))
        self.assertEqual(error.code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.assertRaises(ProduceFailed, self.send, writer, "t", 0, b"b")
        self.assertRaises(ProduceFailed, writer.close)
        self.assertEqual(self.log("t"), [])

    def test_too_large_a_batch(self) -> None:
        """A batch that the topic does not take is cut, and the next ones are to be smaller."""
        self.fake.topics["t"][0].max_bytes = 400
        with self.writer(batch_size="1000") as writer:
            self.assertEqual(writer.max_bytes(), 1000 - HEADER_BYTES)
            self.send(writer, "t", 0, *[b"x" * 100] * 8)
            writer.flush()
            self.assertLessEqual(writer.max_bytes(), 600)
        self.assertEqual(len(self.log("t")), 8)

    def test_broker_away(self) -> None:
        """A broker that comes back before max.block.ms, or delivery.timeout.ms, is over is waited for."""
        self.fake.down.add(1)
        self.back_at = 1020.0
        self.fake.on_sleep = self.come_back
        with self.writer() as writer:
            self.send(writer, "t", 0, b"a")
            writer.flush()
            self.go_away(60.0)
            self.send(writer, "t", 0, b"b")
            writer.flush()
            self.go_away(20.0)
            self.assertEqual(writer.partitions("u"), 1)
        self.assertEqual([value for _, _, value in self.log("t")], [b"a", b"b"])

    def go_away(self, seconds: float) -> None:
        """The broker is gone, and so are its connections."""
        for channel in self.fake.channels:
            channel.close()
        self.fake.down.add(1)
        self.back_at = self.fake.now + seconds

    def come_back(self) -> None:
        """The broker is there again when its time has come."""
        if self.fake.now >= self.back_at:
            self.fake.down.clear()

    def test_broker_stays_away(self) -> None:
        """After max.block.ms there is an error that names the broker."""
        self.fake.down.add(1)
        error = self.assertRaises(ConnectionFailed, self.writer, max_block_ms="5000")
        self.assertIn("broker1:9092", str(error))
        self.assertLessEqual(sum(self.fake.slept), 5.0)
        self.assertGreater(sum(self.fake.slept), 3.0)

    def test_topic_that_grows(self) -> None:
        """The number of partitions is remembered, and asked for again if more are wanted."""
        with self.writer() as writer:
            self.assertEqual(writer.partitions("u"), 1)
            self.fake.topics["u"].append(Log())
            asked = len(self.fake.sent(MetadataRequest))
            self.assertEqual(writer.partitions("u"), 1)
            self.assertEqual(len(self.fake.sent(MetadataRequest)), asked)
            self.assertEqual(writer.partitions("u", at_least=2), 2)

    def test_no_such_topic(self) -> None:
        """A topic is created if the broker creates topics; otherwise it is an error at once."""
        with self.writer() as writer:
            self.assertEqual(writer.partitions("new"), 1)
            self.fake.auto_create = False
            self.assertIn("'newer'", str(self.assertRaises(RequestError, writer.partitions, "newer")))
        self.assertLess(sum(self.fake.slept), 1.0)

    def test_error_inside(self) -> None:
        """Leaving with an error sends nothing more and closes the connections."""
        writer = self.writer()
        with self.assertRaises(ZeroDivisionError), writer:
            self.send(writer, "t", 0, b"a")
            raise ZeroDivisionError
        self.assertEqual((writer.totals.records, self.fake.sent(ProduceRequest)[1:]), (0, []))
