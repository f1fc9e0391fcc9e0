"""Produce: records that are written, and the errors of those that are refused."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.net.requests import Staged
from kafkatx.records.batch import Record, check, parse_header
from kafkatx.records.builder import BatchBuilder, build_values
from kafkatx.records.compression import Codec
from kafkatx.records.legacy import message_sets
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.running import NOW_MS, BrokerTestCase, codes, produce_request
from tests.broker.stored import in_memory


def message_set(magic: int, *values: bytes, codec: Codec = Codec.NONE) -> bytes:
    """Return messages of magic 0 or 1."""
    records = [Record(n, NOW_MS if magic else -1, None, value, []) for n, value in enumerate(values)]
    return message_sets.build(records, magic, codec, 0)


def batch(*values: bytes, codec: Codec = Codec.NONE, sequence: int = -1, epoch: int = 0) -> bytes:
    """Return a batch of magic 2, from producer 5 if it has a sequence."""
    if sequence < 0:
        return build_values(values, NOW_MS, codec)
    return build_values(values, NOW_MS, codec, 5, epoch, sequence)


class ProduceTests(BrokerTestCase):
    def setUp(self) -> None:
        """Make a topic."""
        super().setUp()
        self.make_topic("t", 2)

    def check_refused(self, records: bytes | None, version: int, code: ErrorCode) -> str | None:
        """Assert that the records are refused and not written; return the message."""
        before = self.stored()
        result = self.produce(records, version)
        self.assertEqual((ErrorCode.of(result.error_code), result.base_offset), (code, -1))
        self.assertEqual(self.stored(), before)
        return result.error_message

    def test_every_version(self) -> None:
        """Every version writes the magic that it supports, 0, 1 or 2, with consecutive base offsets."""
        for version in range(13):
            records = batch(b"a", b"b") if version >= 3 else message_set(version // 2, b"a", b"b")
            result = self.produce(records, version)
            self.assertEqual((result.error_code, result.base_offset), (0, 2 * version), version)
            self.assertEqual(result.log_append_time_ms, -1)
            self.assertEqual(result.log_start_offset, 0 if version >= 5 else -1)
        self.assertEqual(self.stored(), [b"a", b"b"] * 13)

    def test_every_acks(self) -> None:
        """Requests with acks=1 and acks=all are answered; one with acks=0 is written and not answered."""
        for acks in (1, -1):
            self.assertEqual(self.produce(batch(b"v"), acks=acks).error_code, 0)
        request = ProduceRequest(None, 0, 0, [TopicProduceData("t", [PartitionProduceData(0, batch(b"v"))])])
        self.assertIsNone(self.ask(0, 9, request))
        self.assertEqual(len(self.stored()), 3)

    def test_other_acks(self) -> None:
        """Any other number of acks is refused."""
        for acks in (2, -2, 32767):
            self.assertEqual(self.produce(batch(b"v"), acks=acks).error_code, ErrorCode.INVALID_REQUIRED_ACKS)
        self.assertEqual(self.stored(), [])

    def test_error_without_acks(self) -> None:
        """An error closes the connection with acks=0, since there is no reply."""
        for records, topic in ((batch(b"v"), "unknown"), (batch(b"v")[:-1] + b"?", "t")):
            with self.assertRaisesRegex(ProtocolViolation, f"acks=0 to partition 0 of '{topic}'"):
                self.produce(records, acks=0, topic=topic)
        self.assertEqual(self.stored(), [])

    def test_unknown(self) -> None:
        """An unknown topic or partition is refused, and not created."""
        for topic, partition in (("u", 0), ("t", 2), ("t", -1), ("../x", 0), ("", 0)):
            result = self.produce(batch(b"v"), topic=topic, partition=partition)
            self.assertEqual(result.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(list(self.broker.topics.partitions), ["t"])

    def test_one_error_is_of_one_partition(self) -> None:
        """Invalid records of one partition do not affect the other partitions of the request."""
        data = [PartitionProduceData(0, batch(b"v")[:-1] + b"?"), PartitionProduceData(1, batch(b"w"))]
        response = self.ask(0, 9, ProduceRequest(None, -1, 0, [TopicProduceData("t", data)]))
        results = response.responses[0].partition_responses
        self.assertEqual(codes(results), [ErrorCode.CORRUPT_MESSAGE, 0])
        self.assertEqual((self.stored(), self.stored(partition=1)), ([], [b"w"]))

    # --- invalid records

    def test_no_records(self) -> None:
        """Null and empty records are refused."""
        for records in (None, b""):
            self.check_refused(records, 9, ErrorCode.INVALID_RECORD)

    def test_exactly_one_batch(self) -> None:
        """Two batches and messages of an older magic are refused from version 3 on."""
        for records in (batch(b"a") + batch(b"b"), message_set(1, b"a"), message_set(0, b"a")):
            self.check_refused(records, 3, ErrorCode.INVALID_RECORD)

    def test_new_magic_in_an_old_version(self) -> None:
        """A batch of magic 2 is refused before version 3."""
        self.check_refused(batch(b"a"), 2, ErrorCode.INVALID_RECORD)

    def test_unknown_magic(self) -> None:
        """A magic that does not exist is refused."""
        records = bytearray(batch(b"a"))
        records[16] = 3
        self.check_refused(bytes(records), 9, ErrorCode.INVALID_RECORD)

    def test_wrong_crc(self) -> None:
        """A batch with a wrong CRC is refused, of every magic."""
        for version, records in (
            (9, batch(b"abc")),
            (2, message_set(1, b"abc")),
            (1, message_set(0, b"abc")),
        ):
            self.check_refused(records[:-1] + b"?", version, ErrorCode.CORRUPT_MESSAGE)

    def test_cut_off(self) -> None:
        """A truncated batch is refused, wherever it ends."""
        whole = batch(b"abc")
        for size in range(1, len(whole)):
            result = self.produce(whole[:size])
            self.assertIn(result.error_code, (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD), size)
        self.assertEqual(self.stored(), [])

    def test_too_large(self) -> None:
        """A batch above max.message.bytes is refused; one just below is not."""
        self.make_topic("small", max_message_bytes="200")
        result = self.produce(batch(b"v" * 200), topic="small")
        self.assertEqual(result.error_code, ErrorCode.MESSAGE_TOO_LARGE)
        self.assertEqual(self.produce(batch(b"v" * 130), topic="small").error_code, 0)

    def test_from_the_future(self) -> None:
        """A timestamp beyond message.timestamp.after.max.ms is refused."""
        late = build_values([b"v"], NOW_MS + 3_600_001)
        self.check_refused(late, 9, ErrorCode.INVALID_TIMESTAMP)
        self.assertEqual(self.produce(build_values([b"v"], NOW_MS + 3_600_000)).error_code, 0)

    def test_zstd_needs_version_7(self) -> None:
        """A zstd batch is refused before version 7."""
        for version in (3, 6):
            self.check_refused(batch(b"v", codec=Codec.ZSTD), version, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        self.assertEqual(self.produce(batch(b"v", codec=Codec.ZSTD), 7).error_code, 0)
        self.assertEqual(self.produce(batch(b"v", codec=Codec.LZ4), 3).error_code, 0)

    def test_null_key_in_a_compacted_topic(self) -> None:
        """A record without a key is refused in a compacted topic, and is named from version 8 on."""
        self.make_topic("compacted", cleanup_policy="compact")
        builder = BatchBuilder()
        for key in (b"k", None, b"l", None):
            builder.append(key, b"v", NOW_MS)
        for version in (7, 8, 9):
            result = self.produce(builder.build(), version, topic="compacted")
            self.assertEqual(result.error_code, ErrorCode.INVALID_RECORD)
            at_fault = [error.batch_index for error in result.record_errors]
            self.assertEqual(at_fault, [1, 3] if version >= 8 else [])
            self.assertEqual(result.error_message is None, version < 8)
        self.assertEqual(self.stored("compacted"), [])

    def test_internal_topic(self) -> None:
        """Clients cannot write to internal topics, not even records with keys."""
        self.successResultOf(self.broker.groups.topic.ensure())
        builder = BatchBuilder()
        builder.append(b"k", b"v", NOW_MS)
        result = self.produce(builder.build(), topic=CONSUMER_OFFSETS)
        self.assertEqual((result.error_code, result.base_offset), (ErrorCode.INVALID_TOPIC_EXCEPTION, -1))
        self.assertEqual(self.stored(CONSUMER_OFFSETS), [])

    # --- fields set by the broker

    def test_log_append_time(self) -> None:
        """LogAppendTime sets the broker's time and the CRC in the batch, and is returned to the producer."""
        (partition,) = self.make_topic("stamped", message_timestamp_type="LogAppendTime")
        self.now_ms = NOW_MS + 5
        result = self.produce(batch(b"v"), topic="stamped")
        self.assertEqual((result.error_code, result.log_append_time_ms), (0, NOW_MS + 5))
        stored = in_memory(partition.log.read(0, 1 << 20, 1, True))
        header = parse_header(stored)
        check(stored, 0, header)
        self.assertTrue(header.log_append_time)
        self.assertEqual(header.max_timestamp, NOW_MS + 5)

    def test_leader_epoch(self) -> None:
        """Each batch is stored with the leader epoch in which it was written."""
        partition = self.broker.topics.of("t")[0]
        partition.leader_epoch = 7
        self.produce(batch(b"v"))
        stored = in_memory(partition.log.read(0, 1 << 20, 1, True))
        self.assertEqual(parse_header(stored).partition_leader_epoch, 7)

    # --- idempotence

    def test_duplicate(self) -> None:
        """A duplicate of any of a producer's last five batches gets its first offset and is not written."""
        for sequence in range(6):
            self.assertEqual(self.produce(batch(b"v", sequence=sequence)).base_offset, sequence)
        for sequence in range(1, 6):
            again = self.produce(batch(b"v", sequence=sequence))
            self.assertEqual((again.error_code, again.base_offset), (0, sequence))
        self.assertEqual(len(self.stored()), 6)

    def test_duplicate_in_one_round(self) -> None:
        """A duplicate within one read is written once, and both get its offset."""
        frame = self.frame(0, 9, produce_request(batch(b"v", sequence=0)))
        staged: list[Any] = [self.dispatch.answer(frame, self.peer) for _ in range(2)]
        failed = self.broker.write_staged()
        responses = [self.response(0, 9, answer.finish(failed)) for answer in staged]
        results = [response.responses[0].partition_responses[0] for response in responses]
        self.assertEqual([(r.error_code, r.base_offset) for r in results], [(0, 0), (0, 0)])
        self.assertEqual(self.stored(), [b"v"])

    def test_partition_twice(self) -> None:
        """A request in which a partition occurs twice stores nothing, since there is one answer for both."""
        self.make_topic("u", 2)
        data = [PartitionProduceData(n, batch(b"v")) for n in (0, 1, 0)]
        topics = [TopicProduceData("u", data), TopicProduceData("t", [data[0]])]
        response = self.ask(0, 9, ProduceRequest(None, -1, 0, topics))
        results = [r for topic in response.responses for r in topic.partition_responses]
        self.assertEqual(codes(results), [ErrorCode.INVALID_REQUEST] * 3)
        self.assertEqual(results[0].error_message, "the partition appears twice in the request")
        self.assertEqual((self.stored(), self.stored("u"), self.broker.replicas.staged), ([], [], {}))

    def test_gap(self) -> None:
        """A sequence number that leaves a gap is refused."""
        self.produce(batch(b"v", sequence=0))
        self.check_refused(batch(b"v", sequence=2), 9, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def test_old_epoch(self) -> None:
        """An epoch below the producer's latest is refused."""
        self.produce(batch(b"v", sequence=0, epoch=1))
        self.check_refused(batch(b"v", sequence=1, epoch=0), 9, ErrorCode.INVALID_PRODUCER_EPOCH)

    # --- durability

    def test_min_insync_replicas(self) -> None:
        """A partition with one replica counts min.insync.replicas as 1, as in Apache Kafka."""
        self.make_topic("careful", min_insync_replicas="2")
        self.assertEqual(self.produce(batch(b"v"), topic="careful").error_code, 0)

    def flush_by_hand(self) -> Deferred[int]:
        """Make a topic with flush.messages=2 whose log the test flushes; return the flush's Deferred."""
        (partition,) = self.make_topic("flushed", flush_messages="2")
        flushing: Deferred[int] = Deferred()
        log = partition.log
        self.patch(type(log), "flushed_offset", property(lambda log: 0))
        self.patch(log, "flush", lambda: flushing)
        return flushing

    def test_flush_messages(self) -> None:
        """The reply waits for the disk once flush.messages records are unflushed, and not before."""
        flushing = self.flush_by_hand()
        self.assertEqual(self.produce(batch(b"v"), topic="flushed").error_code, 0)
        waiting = self.answer(0, 9, produce_request(batch(b"w"), topic="flushed"))
        self.assertNoResult(waiting)
        flushing.callback(2)
        response = self.response(0, 9, self.successResultOf(waiting))
        self.assertEqual(codes(response.responses[0].partition_responses), [0])

    def test_flush_that_fails(self) -> None:
        """Records whose flush failed are not acknowledged."""
        flushing = self.flush_by_hand()
        waiting = self.answer(0, 9, produce_request(batch(b"v", b"w"), topic="flushed"))
        flushing.errback(OSError(errno.EIO, "Input/output error"))
        response = self.response(0, 9, self.successResultOf(waiting))
        (result,) = response.responses[0].partition_responses
        self.assertEqual((result.error_code, result.base_offset), (ErrorCode.KAFKA_STORAGE_ERROR, -1))

    # --- failing disks

    def fail_write(self) -> None:
        """Make the next write to partition 0 fail."""
        log = self.broker.topics.of("t")[0].log

        def write() -> None:
            log.truncate_to(log.log_end_offset)  # drops the staged records, as a failing write() does
            patched.restore()
            raise OSError(errno.ENOSPC, "No space left on device")

        patched = self.patch(log, "write", write)

    def test_failed_write(self) -> None:
        """A failed write is not acknowledged and stores nothing; sending the records again succeeds."""
        self.fail_write()
        data = [PartitionProduceData(n, batch(b"v", sequence=0)) for n in range(2)]
        request = ProduceRequest(None, -1, 0, [TopicProduceData("t", data)])
        results = self.ask(0, 9, request).responses[0].partition_responses
        self.assertEqual(codes(results), [ErrorCode.KAFKA_STORAGE_ERROR, 0])
        self.assertEqual([r.base_offset for r in results], [-1, 0])
        self.assertEqual(results[0].error_message, "No space left on device")
        self.assertEqual((self.stored(), self.stored(partition=1)), ([], [b"v"]))
        again = self.ask(0, 9, request).responses[0].partition_responses
        self.assertEqual([(r.error_code, r.base_offset) for r in again], [(0, 0), (0, 0)])

    def test_failed_write_of_one(self) -> None:
        """A request for one partition is not acknowledged either if the write fails."""
        self.fail_write()
        result = self.produce(batch(b"v"))
        self.assertEqual((result.error_code, result.base_offset), (ErrorCode.KAFKA_STORAGE_ERROR, -1))
        self.assertEqual(self.stored(), [])

    def test_offline_meanwhile(self) -> None:
        """Records in a log dir that failed with another log's write are not acknowledged."""
        answer = self.dispatch.answer(self.frame(0, 9, produce_request(batch(b"v"))), self.peer)
        assert isinstance(answer, Staged)
        self.broker.topics.of("t")[0].go_offline()
        finished = answer.finish({})
        assert isinstance(finished, list)
        response = self.response(0, 9, finished)
        self.assertEqual(codes(response.responses[0].partition_responses), [ErrorCode.KAFKA_STORAGE_ERROR])

    def test_failed_write_without_acks(self) -> None:
        """A failed write closes the connection with acks=0."""
        self.fail_write()
        with self.assertRaisesRegex(ProtocolViolation, "KAFKA_STORAGE_ERROR No space left"):
            self.produce(batch(b"v"), acks=0)
        self.flushLoggedErrors()
