"""Tests of kafkatx.records.conversion."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records.batch import CONTROL, TIMESTAMP_TYPE, Headers, Record, check, parse_header, payload
from kafkatx.records.builder import assemble
from kafkatx.records.compression import Codec, compress
from kafkatx.records.conversion import (
    CONVERTED_BYTES,
    Span,
    batches,
    down_convert,
    iter_any,
    read_columns,
    recompress,
    stream_any,
    up_convert,
)
from kafkatx.records.legacy.message_sets import build, iter_messages
from kafkatx.records.legacy.messages import encode_message
from tests.records.strategies import SAMPLE, built, codecs, legacy_codecs, moved, quick, record_lists

WITH_HEADERS = SAMPLE[0]._replace(headers=[("name", b"value")])


def control_batch(base_offset: int) -> bytes:
    """The end of a transaction."""
    record = Record(0, 5, b"\0\0\0\1", b"\0\0\0\0\0\0", [])
    return assemble(payload(built([record])), 1, CONTROL | 0x10, 5, 5, base_offset=base_offset)


MIXED = b"".join(
    (
        build(SAMPLE, 0, Codec.NONE, 0),
        build(SAMPLE, 0, Codec.GZIP, 4),
        build(SAMPLE, 1, Codec.NONE, 8),
        build(SAMPLE, 1, Codec.SNAPPY, 12),
        built(SAMPLE, Codec.NONE, 16),
        control_batch(20),
        built(SAMPLE, Codec.LZ4, 21),
    )
)
"""A log that has seen every format."""

MIXED_OFFSETS = [*range(20), *range(21, 25)]


class BatchesTests(SynchronousTestCase):
    """The walk that all formats have in common."""

    def test_spans(self) -> None:
        """Each batch and outer message is told with its position, size, magic, offsets and time."""
        newest = 1_700_000_000_007
        parts = [
            (build(SAMPLE[:1], 0, Codec.NONE, 0), 0, 0, 0, -1),
            (build(SAMPLE, 1, Codec.GZIP, 1), 1, 4, 4, newest),
            (built(SAMPLE, Codec.ZSTD, 5), 2, 5, 8, newest),
        ]
        expected, position = [], 0
        for part, magic, base_offset, last_offset, timestamp in parts:
            expected.append(Span(position, len(part), magic, base_offset, last_offset, timestamp))
            position += len(part)
        self.assertEqual(list(batches(memoryview(b"".join(part for part, *_ in parts)))), expected)

    def test_cut_off(self) -> None:
        """Data cut off at any byte gives the whole batches before it."""
        spans = list(batches(MIXED))
        for size in range(len(MIXED)):
            expected = [span for span in spans if span.position + span.size <= size]
            self.assertEqual(list(batches(MIXED[:size])), expected)

    def test_impossible(self) -> None:
        """A magic or a length that cannot be is corrupt, after the batches before it."""
        good = built(SAMPLE)
        for at, bad in (
            (16, b"\3"),
            (16, b"\xff"),
            (8, b"\0\0\0\x30"),
            (8, b"\xff\xff\xff\xff"),
            (8, b"\0\0\0\0"),
        ):
            walk = batches(good + good[:at] + bad + good[at + len(bad) :])
            next(walk)
            self.assertRaises(CorruptRecords, next, walk)


class IterAnyTests(SynchronousTestCase):
    """Records as a consumer reads them."""

    def test_mixed(self) -> None:
        """Records of all formats come in order; control batches are left out."""
        records = list(iter_any(memoryview(MIXED)))
        self.assertEqual([record.offset for record in records], MIXED_OFFSETS)
        values = [record.value for record in SAMPLE]
        self.assertEqual([record.value for record in records], values * 6)
        self.assertEqual([record.timestamp for record in records[:8]], [-1] * 8)
        self.assertEqual(
            [record.timestamp for record in records[8:12]], [record.timestamp for record in SAMPLE]
        )

    def test_cut_off(self) -> None:
        """Data cut off at any byte gives a beginning of the records and no error."""
        whole = list(iter_any(MIXED))
        for size in range(len(MIXED)):
            found = list(iter_any(MIXED[:size]))
            self.assertEqual(found, whole[: len(found)])

    def test_crc(self) -> None:
        """A wrong CRC stops after the batches before it, in every magic; unchecked it does not."""
        for bad in (
            built(SAMPLE, base_offset=4),
            build(SAMPLE, 1, Codec.NONE, 4),
            build(SAMPLE, 0, Codec.NONE, 4),
        ):
            wrong = bytearray(built(SAMPLE) + bad)
            wrong[len(built(SAMPLE)) + (17 if bad[16] == 2 else 12)] ^= 1
            found = iter_any(memoryview(wrong))
            for _ in SAMPLE:
                next(found)
            self.assertRaises(CorruptRecords, next, found)
            self.assertEqual(len(list(iter_any(memoryview(wrong), check=False))), 8)

    def test_columns(self) -> None:
        """read_columns gives the same as columns, and the offset to go on from."""
        columns: tuple[list[int], list[int], list[bytes | None], list[bytes | None], list[Headers]]
        columns = ([], [], [], [], [])
        data = MIXED + built([WITH_HEADERS], base_offset=25)
        self.assertEqual(read_columns(data, *columns), 26)
        expected = list(iter_any(data))
        self.assertEqual([Record(*fields) for fields in zip(*columns, strict=True)], expected)
        self.assertEqual(expected[-1].headers, WITH_HEADERS.headers)
        self.assertEqual(read_columns(data[:30], *columns), -1)

    def test_columns_control_last(self) -> None:
        """A control batch at the end moves the offset to go on from."""
        self.assertEqual(read_columns(built(SAMPLE) + control_batch(4), [], [], [], []), 5)

    def test_limit(self) -> None:
        """The limit holds for each batch."""
        batch = built([Record(0, 0, None, bytes(100_000), [])], Codec.ZSTD)
        self.assertRaises(CorruptRecords, list, iter_any(batch, limit_bytes=1000))


class DownConvertTests(SynchronousTestCase):
    """For old fetchers."""

    @quick
    @given(record_lists(), legacy_codecs, st.sampled_from([0, 1]), st.integers(0, 25))
    def test_records(self, records: list[Record], codec: Codec, to_magic: int, start: int) -> None:
        """Keys, values, offsets and codec are kept; headers, and for magic 0 times, are lost."""
        data = built(records, codec, 100)
        lowered = down_convert(memoryview(data), to_magic, 100 + start, 1 << 20)
        expected = [
            record._replace(headers=[], timestamp=record.timestamp if to_magic else -1)
            for record in moved(records, 100)[start:]
        ]
        self.assertEqual(list(iter_any(lowered)), expected)
        self.assertLessEqual({message.magic for message in iter_messages(lowered)}, {to_magic})
        self.assertLessEqual({message.codec for message in iter_messages(lowered)}, {codec})

    def test_mixed(self) -> None:
        """Formats that the fetcher knows are given as they stand; the others in the one it asked for."""
        old = build(SAMPLE, 0, Codec.NONE, 0) + build(SAMPLE, 0, Codec.GZIP, 4)
        for to_magic in (0, 1):
            lowered = down_convert(MIXED, to_magic, 0, 1 << 20)
            self.assertTrue(lowered.startswith(old))
            self.assertEqual([record.offset for record in iter_any(lowered)], MIXED_OFFSETS)
            self.assertEqual(max(span.magic for span in batches(lowered)), to_magic)

    def test_log_append_time(self) -> None:
        """The kind of timestamp is kept for magic 1, from batches and from wrappers."""
        batch = assemble(payload(built(SAMPLE)), 4, TIMESTAMP_TYPE, SAMPLE[0].timestamp, 99)
        lowered = down_convert(batch, 1, 0, 1 << 20)
        self.assertTrue(all(message.log_append_time for message in iter_messages(lowered)))
        self.assertEqual({record.timestamp for record in iter_any(lowered)}, {99})

    def test_max_bytes(self) -> None:
        """The first batch is given whole, others while they fit."""
        data = b"".join(built(SAMPLE, base_offset=at) for at in (0, 4, 8))
        one = len(down_convert(built(SAMPLE), 1, 0, 1))
        for max_bytes, count in ((1, 4), (2 * one - 1, 4), (2 * one, 8), (9 * one, 12)):
            self.assertEqual(len(list(iter_any(down_convert(data, 1, 0, max_bytes)))), count)

    def test_large_inside(self) -> None:
        """A batch with much content is converted in parts; each of its records comes once."""
        records = [Record(number, 5, None, bytes(100_000), []) for number in range(30)]
        for codec in (Codec.GZIP, Codec.LZ4):
            for data in (built(records, codec), build(records, 1, codec, 0)):
                found: list[int] = []
                while len(found) < 30:
                    part = down_convert(data, 0, len(found), len(data))
                    self.assertEqual(sum(1 for _ in batches(part)), 1)
                    offsets = [record.offset for record in iter_any(part)]
                    self.assertLessEqual(len(offsets), CONVERTED_BYTES // 100_000)
                    found += offsets
                self.assertEqual(found, list(range(30)))

    def test_all_together(self) -> None:
        """The decompressed size of all batches is bounded, too: later ones are left for the next fetch."""
        one = [Record(0, 5, None, bytes(900_000), [])]
        data = b"".join(built(one, Codec.GZIP, base_offset) for base_offset in range(20))
        part = down_convert(data, 1, 0, 1 << 20, 2_000_000)
        self.assertEqual([record.offset for record in iter_any(part)], [0, 1, 2])

    def test_stream(self) -> None:
        """A batch read in pieces gives the records that it gives at once, and the same errors."""
        records = [Record(number, number, b"k", b"v" * (number % 5), []) for number in range(2500)]
        for codec in (Codec.NONE, Codec.ZSTD):
            data = built(records, codec, 7)
            self.assertEqual(list(stream_any(data)), list(iter_any(data)))
        for bad in (
            payload(built(records))[:-1],
            payload(built(records)) + b"x",
            payload(built(records)) * 2,
        ):
            broken = assemble(bad, 2500, 0, 0, 0)
            self.assertRaises(CorruptRecords, list, stream_any(broken))
        self.assertEqual(list(stream_any(MIXED)), list(iter_any(MIXED)))

    def test_nothing_left(self) -> None:
        """Batches that leave nothing do not count as the first one."""
        data = built(SAMPLE) + control_batch(4) + built(SAMPLE, base_offset=5)
        self.assertEqual([record.offset for record in iter_any(down_convert(data, 1, 4, 1))], [5, 6, 7, 8])
        self.assertEqual(down_convert(control_batch(4), 0, 0, 1), b"")

    def test_zstd(self) -> None:
        """A zstd batch is refused where it comes first, and ends the result where it does not."""
        new = built(SAMPLE, Codec.ZSTD, 4)
        self.assertRaises(UnsupportedCompression, down_convert, new, 1, 0, 1 << 20)
        self.assertEqual(len(list(iter_any(down_convert(built(SAMPLE) + new, 1, 0, 1 << 20)))), 4)

    def test_corrupt(self) -> None:
        """A batch that must be opened is checked."""
        wrong = bytearray(built(SAMPLE))
        wrong[-1] ^= 1
        self.assertRaises(CorruptRecords, down_convert, wrong, 0, 0, 1 << 20)

    def test_cut_off(self) -> None:
        """A batch that is cut off is left out."""
        data = built(SAMPLE) + built(SAMPLE, base_offset=4)
        self.assertEqual(len(list(iter_any(down_convert(data[:-1], 1, 0, 1 << 20)))), 4)


class UpConvertTests(SynchronousTestCase):
    """From old sets."""

    def test_records(self) -> None:
        """Records come out with absolute offsets."""
        data = build(SAMPLE, 1, Codec.LZ4, 7) + build(SAMPLE, 0, Codec.NONE, 11)
        self.assertEqual([record.offset for record in up_convert(data)], list(range(7, 15)))

    def test_cut_off(self) -> None:
        """A set that is cut off is corrupt."""
        data = encode_message(0, 1, 0, 5, None, b"v")
        for size in range(1, len(data)):
            self.assertRaises(CorruptRecords, up_convert, data[:size])


class RecompressTests(SynchronousTestCase):
    """For topics with a compression of their own."""

    @quick
    @given(record_lists(), codecs, codecs)
    def test_any(self, records: list[Record], before: Codec, after: Codec) -> None:
        """Only codec, length and CRC change; the records are the same."""
        data = payload(built(records))
        fields = (len(records), before | 0x10, 7, 8, 9, 10, 11, 12, 13, 50)
        batch = assemble(compress(before, data), *fields)
        changed = recompress(memoryview(batch), after)
        header = parse_header(changed)
        check(memoryview(changed), 0, header)
        self.assertEqual(changed, assemble(compress(after, data), fields[0], after | 0x10, *fields[2:]))
        self.assertEqual(header.codec, after)

    def test_refused(self) -> None:
        """A batch that is cut off, too large or of another magic is corrupt."""
        batch = built(SAMPLE, Codec.GZIP)
        for size in range(len(batch)):
            self.assertRaises(CorruptRecords, recompress, batch[:size], Codec.LZ4)
        self.assertRaises(CorruptRecords, recompress, batch, Codec.LZ4, None, 10)
        old = build([SAMPLE[1]], 1)
        self.assertRaises(CorruptRecords, recompress, old, Codec.LZ4)
