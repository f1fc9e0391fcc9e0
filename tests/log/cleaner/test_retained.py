"""Tests of the retained records of single batches."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.offset_map import OffsetMap
from kafkatx.log.cleaner.retained import Kept, Rules, keys_of, retained
from kafkatx.log.segment.scan import parse
from kafkatx.records import batch as v2
from kafkatx.records.batch import Record
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import iter_any
from kafkatx.records.header import check, parse_header
from kafkatx.records.legacy.message_sets import build, iter_messages
from tests.log.cleaner.logs import Pair, keyed

BASE, NOW, RETENTION = 100, 1_000_000, 5_000
PAIRS: list[Pair] = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", None)]
TIMES = [10, 40, 20, 30]


def placed(batch: bytes, base_offset: int = BASE, leader_epoch: int = 6) -> bytearray:
    """Return a batch of magic 2 as it is in a log."""
    stored = bytearray(batch)
    stored[:8] = base_offset.to_bytes(8, "big")
    stored[v2.LEADER_EPOCH_AT : v2.MAGIC_AT] = leader_epoch.to_bytes(4, "big")
    return stored


def rules(
    later: Mapping[bytes, int], *, now_ms: int = NOW, last_offsets: Mapping[int, int] | None = None
) -> Rules:
    """Return rules where *later* has the next offset of keys; all records are in the dirty part."""
    known = OffsetMap(1 << 20, 1.0)
    known.add([b"a", b"b", b"c"], [BASE + 2, BASE + 1, BASE + 3])
    known.add(list(later), list(later.values()))
    known.end_offset = 1000
    known.complete(0)
    return Rules(known, now_ms, RETENTION, last_offsets or {})


def judged(data: bytes | bytearray, by: Rules, legacy_tombstones: bool = True) -> Kept | None:
    """Return the retained part of a batch."""
    view = memoryview(bytes(data))
    return retained(view, parse(view, 0, 0), by, legacy_tombstones)


class MagicTwoTests(SynchronousTestCase):
    """Batches of magic 2."""

    def kept(self, data: bytes | bytearray, by: Rules) -> tuple[v2.BatchHeader, list[Record]]:
        """Return header and records of the retained part, after a check that it is a valid batch."""
        found = judged(data, by)
        assert found is not None
        header = parse_header(found.data)
        check(memoryview(found.data), 0, header)
        self.assertEqual(
            (found.base_offset, found.last_offset, found.max_timestamp),
            (header.base_offset, header.last_offset, header.max_timestamp),
        )
        return header, list(iter_any(found.data))

    def test_last_of_each_key(self) -> None:
        """Older records of a key go; base and last offset, producer and epoch stay as they were."""
        for codec in Codec:
            data = placed(keyed(PAIRS[:3], codec, (9, 2, 50), TIMES[:3], [("h", b"x")]))
            header, records = self.kept(data, rules({}))
            self.assertEqual([(r.offset, r.timestamp, r.key, r.value) for r in records], [
                (101, 40, b"b", b"2"), (102, 20, b"a", b"3"),
            ])  # fmt: skip
            self.assertEqual(records[0].headers, [("h", b"x")])
            self.assertEqual((header.base_offset, header.last_offset, header.codec), (100, 102, codec))
            self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (9, 2, 50))
            self.assertEqual((header.partition_leader_epoch, header.count), (6, 2))

    def test_max_timestamp(self) -> None:
        """The largest timestamp is that of the records that are left."""
        header, _ = self.kept(placed(keyed(PAIRS[:3], timestamps=TIMES[:3])), rules({b"b": 900}))
        self.assertEqual(header.max_timestamp, 20)

    def test_untouched(self) -> None:
        """A batch that loses nothing is the same bytes."""
        data = bytes(placed(keyed([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")][1:], Codec.ZSTD), BASE + 1))
        found = judged(data, rules({}))
        assert found is not None
        self.assertEqual(bytes(found.data), data)

    def test_beyond_the_map(self) -> None:
        """A batch that the map has not seen stays as it is, tombstones and all."""
        by = rules({})
        by.map.end_offset = BASE
        data = placed(keyed(PAIRS))
        found = judged(data, by)
        assert found is not None
        self.assertEqual(bytes(found.data), data)

    def test_nothing_left(self) -> None:
        """A batch of which nothing is left goes, whether or not it had to be looked into."""
        later = {b"a": 500, b"b": 501, b"c": 502}
        self.assertIsNone(judged(placed(keyed(PAIRS)), rules(later)))
        by = rules(later)
        by.map.complete(999)
        self.assertIsNone(judged(placed(keyed(PAIRS)), by))

    def test_last_batch_of_a_producer(self) -> None:
        """An empty batch stays where it has a producer's last sequence."""
        later = {b"a": 500, b"b": 501, b"c": 502}
        data = placed(keyed(PAIRS, Codec.GZIP, (9, 2, 50), TIMES))
        header, records = self.kept(data, rules(later, last_offsets={9: 103}))
        self.assertEqual((records, header.count, header.size_bytes), ([], 0, v2.HEADER_BYTES))
        self.assertEqual((header.base_offset, header.last_offset, header.max_timestamp), (100, 103, -1))
        self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (9, 2, 50))
        for others in ({9: 104}, {8: 103}, {}):
            self.assertIsNone(judged(data, rules(later, last_offsets=others)))

    def test_empty_batch_again(self) -> None:
        """An empty batch stays in the next pass, too, and goes when the producer has written more."""
        later = {b"a": 500, b"b": 501, b"c": 502}
        first = judged(placed(keyed(PAIRS, producer=(9, 2, 50))), rules(later, last_offsets={9: 103}))
        assert first is not None
        again = judged(bytes(first.data), rules(later, last_offsets={9: 103}))
        self.assertEqual(again, first)
        self.assertIsNone(judged(bytes(first.data), rules(later, last_offsets={9: 200})))

    def test_tombstone(self) -> None:
        """A tombstone gives its batch a delete horizon in the first pass, and goes when that is reached."""
        for codec in (Codec.NONE, Codec.LZ4):
            header, records = self.kept(placed(keyed(PAIRS, codec, timestamps=TIMES)), rules({}))
            self.assertTrue(header.attributes & v2.DELETE_HORIZON)
            self.assertEqual(header.base_timestamp, NOW + RETENTION)
            self.assertEqual([(r.offset, r.timestamp) for r in records], [(101, 40), (102, 20), (103, 30)])
            first = judged(placed(keyed(PAIRS, codec, timestamps=TIMES)), rules({}))
            assert first is not None
            early = judged(bytes(first.data), rules({}, now_ms=NOW + RETENTION - 1))
            self.assertEqual(early, first)
            header, records = self.kept(bytes(first.data), rules({}, now_ms=NOW + RETENTION))
            self.assertEqual(
                [(r.offset, r.timestamp, r.key) for r in records], [(101, 40, b"b"), (102, 20, b"a")]
            )
            self.assertEqual(header.max_timestamp, 40)

    def test_log_append_time(self) -> None:
        """The broker's timestamp of a batch stays, whichever records are removed."""
        data = placed(keyed(PAIRS, timestamps=TIMES))
        header = parse_header(data)._replace(attributes=v2.TIMESTAMP_TYPE, max_timestamp=777)
        found, records = self.kept(v2.HEADER.pack(*header) + data[v2.HEADER_BYTES :], rules({b"b": 500}))
        self.assertEqual(found.max_timestamp, 777)
        self.assertEqual([record.timestamp for record in records], [777, 777])

    def test_no_key(self) -> None:
        """A record without a key, from before the topic was compacted, goes."""
        _, records = self.kept(placed(keyed([(None, b"x"), (b"b", b"y")])), rules({}))
        self.assertEqual([record.value for record in records], [b"y"])

    def test_control_batches_are_left_alone(self) -> None:
        """A control batch that ends no transaction is neither judged nor judges others."""
        data = placed(keyed(PAIRS))
        header = parse_header(data)._replace(attributes=v2.CONTROL)
        stored = v2.HEADER.pack(*header) + bytes(data[v2.HEADER_BYTES :])
        view = memoryview(stored)
        self.assertEqual(keys_of(view, parse(view, 0, 0)), ([], []))
        found = judged(stored, rules({b"a": 500, b"b": 500, b"c": 500}))
        assert found is not None
        self.assertEqual(bytes(found.data), stored)

    def test_keys_of(self) -> None:
        """The map is told of every key with its offset."""
        view = memoryview(bytes(placed(keyed(PAIRS, Codec.SNAPPY))))
        self.assertEqual(keys_of(view, parse(view, 0, 0)), ([b"a", b"b", b"a", b"c"], [100, 101, 102, 103]))

    def test_garbage(self) -> None:
        """A batch that cannot be decoded is an error, not an empty batch."""
        data = placed(keyed(PAIRS))
        data[v2.COUNT_AT + 3] = 9
        self.assertRaises(CorruptRecords, judged, data, rules({}))


