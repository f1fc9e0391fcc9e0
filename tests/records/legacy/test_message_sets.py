"""Tests of kafkatx.records.legacy.message_sets."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, ErrorCode, RequestError, UnsupportedCompression
from kafkatx.records.batch import TIMESTAMP_TYPE, Record
from kafkatx.records.compression import Codec, compress
from kafkatx.records.legacy.message_sets import (
    AssignedInfo,
    AssignedPosition,
    assign_offsets,
    build,
    iter_messages,
    iter_records,
)
from kafkatx.records.legacy.messages import encode_message, unwrap
from tests.records.strategies import SAMPLE, legacy_codecs, moved, quick, record_lists

LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def timeless(records: list[Record]) -> list[Record]:
    """The records as magic 0 keeps them."""
    return [record._replace(timestamp=-1) for record in records]


def wrapped(inner: bytes, magic: int = 1, offset: int = 0, timestamp: int = 5, attributes: int = 0) -> bytes:
    """A gzip message around a set."""
    packed = compress(Codec.GZIP, inner, magic=magic)
    return encode_message(offset, magic, Codec.GZIP | attributes, timestamp, None, packed)


class BuildTests(SynchronousTestCase):
    """Building sets and reading them."""

    @quick
    @given(record_lists(with_headers=False), st.sampled_from([0, 1]), legacy_codecs, st.integers(0, 2**62))
    def test_round_trip(self, records: list[Record], magic: int, codec: Codec, base_offset: int) -> None:
        """Records come back from any offset on; magic 0 loses their times only."""
        expected = moved(records if magic else timeless(records), base_offset)
        self.assertEqual(list(iter_records(memoryview(build(records, magic, codec, base_offset)))), expected)
        self.assertEqual(list(iter_records(build(moved(records, base_offset), magic, codec))), expected)

    def test_gaps(self) -> None:
        """Gaps between the records' own offsets are kept in every form."""
        records = [record._replace(offset=record.offset**2 + 7) for record in SAMPLE]
        for magic in (0, 1):
            for codec in LEGACY_CODECS:
                found = list(iter_records(build(records, magic, codec)))
                self.assertEqual(found, records if magic else timeless(records))

    def test_wrapper(self) -> None:
        """A wrapper has the last offset and newest time; inner offsets are relative in magic 1 only."""
        for magic, inner_offsets in ((0, [100, 101, 102, 103]), (1, [0, 1, 2, 3])):
            (wrapper,) = iter_messages(build(SAMPLE, magic, Codec.SNAPPY, 100), whole=True)
            self.assertEqual(wrapper.offset, 103)
            self.assertEqual(wrapper.timestamp, 1_700_000_000_007 if magic else -1)
            self.assertEqual([one.offset for one in unwrap(wrapper)], inner_offsets)

    def test_log_append_time(self) -> None:
        """The attribute bit is set on outer messages of magic 1, and the wrapper's time counts for all."""
        (wrapper,) = iter_messages(build(SAMPLE, 1, Codec.GZIP, 0, log_append_time=True))
        self.assertTrue(wrapper.log_append_time)
        stamped = encode_message(3, 1, TIMESTAMP_TYPE | Codec.GZIP, 99, None, wrapper.value)
        self.assertEqual({record.timestamp for record in iter_records(stamped)}, {99})
        (first, *_) = iter_messages(build(SAMPLE, 0, Codec.NONE, 0, log_append_time=True))
        self.assertEqual(first.attributes, 0)

    def test_nothing(self) -> None:
        """No records make no bytes, with a codec too."""
        self.assertEqual(build([], 1), b"")
        self.assertEqual(build([], 0, Codec.GZIP, 5), b"")

    def test_zstd(self) -> None:
        """zstd is refused in both magics."""
        for magic in (0, 1):
            self.assertRaises(UnsupportedCompression, build, SAMPLE, magic, Codec.ZSTD)


