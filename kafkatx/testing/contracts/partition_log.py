"""The contract of implementations of :class:`~kafkatx.interfaces.ILogStore` and of their logs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from twisted.internet.task import Clock
from zope.interface import implementer
from zope.interface.verify import verifyObject

from kafkatx.config import BrokerConfig
from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import IAppended, ILogDir, ILogStore, IPartitionLog, IRetentionPolicy, ISegmentFacts
from kafkatx.log.retention import KeepAll, SizeRetention, TimeAndSizeRetention, TimeRetention
from kafkatx.records.batch import HEADER_BYTES, Record, parse_header
from kafkatx.records.builder import BatchBuilder, assemble
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches, iter_any
from kafkatx.records.legacy.message_sets import build as build_set
from kafkatx.types import ActiveProducer, TopicPartition

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

NOW_MS = 1_700_000_000_000
ALL = 1 << 30
TP = TopicPartition("events", 3)


def batch(
    values: list[bytes],
    timestamps: list[int] | None = None,
    codec: Codec = Codec.NONE,
    key: bytes | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """Build a batch of magic 2 as a producer sends it.

    :param producer: producer id, epoch, first sequence.
    """
    builder = BatchBuilder(codec, *producer)
    for value, timestamp in zip(values, timestamps or [NOW_MS] * len(values), strict=True):
        builder.append(key, value, timestamp)
    return builder.build()


def find_retention(name: str) -> IRetentionPolicy:
    """Return a built-in policy, or the contract's own, by name.

    :raises SettingError: there is no such policy.
    """
    policies: dict[str, Callable[[], IRetentionPolicy]] = {
        "time": TimeRetention,
        "size": SizeRetention,
        "time+size": TimeAndSizeRetention,
        "keep": KeepAll,
        "all-but-one": AllButOne,
    }
    if name not in policies:
        raise SettingError(f"kafkatx.retention={name}: no plugin is called so")
    return policies[name]()


@implementer(IRetentionPolicy)
class AllButOne:
    """A retention policy as a third party may write one."""

    def expired(self, segments: Sequence[ISegmentFacts], config: LogConfig, now_ms: int) -> int:
        """Return the number of all segments but the active one."""
        for segment in segments:
            verifyObject(ISegmentFacts, segment)
        return len(segments) - 1


class StoreCase(_Case):
    """Mixin for a ``SynchronousTestCase``; the subclass says how a store is made.

    The store's Deferreds must fire at once (pass ``twisted.internet.defer.execute`` for a worker), or
    :meth:`result` be overridden to make them.
    """

    durable = True
    """Whether a second store sees what the first one closed."""

    def setUp(self) -> None:
        """Give the store a clock that stands still."""
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)

    def make_store(self) -> Any:
        """Return a store that is not open, made with :attr:`clock` and :func:`find_retention`.

        A second call gives one that sees what the first one left, if the store is durable.
        """
        raise NotImplementedError

    def result(self, deferred: Deferred[Any]) -> Any:
        """Return the result of a Deferred; raise its failure."""
        return self.successResultOf(deferred)

    def opened(self, config: LogConfig | None = None) -> Any:
        """Return an open store; each topic that it finds has *config*."""
        store = self.make_store()
        self.result(store.open(lambda topic: config or LogConfig()))
        self.addCleanup(lambda: self.result(store.close()))
        return store

    def put(
        self, log: IPartitionLog, *records: bytes, leader_epoch: int = 0, one_batch: bool = True
    ) -> list[IAppended]:
        """Append and write; every append must be accepted."""
        appended = [log.append(memoryview(one), leader_epoch, NOW_MS, one_batch) for one in records]
        self.assertEqual([one.error for one in appended], [0] * len(records))
        log.write()
        return appended

    def content(self, log: IPartitionLog, offset: int | None = None) -> list[tuple[int, bytes | None]]:
        """Offset and value of every record from *offset*, or the log's start, to its end."""
        at = start = log.log_start_offset if offset is None else offset
        found = []
        while at < log.log_end_offset:
            data = memoryview(bytes_of(log.read(at, ALL, log.log_end_offset, True)))
            if not len(data):
                break
            found += [(record.offset, record.value) for record in iter_any(data)]
            at = list(batches(data))[-1].last_offset + 1
        return [one for one in found if one[0] >= start]


def bytes_of(records: Any) -> bytes:
    """Return the bytes that a read returned."""
    return records.tobytes() if hasattr(records, "tobytes") else bytes(records)