class LegacyTests(SynchronousTestCase):
    """Messages of magic 0 and 1."""

    def records(self, magic: int) -> list[Record]:
        """Return the records, at their offsets."""
        times = TIMES if magic else [-1] * 4
        return [
            Record(BASE + number, time, key, value, [])
            for number, ((key, value), time) in enumerate(zip(PAIRS, times, strict=True))
        ]

    def test_wrapper(self) -> None:
        """The retained messages of a wrapper are wrapped again, with their offsets and times."""
        for magic in (0, 1):
            for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
                records = self.records(magic)
                found = judged(build(records, magic, codec), rules({b"c": 500}))
                assert found is not None
                self.assertEqual(list(iter_any(found.data)), records[1:3])
                (message,) = iter_messages(found.data)
                self.assertEqual((message.codec, message.offset), (codec, 102))
                self.assertEqual((found.base_offset, found.last_offset), (101, 102))
                self.assertEqual(found.max_timestamp, 40 if magic else -1)

    def test_log_append_time(self) -> None:
        """A wrapper with the broker's time keeps it."""
        records = [record._replace(timestamp=777) for record in self.records(1)]
        found = judged(build(records, 1, Codec.GZIP, log_append_time=True), rules({b"c": 500}))
        assert found is not None
        (message,) = iter_messages(found.data)
        self.assertEqual((message.log_append_time, message.timestamp), (True, 777))
        self.assertEqual(list(iter_any(found.data)), records[1:3])

    def test_single_messages(self) -> None:
        """A message without a wrapper stays as it is, or goes."""
        for magic in (0, 1):
            first, second, *_ = self.records(magic)
            self.assertIsNone(judged(build([first], magic), rules({})))
            data = build([second], magic)
            found = judged(data, rules({}))
            assert found is not None
            self.assertEqual(bytes(found.data), data)

    def test_tombstones(self) -> None:
        """Tombstones stay or go as the segment's age says."""
        for magic in (0, 1):
            data = build(self.records(magic), magic, Codec.GZIP)
            for stays, offsets in ((True, [101, 102, 103]), (False, [101, 102])):
                found = judged(data, rules({}), legacy_tombstones=stays)
                assert found is not None
                self.assertEqual([record.offset for record in iter_any(found.data)], offsets)

    def test_keys_of(self) -> None:
        """The map is told of the keys inside of wrappers."""
        for magic in (0, 1):
            view = memoryview(build(self.records(magic), magic, Codec.GZIP))
            self.assertEqual(
                keys_of(view, parse(view, 0, 0)), ([b"a", b"b", b"a", b"c"], [100, 101, 102, 103])
            )
