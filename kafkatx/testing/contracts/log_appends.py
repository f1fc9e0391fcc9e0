"""The contract of a log's appends: offsets, validation, formats, and idempotent producers."""

from __future__ import annotations

import uuid
from typing import Any

import attrs

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IAppended, IPartitionLog
from kafkatx.records.batch import HEADER_BYTES, Record, parse_header
from kafkatx.records.builder import assemble
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import iter_any
from kafkatx.records.legacy.message_sets import build as build_set
from kafkatx.testing.contracts.store_case import ALL, NOW_MS, TP, StoreCase, batch, bytes_of
from kafkatx.types import ActiveProducer


class AppendContract(StoreCase):
    """The contract of appends; a part of ``PartitionLogContract``."""

    def make_log(self, **settings: Any) -> Any:
        """Return an empty log with these settings."""
        config = attrs.evolve(LogConfig(), **settings)
        return self.result(self.opened(config).create(TP, uuid.uuid4(), config))

    def refused(
        self, log: IPartitionLog, records: bytes, one_batch: bool = True, now_ms: int = NOW_MS
    ) -> IAppended:
        """Append what must be refused: nothing is staged, and nothing was written."""
        before = log.log_end_offset
        appended = log.append(memoryview(records), 0, now_ms, one_batch)
        self.assertNotEqual(appended.error, 0)
        self.assertEqual((appended.base_offset, appended.last_offset), (-1, -1))
        log.write()
        self.assertEqual(log.log_end_offset, before)
        return appended

    # --- appending

    def test_offsets_are_dense(self) -> None:
        """Check that each batch gets the offsets after the one before it, also within one write."""
        log = self.make_log()
        first, second = self.put(log, batch([b"a", b"b"]), batch([b"c"]))
        (third,) = self.put(log, batch([b"d", b"e", b"f"]))
        self.assertEqual(
            [(one.base_offset, one.last_offset) for one in (first, second, third)], [(0, 1), (2, 2), (3, 5)]
        )
        self.assertEqual(self.content(log), list(enumerate([b"a", b"b", b"c", b"d", b"e", b"f"])))

    def test_written_is_counted(self) -> None:
        """Check that writes count what they have written, and not what was discarded."""
        log = self.make_log()
        self.put(log, batch([b"a", b"b"]), batch([b"c"]))
        self.put(log, batch([b"d"]))
        log.append(batch([b"dropped"]), 0, NOW_MS, True)
        log.discard()
        counts = log.written
        self.assertEqual((counts.writes, counts.batches, counts.records), (2, 3, 4))
        self.assertEqual((counts.bytes, counts.followed_bytes), (log.size_bytes, 0))
        followed = batch([b"e", b"f"])
        followed = log.log_end_offset.to_bytes(8, "big") + followed[8:12] + bytes(4) + followed[16:]
        log.append_as_follower(followed, 0)
        log.write()
        self.assertEqual((counts.followed_batches, counts.followed_records), (1, 2))
        self.assertEqual((counts.records, counts.followed_bytes), (6, len(followed)))

    def test_staged_is_invisible(self) -> None:
        """Check that before write() an append can neither be read nor seen in the log's end."""
        log = self.make_log()
        log.append(batch([b"a"]), 0, NOW_MS, True)
        self.assertEqual(log.log_end_offset, 0)
        self.assertEqual(len(log.read(0, ALL, 100, True)), 0)
        log.write()
        log.write()
        self.assertEqual(log.log_end_offset, 1)
        self.assertEqual(self.content(log), [(0, b"a")])

    def test_discard(self) -> None:
        """Check that discarded records leave nothing: neither offsets nor the state of their producer."""
        log = self.make_log()
        self.put(log, batch([b"a"], producer=(4, 0, 0)))
        for records in (batch([b"b"]), batch([b"c"], producer=(4, 0, 1))):
            self.assertEqual(log.append(records, 3, NOW_MS, True).error, 0)
        log.discard()
        log.write()
        self.assertEqual((log.log_end_offset, log.epoch_at(1)), (1, 0))
        (again,) = self.put(log, batch([b"d"], producer=(4, 0, 1)))
        self.assertEqual(again.base_offset, 1)
        self.assertEqual(self.content(log), [(0, b"a"), (1, b"d")])

    def test_stored_as_it_came(self) -> None:
        """Only base offset and leader epoch of a batch differ from what the producer sent."""
        log = self.make_log()
        sent = batch([b"a" * 100, b"b"], codec=Codec.GZIP)
        self.put(log, batch([b"x"]), leader_epoch=7)
        self.put(log, sent, leader_epoch=9)
        stored = bytes_of(log.read(1, ALL, 3, True))
        header = parse_header(stored)
        self.assertEqual((header.base_offset, header.partition_leader_epoch), (1, 9))
        self.assertEqual((stored[8:12], stored[16:]), (sent[8:12], sent[16:]))
        self.assertEqual(log.size_bytes, len(stored) + len(batch([b"x"])))

    def test_bytes_and_memoryview(self) -> None:
        """Records may be bytes or a view of a larger buffer."""
        log = self.make_log()
        one = batch([b"a"])
        self.assertEqual(log.append(one, 0, NOW_MS, True).error, 0)
        self.assertEqual(log.append(memoryview(b"??" + one)[2:], 0, NOW_MS, True).error, 0)
        log.write()
        self.assertEqual(self.content(log), [(0, b"a"), (1, b"a")])

    def test_corrupt(self) -> None:
        """Check that a batch with a wrong checksum or length is CORRUPT_MESSAGE."""
        log = self.make_log()
        good = batch([b"value"])
        for damaged in (good[:-1] + b"?", good[:-1], good[:70], good[:40], good[:8] + bytes(4) + good[12:]):
            self.assertEqual(self.refused(log, damaged).error, ErrorCode.CORRUPT_MESSAGE)

    def test_not_one_batch(self) -> None:
        """Check that no batch, two batches or a magic other than 2 is INVALID_RECORD where one of magic 2 is
        expected.
        """
        log = self.make_log()
        old = build_set([Record(0, NOW_MS, b"k", b"v", [])], 1)
        for wrong in (b"", batch([b"a"]) * 2, batch([b"a"]) + b"?", old):
            self.assertEqual(self.refused(log, wrong).error, ErrorCode.INVALID_RECORD)

    def test_impossible_headers(self) -> None:
        """Counts that cannot be, control batches and a producer id without sequence: INVALID_RECORD."""
        log = self.make_log()
        good = batch([b"abc"])
        payload = good[HEADER_BYTES:]
        for wrong in (
            assemble(payload, 0, 0, NOW_MS, NOW_MS),
            assemble(payload, 2, 0, NOW_MS, NOW_MS),
            assemble(payload, 1, 0, NOW_MS, NOW_MS, last_offset_delta=5),
            assemble(payload, 1, 0x20, NOW_MS, NOW_MS),
            assemble(payload, 1, 0, NOW_MS, NOW_MS, producer_id=3, producer_epoch=0),
        ):
            self.assertEqual(self.refused(log, wrong).error, ErrorCode.INVALID_RECORD)

    def test_transactional(self) -> None:
        """Check that a transactional batch is refused as long as there are no transactions."""
        payload = batch([b"abc"])[HEADER_BYTES:]
        wrong = assemble(payload, 1, 0x10, NOW_MS, NOW_MS, 3, 0, 0)
        self.assertEqual(self.refused(self.make_log(), wrong).error, ErrorCode.INVALID_TXN_STATE)

    def test_unknown_codec(self) -> None:
        """Check that an unknown codec number is UNSUPPORTED_COMPRESSION_TYPE."""
        wrong = assemble(b"12345678", 1, 6, NOW_MS, NOW_MS)
        self.assertEqual(self.refused(self.make_log(), wrong).error, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

    def test_too_large(self) -> None:
        """max.message.bytes is the most that a batch may have, its header included."""
        sent = batch([b"x" * 100])
        log = self.make_log(max_message_bytes=len(sent))
        self.put(log, sent)
        appended = self.refused(log, batch([b"x" * 101]))
        self.assertEqual(appended.error, ErrorCode.MESSAGE_TOO_LARGE)
        self.assertIn("max.message.bytes", appended.message)
        log.configure(attrs.evolve(log.config, max_message_bytes=10))
        self.assertEqual(self.refused(log, sent).error, ErrorCode.MESSAGE_TOO_LARGE)

    def test_timestamps(self) -> None:
        """Check that a time too far from now, or one that only a broker may set, is INVALID_TIMESTAMP."""
        log = self.make_log(message_timestamp_after_max_ms=10, message_timestamp_before_max_ms=20)
        self.put(log, batch([b"a", b"b"], [NOW_MS - 20, NOW_MS + 10]), batch([b"c"], [-1]))
        for wrong in (
            batch([b"a"], [NOW_MS + 11]),
            batch([b"a"], [NOW_MS - 21]),
            assemble(batch([b"abc"])[HEADER_BYTES:], 1, 8, NOW_MS, NOW_MS),
        ):
            self.assertEqual(self.refused(log, wrong).error, ErrorCode.INVALID_TIMESTAMP)

    def test_log_append_time(self) -> None:
        """LogAppendTime: the broker's time in the reply and in every record, under a right checksum."""
        log = self.make_log(message_timestamp_type="LogAppendTime")
        (appended,) = self.put(log, batch([b"a", b"b"], [5, 6]))
        self.assertEqual(appended.log_append_time_ms, NOW_MS)
        stored = list(iter_any(bytes_of(log.read(0, ALL, 2, True)), check=True))
        self.assertEqual([one.timestamp for one in stored], [NOW_MS, NOW_MS])
        (created,) = self.put(self.make_log(), batch([b"a"]))
        self.assertEqual(created.log_append_time_ms, -1)

    def test_compacted_needs_keys(self) -> None:
        """Check that a compacted topic refuses a batch with a null key and names the records at fault."""
        log = self.make_log(cleanup_policy=frozenset({"compact"}))
        self.put(log, batch([b"a"], key=b"k"))
        appended = self.refused(log, batch([b"a", b"b"]))
        self.assertEqual(appended.error, ErrorCode.INVALID_RECORD)
        self.assertEqual([index for index, _ in appended.record_errors], [0, 1])

    def test_topic_compression(self) -> None:
        """Check that batches of another codec are stored in the codec that the topic names."""
        for name, codec in (("gzip", Codec.GZIP), ("uncompressed", Codec.NONE)):
            log = self.make_log(compression_type=name)
            self.put(log, batch([b"a" * 50], codec=Codec.LZ4), batch([b"b"], codec=codec))
            self.assertEqual(parse_header(bytes_of(log.read(0, ALL, 2, True))).codec, codec)
            self.assertEqual(self.content(log), [(0, b"a" * 50), (1, b"b")])

    def test_old_formats(self) -> None:
        """Message sets of magic 0 and 1, compressed or not, get offsets and can be read back."""
        log = self.make_log()
        records = [Record(0, NOW_MS, None, value, []) for value in (b"a", b"b", b"c")]
        at = 0
        for magic in (0, 1):
            for codec in (Codec.NONE, Codec.GZIP):
                (appended,) = self.put(log, build_set(records, magic, codec, 0), one_batch=False)
                self.assertEqual((appended.base_offset, appended.last_offset), (at, at + 2))
                at += 3
        self.assertEqual(self.content(log), list(enumerate([b"a", b"b", b"c"] * 4)))
        self.assertEqual(self.content(log, 4)[0], (4, b"b"))

    def test_old_formats_refused(self) -> None:
        """Check that a message set is refused if it is garbled, too large, or has a null key on a compacted
        topic.
        """
        good = build_set([Record(0, NOW_MS, None, b"value", [])], 1)
        log = self.make_log(max_message_bytes=len(good))
        self.put(log, good, one_batch=False)
        self.assertEqual(self.refused(log, good[:-1] + b"?", False).error, ErrorCode.CORRUPT_MESSAGE)
        large = build_set([Record(0, NOW_MS, None, b"value?", [])], 1)
        self.assertEqual(self.refused(log, large, False).error, ErrorCode.MESSAGE_TOO_LARGE)
        self.assertEqual(self.refused(log, batch([b"a"]), False).error, ErrorCode.INVALID_RECORD)
        log = self.make_log(cleanup_policy=frozenset({"compact"}))
        self.assertEqual(self.refused(log, good, False).error, ErrorCode.INVALID_RECORD)

    # --- idempotence

    def test_duplicate(self) -> None:
        """Check that a repetition of one of the producer's last five batches gets its first offsets and is
        not stored.
        """
        log = self.make_log()
        sent = [batch([b"a", b"b"], producer=(4, 0, 2 * number)) for number in range(6)]
        self.put(log, *sent)
        for number in range(1, 6):
            (again,) = self.put(log, sent[number])
            self.assertEqual((again.base_offset, again.last_offset), (2 * number, 2 * number + 1))
        self.assertEqual(self.refused(log, sent[0]).error, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.assertEqual(log.log_end_offset, 12)

    def test_sequence_gap(self) -> None:
        """Check that a gap is OUT_OF_ORDER_SEQUENCE_NUMBER, and that the batch that fits is accepted
        afterwards.
        """
        log = self.make_log()
        self.put(log, batch([b"a"], producer=(4, 0, 0)))
        wrong = batch([b"c"], producer=(4, 0, 2))
        self.assertEqual(self.refused(log, wrong).error, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.put(log, batch([b"b"], producer=(4, 0, 1)))

    def test_active_producers(self) -> None:
        """Check that producers are listed with their last sequences, staged batches not yet counted."""
        log = self.make_log()
        self.assertEqual(list(log.active_producers()), [])
        self.put(log, batch([b"a"]), batch([b"b", b"c"], producer=(4, 2, 0)))
        self.put(log, batch([b"d"], producer=(5, 0, 0)))
        four, five = ActiveProducer(4, 2, 1, NOW_MS, -1, -1), ActiveProducer(5, 0, 0, NOW_MS, -1, -1)
        self.assertEqual(sorted(log.active_producers()), [four, five])
        log.append(memoryview(batch([b"e"], producer=(4, 2, 2))), 0, NOW_MS, True)
        log.append(memoryview(batch([b"f"], producer=(6, 0, 0))), 0, NOW_MS, True)
        self.assertEqual(sorted(log.active_producers()), [four, five])
        log.write()
        last = {producer.producer_id: producer.last_sequence for producer in log.active_producers()}
        self.assertEqual(last, {4: 2, 5: 0, 6: 0})

    def test_producer_epoch(self) -> None:
        """Check that an older epoch is INVALID_PRODUCER_EPOCH and a newer one begins at sequence 0."""
        log = self.make_log()
        self.put(log, batch([b"a"], producer=(4, 5, 0)))
        older, newer = batch([b"b"], producer=(4, 4, 1)), batch([b"b"], producer=(4, 6, 1))
        self.assertEqual(self.refused(log, older).error, ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(self.refused(log, newer).error, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.put(log, batch([b"b"], producer=(4, 6, 0)))