class PartitionLogContract(StoreCase):
    """The contract of a log; :meth:`make_log` makes one through the store."""

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

    def test_interface(self) -> None:
        """Check that the log provides IPartitionLog, the result of append IAppended, its segments
        ISegmentFacts.
        """
        log = self.make_log()
        self.assertTrue(verifyObject(IPartitionLog, log))
        self.assertTrue(verifyObject(IAppended, log.append(batch([b"a"]), 0, NOW_MS, True)))
        self.assertTrue(verifyObject(ISegmentFacts, log.segments[-1]))
        self.assertEqual(log.topic_partition, TP)

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

    # --- reading

    def test_read_from_inside(self) -> None:
        """Check that a read at an offset inside a batch returns that batch whole."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c", b"d"]))
        self.assertEqual(parse_header(bytes_of(log.read(2, ALL, 4, True))).base_offset, 1)

    def test_read_range(self) -> None:
        """Check that a read at the log's end is empty, and outside of the log OFFSET_OUT_OF_RANGE."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b"]), batch([b"c"]))
        self.assertEqual(len(log.read(3, ALL, 3, True)), 0)
        log.advance_log_start(1)
        for offset in (-1, 0, 4):
            error = self.assertRaises(RequestError, log.read, offset, ALL, 3, True)
            self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)

    def test_read_end_offset(self) -> None:
        """Check that a read returns no batch that reaches the end offset or lies beyond it."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c"]), batch([b"d"]))
        for end_offset, expected in ((0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (100, 3)):
            found = list(batches(bytes_of(log.read(0, ALL, end_offset, True))))
            self.assertEqual(len(found), expected, end_offset)

    def test_read_max_bytes(self) -> None:
        """Check that a read is not larger than asked, except for a first batch that must come whole."""
        log = self.make_log()
        sent = [batch([b"x" * 100]), batch([b"y" * 100]), batch([b"z" * 100])]
        self.put(log, *sent)
        one = len(sent[0])
        for max_bytes, at_least_one, whole in (
            (0, False, 0),
            (one - 1, False, 0),
            (one - 1, True, 1),
            (0, True, 1),
            (one, False, 1),
            (2 * one + 1, False, 2),
            (3 * one, False, 3),
        ):
            found = bytes_of(log.read(0, max_bytes, 3, at_least_one))
            self.assertEqual(len(list(batches(found))), whole)
            self.assertLessEqual(len(found), max(max_bytes, one if at_least_one else 0))

    def test_read_across_segments(self) -> None:
        """Reading on from where the last read ended, one sees every record of many segments once."""
        log = self.make_log(segment_bytes=300, index_interval_bytes=100)
        values = [b"%d" % number * 20 for number in range(40)]
        for value in values:
            self.put(log, batch([value]))
        self.assertGreater(len(log.segments), 5)
        for offset in (0, 1, 17, 39):
            self.assertEqual(self.content(log, offset), list(enumerate(values))[offset:])

    def test_tail_reader(self) -> None:
        """Check that a reader that asks for what follows its last read gets each batch once, also after a
        cut.
        """
        log = self.make_log(segment_bytes=1000)
        at, found = 0, []
        for number in range(30):
            self.put(log, batch([b"%d" % number * (number % 7)]))
            records = list(iter_any(bytes_of(log.read(at, ALL, log.log_end_offset, True))))
            found += [record.value for record in records]
            at = records[-1].offset + 1
            if number == 20:
                log.truncate_to(at - 1)
                # The next read begins where the last one ended, which is another place in the file now.
                self.put(log, batch([b"other" * 5]))
        self.assertEqual(found, [b"%d" % number * (number % 7) for number in range(30)])

    def test_warm(self) -> None:
        """Check that a reader may ask to warm any offset, in the log or not, and learns when to read."""
        log = self.make_log(segment_bytes=300)
        for number in range(10):
            self.put(log, batch([b"%d" % number * 20]))
        for offset in (-1, 0, 4, 9, 10, 11):
            waiting = log.warm(offset, ALL)
            if waiting is not None:
                self.assertIsNone(self.result(waiting))
        self.assertEqual(self.content(log, 4)[0], (4, b"4" * 20))

    def test_readable_bytes(self) -> None:
        """Check that the bytes between two offsets are about right: 0 if there are none, and otherwise never
        0.
        """
        log = self.make_log(segment_bytes=2000, index_interval_bytes=200)
        sent = batch([b"x" * 100])
        for _ in range(30):
            self.put(log, sent)
        self.assertEqual(log.readable_bytes(0, 30), 30 * len(sent))
        self.assertEqual(
            (log.readable_bytes(30, 30), log.readable_bytes(7, 7), log.readable_bytes(9, 3)), (0, 0, 0)
        )
        for offset in range(30):
            self.assertGreater(log.readable_bytes(offset, offset + 1), 0)
            self.assertApproximates(log.readable_bytes(offset, 30), (30 - offset) * len(sent), 600)

    # --- times and epochs

    def test_offset_for_timestamp(self) -> None:
        """Check that the first record at or after a time, by offset, is found with its own time and epoch."""
        log = self.make_log(segment_bytes=250, index_interval_bytes=50, message_timestamp_after_max_ms=10**9)
        self.assertIsNone(self.result(log.offset_for_timestamp(0)))
        times = [[10, 30], [20], [50, 40], [45], [60]]
        for epoch, part in enumerate(times):
            self.put(log, batch([b"x" * 20] * len(part), part), leader_epoch=epoch)
        for asked, expected in (
            (0, (0, 10, 0)),
            (10, (0, 10, 0)),
            (11, (1, 30, 0)),
            (31, (3, 50, 2)),
            (45, (3, 50, 2)),
            (51, (6, 60, 4)),
            (60, (6, 60, 4)),
            (61, None),
        ):
            self.assertEqual(self.result(log.offset_for_timestamp(asked)), expected, asked)
        log.advance_log_start(4)
        self.assertEqual(self.result(log.offset_for_timestamp(0)), (4, 40, 2))

    def test_max_timestamp(self) -> None:
        """Check that the record with the largest time is found, the first of several, among those that can be
        read.
        """
        log = self.make_log(segment_bytes=250, index_interval_bytes=50)
        self.assertIsNone(self.result(log.max_timestamp()))
        for part in ([10, 30], [20], [50, 50, 40], [45], [7]):
            self.put(log, batch([b"x" * 20] * len(part), part))
        self.assertEqual(self.result(log.max_timestamp()), (3, 50, 0))
        log.advance_log_start(5)
        self.assertEqual(self.result(log.max_timestamp()), (6, 45, 0))

    def test_epochs(self) -> None:
        """Check that the epochs that wrote the log are known by offset, with the end of each."""
        log = self.make_log()
        self.assertEqual((log.epoch_at(0), log.end_offset_for_epoch(3)), (-1, (-1, -1)))
        for epoch in (2, 2, 5):
            self.put(log, batch([b"a", b"b"]), leader_epoch=epoch)
        self.assertEqual([log.epoch_at(offset) for offset in range(7)], [2, 2, 2, 2, 5, 5, 5])
        for asked, expected in (
            (-1, (-1, -1)),
            (1, (1, 0)),
            (2, (2, 4)),
            (4, (2, 4)),
            (5, (5, 6)),
            (9, (5, 6)),
        ):
            self.assertEqual(log.end_offset_for_epoch(asked), expected)

    # --- cutting

    def test_truncate(self) -> None:
        """Check that a cut removes records, epochs and producers' sequences, and that appends continue at the
        cut.
        """
        log = self.make_log(segment_bytes=300)
        for number in range(10):
            self.put(log, batch([b"%d" % number], producer=(1, 0, number)), leader_epoch=number // 4)
        log.truncate_to(6)
        self.assertEqual((log.log_end_offset, log.epoch_at(6)), (6, 1))
        self.assertEqual(log.end_offset_for_epoch(9), (1, 6))
        self.assertEqual(self.content(log), [(number, b"%d" % number) for number in range(6)])
        (again,) = self.put(log, batch([b"new"], producer=(1, 0, 6)), leader_epoch=7)
        self.assertEqual(again.base_offset, 6)
        self.assertEqual(self.content(log, 5), [(5, b"5"), (6, b"new")])
        log.truncate_to(100)
        self.assertEqual(log.log_end_offset, 7)
        log.truncate_to(0)
        self.assertEqual((log.log_start_offset, log.log_end_offset, log.size_bytes), (0, 0, 0))

    def test_truncate_inside_a_batch(self) -> None:
        """Check that a cut inside a batch removes the batch, and that its offsets below the cut are not
        reused.
        """
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c", b"d"]))
        log.truncate_to(3)
        self.put(log, batch([b"e"]))
        self.assertEqual(self.content(log), [(0, b"a"), (3, b"e")])

    def test_advance_log_start(self) -> None:
        """Check that the start only moves forward and removes whole segments; beyond the end it is
        OFFSET_OUT_OF_RANGE.
        """
        log = self.make_log(segment_bytes=300)
        for number in range(20):
            self.put(log, batch([b"%d" % number * 20]))
        segments, size = len(log.segments), log.size_bytes
        log.advance_log_start(11)
        log.advance_log_start(5)
        self.assertEqual(log.log_start_offset, 11)
        self.assertLess(len(log.segments), segments)
        self.assertLess(log.size_bytes, size)
        self.assertEqual(self.content(log)[0][0], 11)
        error = self.assertRaises(RequestError, log.advance_log_start, 21)
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)
        log.advance_log_start(20)
        self.assertEqual((log.size_bytes, self.content(log)), (0, []))
        self.assertEqual(self.put(log, batch([b"x"]))[0].base_offset, 20)

    def retained(self, policy: str, now_ms: int = NOW_MS, **settings: Any) -> Any:
        """Return a log of 20 records, a minute apart, after its policy was applied."""
        settings = {"message_timestamp_after_max_ms": 10**10} | settings
        log = self.make_log(segment_bytes=300, retention_policy=policy, **settings)
        for number in range(20):
            self.put(log, batch([b"%02d" % number * 20], [NOW_MS - (20 - number) * 60_000]))
        segments = len(log.segments)
        went = log.retain(now_ms)
        self.assertEqual(len(log.segments), segments - went + (went == segments))
        return log

    def test_retention_by_time(self) -> None:
        """Segments whose records are all older than retention.ms go, the active one too."""
        log = self.retained("time", retention_ms=10 * 60_000)
        self.assertIn(log.log_start_offset, (9, 10))
        self.assertEqual(self.content(log)[-1][0], 19)
        log = self.retained("time", NOW_MS + 10**9, retention_ms=1000)
        self.assertEqual((log.log_start_offset, log.log_end_offset, log.size_bytes), (20, 20, 0))
        self.assertEqual(log.retain(NOW_MS + 10**9), 0)

    def test_retention_by_size(self) -> None:
        """Check that as many segments are removed as leave at least retention.bytes."""
        log = self.retained("size", retention_bytes=1000)
        self.assertGreaterEqual(log.size_bytes, 1000)
        self.assertLess(log.size_bytes, 1000 + 300)

    def test_retention_of_others(self) -> None:
        """Check that the policy of the topic decides, a third party's too; none does without cleanup by
        deletion.
        """
        self.assertEqual(len(self.retained("all-but-one").segments), 1)
        self.assertEqual(self.retained("keep", NOW_MS * 2).log_start_offset, 0)
        for policy in (frozenset({"compact"}), frozenset[str]()):
            log = self.make_log(segment_bytes=100, retention_policy="all-but-one", cleanup_policy=policy)
            self.put(log, batch([b"a"], key=b"k"), batch([b"b"], key=b"k"), batch([b"c"], key=b"k"))
            self.assertEqual(log.retain(NOW_MS * 2), 0)
        log.configure(attrs.evolve(log.config, retention_policy="keep", cleanup_policy=frozenset({"delete"})))
        self.assertEqual(log.retain(NOW_MS * 2), 0)

    def test_roll_by_time(self) -> None:
        """Check that a segment older than segment.ms is closed, unless it is empty."""
        log = self.make_log(segment_ms=1000)
        log.roll_if_due(NOW_MS + 5000)
        self.assertEqual(len(log.segments), 1)
        self.put(log, batch([b"a"]))
        log.roll_if_due(NOW_MS + 1000)
        self.assertEqual(len(log.segments), 1)
        log.roll_if_due(NOW_MS + 1001)
        self.assertEqual([one.base_offset for one in log.segments], [0, 1])
        self.put(log, batch([b"b"]))
        self.assertEqual(self.content(log), [(0, b"a"), (1, b"b")])

    def test_flush(self) -> None:
        """Check that after flush() everything written before it counts as flushed."""
        log = self.make_log()
        self.assertEqual(self.result(log.flush()), 0)
        self.put(log, batch([b"a", b"b"]))
        self.assertEqual(self.result(log.flush()), 2)
        self.assertEqual(log.flushed_offset, 2)


class LogStoreContract(StoreCase):
    """The contract of a store."""

    def test_interface(self) -> None:
        """Check that the store provides ILogStore."""
        self.assertTrue(verifyObject(ILogStore, self.make_store()))

    def test_create(self) -> None:
        """Check that a log is made once for a topic id, and that another id gets a new one without the old
        records.
        """
        store = self.opened()
        self.assertEqual(dict(store.unavailable), {})
        first_id, second_id = uuid.uuid4(), uuid.uuid4()
        log = self.result(store.create(TP, first_id, LogConfig()))
        self.put(log, batch([b"a"]))
        self.assertIs(self.result(store.create(TP, first_id, LogConfig())), log)
        self.assertEqual(store.topic_id(TP), first_id)
        self.assertEqual(dict(store.logs), {TP: log})
        other = self.result(store.create(TP, second_id, LogConfig()))
        self.assertEqual((other.log_end_offset, store.topic_id(TP)), (0, second_id))

    def test_delete(self) -> None:
        """Check that a deleted log is gone at once and does not come back; deleting nothing does nothing."""
        store = self.opened()
        topic_id = uuid.uuid4()
        self.put(self.result(store.create(TP, topic_id, LogConfig())), batch([b"a"]))
        self.result(store.delete(TP))
        self.assertEqual(dict(store.logs), {})
        self.result(store.delete(TP))
        self.clock.advance(120)
        self.assertEqual(self.result(store.create(TP, topic_id, LogConfig())).log_end_offset, 0)

    def test_partitions_are_apart(self) -> None:
        """Check that a change of one partition does not change another."""
        store = self.opened()
        logs = [
            self.result(store.create(TopicPartition("t", number), uuid.uuid4(), LogConfig()))
            for number in range(3)
        ]
        self.put(logs[1], batch([b"a"]))
        self.result(store.delete(TopicPartition("t", 0)))
        self.assertEqual([log.log_end_offset for log in logs[1:]], [1, 0])

    def test_checkpoint(self) -> None:
        """Check that a checkpoint can be made at any time."""
        store = self.opened()
        self.result(store.checkpoint())
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.put(log, batch([b"a"]))
        self.result(store.checkpoint())
        log.advance_log_start(1)
        self.result(store.checkpoint_log_start(TP))

    def test_check(self) -> None:
        """Check that a config with a known retention policy passes, and that another one is refused in
        advance.
        """
        store = self.make_store()
        store.check(LogConfig(retention_policy="all-but-one"))
        self.assertRaises(SettingError, store.check, LogConfig(retention_policy="none"))

    def test_configure(self) -> None:
        """Other settings of the broker are taken over at any time; the logs go on."""
        store = self.make_store()
        store.reconfigure(BrokerConfig.load())
        store = self.opened()
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        store.reconfigure(BrokerConfig.load(None, {"log.cleaner.dedupe.buffer.size": "1000"}))
        self.put(log, batch([b"a"]))
        self.result(store.clean(NOW_MS))
        store.reconfigure(BrokerConfig.load())

    def test_settle(self) -> None:
        """Check that what was created since the last call is returned once."""
        store = self.opened()
        topic_id = uuid.uuid4()
        self.result(store.create(TP, topic_id, LogConfig()))
        told = self.result(store.sync_directories()).placed
        self.assertLessEqual({(one.topic_id, one.partition) for one in told}, {(topic_id, TP.partition)})
        self.assertFalse(self.result(store.sync_directories()))

    def test_dirs(self) -> None:
        """Check that in a store with directories each log is in one of them, and none is offline."""
        store = self.opened()
        self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        for log_dir in store.dirs:
            self.assertTrue(verifyObject(ILogDir, log_dir))
            self.assertIsNone(log_dir.error)
        self.assertIn([name for log_dir in store.dirs for name in log_dir.logs], ([TP], []))

    def test_reopen(self) -> None:
        """Check that a durable store restores everything: records, ids, log starts, epochs and producers."""
        store = self.opened()
        topic_id = uuid.uuid4()
        log = self.result(store.create(TP, topic_id, LogConfig(segment_bytes=200)))
        for number in range(10):
            self.put(log, batch([b"%d" % number], producer=(1, 0, number)), leader_epoch=number // 5)
        log.advance_log_start(4)
        self.result(store.close())
        if not self.durable:
            return
        store = self.opened()
        log = store.logs[TP]
        self.assertEqual(store.topic_id(TP), topic_id)
        self.assertEqual(self.content(log), [(number, b"%d" % number) for number in range(4, 10)])
        self.assertEqual((log.flushed_offset, log.epoch_at(4), log.epoch_at(9)), (10, 0, 1))
        (again,) = self.put(log, batch([b"9"], producer=(1, 0, 9)))
        self.assertEqual(again.base_offset, 9)
        self.put(log, batch([b"10"], producer=(1, 0, 10)))
        self.assertEqual(log.log_end_offset, 11)