class IterTests(SynchronousTestCase):
    """Reading what others stored."""

    def test_cut_off(self) -> None:
        """A set cut off at any byte gives its whole outer messages' records."""
        data = build(SAMPLE[:2], 1, Codec.NONE, 0) + build(SAMPLE, 1, Codec.LZ4, 2)
        sizes = [message.size for message in iter_messages(data)]
        for size in range(len(data)):
            found = len(list(iter_records(data[:size])))
            self.assertEqual(found, (size >= sizes[0]) + (size >= sum(sizes[:2])))

    def test_crc(self) -> None:
        """A wrong CRC is found, unless it is not asked for; an inner one always."""
        data = bytearray(build(SAMPLE, 1, Codec.NONE, 0))
        data[12] ^= 1
        wrong = bytes(data)
        self.assertRaises(CorruptRecords, list, iter_records(wrong))
        self.assertEqual(list(iter_records(wrong, check_crc=False)), SAMPLE)
        self.assertRaises(CorruptRecords, list, iter_records(wrapped(wrong), check_crc=False))

    def test_magic_0_offsets(self) -> None:
        """In magic 0 the inner offsets count, whatever the wrapper's."""
        inner = encode_message(5, 0, 0, -1, None, b"a") + encode_message(9, 0, 0, -1, None, b"b")
        self.assertEqual([record.offset for record in iter_records(wrapped(inner, 0, offset=70))], [5, 9])

    def test_limit(self) -> None:
        """The limit holds for what a wrapper holds."""
        data = build([Record(0, 0, None, bytes(100_000), [])], 1, Codec.LZ4)
        self.assertRaises(CorruptRecords, list, iter_records(data, limit_bytes=100_000))


class AssignTests(SynchronousTestCase):
    """Giving offsets."""

    @quick
    @given(
        st.lists(
            st.tuples(record_lists(with_headers=False), st.sampled_from([0, 1]), legacy_codecs), max_size=3
        ),
        st.integers(0, 2**62),
        st.none() | st.just(777),
    )
    def test_any(
        self, sets: list[tuple[list[Record], int, Codec]], base_offset: int, append_ms: int | None
    ) -> None:
        """A stored set has dense offsets, right CRCs and the keys and values that were sent."""
        data = b"".join(build(records, magic, codec, 0) for records, magic, codec in sets)
        stored, info = assign_offsets(memoryview(data), base_offset, append_ms)
        found = list(iter_records(stored))
        sent = [(record, magic) for records, magic, _ in sets for record in records]
        self.assertEqual(
            [record.offset for record in found], list(range(base_offset, base_offset + len(sent)))
        )
        self.assertEqual([record[2:] for record in found], [record[2:] for record, _ in sent])
        expected = [(append_ms or record.timestamp) if magic else -1 for record, magic in sent]
        self.assertEqual([record.timestamp for record in found], expected)
        self.assertEqual((info.count, info.last_offset), (len(sent), base_offset + len(sent) - 1))
        self.assertEqual(info.max_timestamp, max(expected, default=-1))
        if append_ms is None and info.max_timestamp >= 0:
            first = base_offset + expected.index(info.max_timestamp)
            self.assertEqual(info.offset_of_max_timestamp, first)
        outer = [(message.position, message.offset) for message in iter_messages(stored, whole=True)]
        self.assertEqual([position[:2] for position in info.positions], outer)

    def test_untouched(self) -> None:
        """Uncompressed messages, and magic 1 wrappers numbered from 0 on, get a new offset only."""
        for magic, codec in ((0, Codec.NONE), (1, Codec.NONE), (1, Codec.LZ4)):
            data = build(SAMPLE, magic, codec, 0)
            stored, _ = assign_offsets(memoryview(data), 1000, None)
            expected = bytearray(data)
            for message in iter_messages(data):
                expected[message.position : message.position + 8] = (message.offset + 1000).to_bytes(8, "big")
            self.assertEqual(stored, bytes(expected))

    def test_info(self) -> None:
        """The info of a mixed set, spelled out."""
        parts = [
            encode_message(9, 1, 0, 50, None, b"a"),
            build([SAMPLE[0]._replace(timestamp=at) for at in (60, 90, 90)], 1, Codec.GZIP, 0),
            encode_message(9, 0, 0, -1, None, b"b"),
        ]
        _, info = assign_offsets(memoryview(b"".join(parts)), 10, None)
        second, third = len(parts[0]), len(parts[0]) + len(parts[1])
        positions = (
            AssignedPosition(0, 10, 50),
            AssignedPosition(second, 13, 90),
            AssignedPosition(third, 14, -1),
        )
        self.assertEqual(info, AssignedInfo(5, 14, 90, 12, positions))

    def test_renumbered(self) -> None:
        """Inner offsets that are not 0, 1, 2 ... are made so, and the wrapper's CRC is right after it."""
        inner = b"".join(encode_message(offset, 1, 0, 5, None, b"v") for offset in (0, 0, 0))
        stored, _ = assign_offsets(memoryview(wrapped(inner)), 40, None)
        (wrapper,) = iter_messages(stored)
        self.assertEqual([one.offset for one in unwrap(wrapper)], [0, 1, 2])
        self.assertEqual([record.offset for record in iter_records(stored)], [40, 41, 42])

    def test_magic_0_wrapper(self) -> None:
        """Inner offsets of magic 0 become absolute, in the codec that was sent; right ones stay."""
        for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            stored, _ = assign_offsets(memoryview(build(SAMPLE, 0, codec, 0)), 500, None)
            (wrapper,) = iter_messages(stored)
            self.assertEqual((wrapper.offset, wrapper.codec), (503, codec))
            self.assertEqual([one.offset for one in unwrap(wrapper)], [500, 501, 502, 503])
            again, _ = assign_offsets(memoryview(stored), 500, None)
            self.assertEqual(again, stored)

    def test_wrapper_time(self) -> None:
        """A wrapper whose time is not its newest message's gets that, as in Apache Kafka."""
        inner = b"".join(encode_message(at, 1, 0, time, None, b"v") for at, time in enumerate((7, 30, 20)))
        stored, info = assign_offsets(memoryview(wrapped(inner, timestamp=-1)), 0, None)
        (wrapper,) = iter_messages(stored)
        self.assertEqual(wrapper.timestamp, 30)
        self.assertEqual((info.max_timestamp, info.offset_of_max_timestamp), (30, 1))
        self.assertEqual([record.timestamp for record in iter_records(stored)], [7, 30, 20])

    def test_log_append_time(self) -> None:
        """LogAppendTime sets bit and time of outer messages of magic 1, and leaves the compressed bytes."""
        data = build(SAMPLE, 1, Codec.LZ4, 0) + build(SAMPLE[:1], 1, Codec.NONE, 0)
        stored, info = assign_offsets(memoryview(data), 5, 12345)
        for before, after in zip(iter_messages(data), iter_messages(stored), strict=True):
            self.assertTrue(after.log_append_time)
            self.assertEqual((after.timestamp, after.value), (12345, before.value))
        self.assertEqual(info.max_timestamp, 12345)
        self.assertEqual(info.offset_of_max_timestamp, 8)

    def test_claimed_time(self) -> None:
        """A producer may not claim the broker's time."""
        data = encode_message(0, 1, TIMESTAMP_TYPE, 5, None, b"v")
        for append_ms in (None, 7):
            error = self.assertRaises(RequestError, assign_offsets, memoryview(data), 0, append_ms)
            self.assertEqual(error.code, ErrorCode.INVALID_TIMESTAMP)

    def test_nothing(self) -> None:
        """An empty set is stored as nothing."""
        self.assertEqual(assign_offsets(memoryview(b""), 7, None), (b"", AssignedInfo(0, 6, -1, -1, ())))

    def test_cut_off(self) -> None:
        """A set that does not end with a message is corrupt: nothing of it may be acknowledged."""
        data = build(SAMPLE[:1], 1, Codec.NONE, 0) + build(SAMPLE, 0, Codec.GZIP, 0)
        whole = [message.position for message in iter_messages(data)]
        for size in set(range(len(data))) - set(whole):
            self.assertRaises(CorruptRecords, assign_offsets, memoryview(data)[:size], 0, None)

    def test_every_bit(self) -> None:
        """A flipped bit under a CRC is found, in wrappers too."""
        for codec in (Codec.NONE, Codec.SNAPPY):
            data = build(SAMPLE[:1], 1, codec, 0)
            for at in range(12, len(data)):
                flipped = bytearray(data)
                flipped[at] ^= 0x10
                self.assertRaises(CorruptRecords, assign_offsets, memoryview(flipped), 0, None)

    def test_bomb(self) -> None:
        """A wrapper that holds more than the limit is corrupt."""
        data = build([Record(0, 0, None, bytes(100_000), [])], 0, Codec.GZIP)
        self.assertRaises(CorruptRecords, assign_offsets, memoryview(data), 0, None, 100_000)

    @quick
    @given(st.binary(max_size=100), st.integers(0, 60))
    def test_garbage(self, garbage: bytes, at: int) -> None:
        """Garbage anywhere is an error with a code, or a set that reads back."""
        data = bytearray(build(SAMPLE, 1, Codec.GZIP, 0))
        data[at : at + len(garbage)] = garbage
        with contextlib.suppress(RequestError):
            stored, info = assign_offsets(memoryview(data), 3, None)
            self.assertEqual(len(list(iter_records(stored))), info.count)
