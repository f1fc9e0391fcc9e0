"""Tests of kafkatx.records.header."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, ErrorCode, UnsupportedCompression
from kafkatx.records import header as module
from kafkatx.records.builder import assemble, build_values
from kafkatx.records.compression import Codec
from kafkatx.records.header import HEADER, HEADER_BYTES, BatchHeader, check, parse_header

GOLDEN = bytes.fromhex(
    "0000000000000007"  # base_offset 7
    "00000038"  # length 56
    "00000003"  # partition_leader_epoch 3
    "02"
    "d78a1d08"  # CRC-32C
    "0000"
    "00000000"  # last_offset_delta
    "0000018bcfe56800"  # base_timestamp 1700000000000
    "0000018bcfe56800"
    "ffffffffffffffff"  # no producer id
    "ffff"
    "ffffffff"
    "00000001"
    "0c"  # length 6
    "00"
    "00"  # timestamp delta
    "00"  # offset delta
    "01"  # null key
    "00"  # empty value
    "00"  # no headers
)
"""One record without key and with an empty value, written out by hand."""


def stored(count: int, delta: int) -> memoryview:
    """A batch whose header claims *count* records; none are inside."""
    return memoryview(assemble(b"", count, 0, 5, 5, last_offset_delta=delta))


class ParseTests(SynchronousTestCase):
    """The header's layout."""

    def test_golden(self) -> None:
        """A batch written out by hand is read field by field, and built alike."""
        expected = BatchHeader(
            7, 56, 3, 2, 0xD78A1D08, 0, 0, 1_700_000_000_000, 1_700_000_000_000, -1, -1, -1, 1
        )
        self.assertEqual(parse_header(b"before" + GOLDEN, 6), expected)
        self.assertIsInstance(parse_header(GOLDEN), BatchHeader)
        self.assertEqual(build_values([b""], 1_700_000_000_000, base_offset=7, leader_epoch=3), GOLDEN)
        check(memoryview(GOLDEN), 0, expected, produced=True)

    def test_positions(self) -> None:
        """Each position constant points at its field."""
        header = BatchHeader._make([100, 101, 102, 2, *range(104, 113)])
        packed = HEADER.pack(*header)
        names = {field: f"{field.upper()}_AT" for field in BatchHeader._fields}
        names["partition_leader_epoch"] = "LEADER_EPOCH_AT"
        starts = {field: getattr(module, name) for field, name in names.items()}
        ends = [*sorted(starts.values())[1:], HEADER_BYTES]
        for (field, start), end in zip(sorted(starts.items(), key=lambda item: item[1]), ends, strict=True):
            self.assertEqual(int.from_bytes(packed[start:end], "big"), getattr(header, field), field)

    def test_derived(self) -> None:
        """Offsets, size and attribute bits are told by properties."""
        header = parse_header(GOLDEN)._replace(attributes=0x08 | 0x10 | 0x20 | 4, last_offset_delta=9)
        self.assertEqual((header.last_offset, header.next_offset, header.size_bytes), (16, 17, len(GOLDEN)))
        self.assertEqual(header.codec, Codec.ZSTD)
        self.assertTrue(header.log_append_time and header.transactional and header.control)
        plain = header._replace(attributes=0)
        self.assertFalse(plain.log_append_time or plain.transactional or plain.control)
        with self.assertRaises(UnsupportedCompression):
            header._replace(attributes=7).codec  # noqa: B018

    def test_cut_off(self) -> None:
        """A buffer that ends within the header is corrupt at every length."""
        for size in range(HEADER_BYTES):
            self.assertRaises(CorruptRecords, parse_header, GOLDEN[:size])
        self.assertRaises(CorruptRecords, parse_header, GOLDEN, len(GOLDEN) - HEADER_BYTES + 1)


class CheckTests(SynchronousTestCase):
    """The checks of a batch's frame."""

    def refused(self, batch: bytes | memoryview, produced: bool = False) -> None:
        """See that a batch is corrupt, with Kafka's code for it."""
        error = self.assertRaises(CorruptRecords, check, memoryview(batch), 0, parse_header(batch), produced)
        self.assertEqual(error.code, ErrorCode.CORRUPT_MESSAGE)

    def test_every_bit(self) -> None:
        """A flipped bit in the checksum, or anywhere that it covers, is found."""
        for at in range(module.CRC_AT, len(GOLDEN)):
            for bit in range(8):
                flipped = bytearray(GOLDEN)
                flipped[at] ^= 1 << bit
                self.refused(bytes(flipped))

    def test_stamped(self) -> None:
        """Base offset and leader epoch may be stamped without the checksum's knowing."""
        batch = bytearray(GOLDEN)
        batch[: module.LENGTH_AT] = (2**40).to_bytes(8, "big")
        batch[module.LEADER_EPOCH_AT : module.MAGIC_AT] = (9).to_bytes(4, "big")
        check(memoryview(batch), 0, parse_header(batch), produced=True)

    def test_length(self) -> None:
        """A length that is negative, below the header's or past the buffer is refused, every one of them."""
        for length in (-(2**31), -1, 0, 48, 49, 55, 57, 2**31 - 1):
            self.refused(GOLDEN[:8] + length.to_bytes(4, "big", signed=True) + GOLDEN[12:])
        for size in range(HEADER_BYTES, len(GOLDEN)):
            self.refused(GOLDEN[:size])

    def test_no_content(self) -> None:
        """A length so small that the checksum, 0, would be over nothing is refused."""
        self.refused(GOLDEN[:8] + bytes(4) + GOLDEN[12:17] + bytes(4) + GOLDEN[21:])

    def test_magic(self) -> None:
        """Another magic is refused."""
        for magic in (0, 1, 3, 255):
            self.refused(GOLDEN[:16] + bytes((magic,)) + GOLDEN[17:])

    def test_within(self) -> None:
        """A batch is checked where it stands in a larger buffer."""
        check(memoryview(b"xyz" + GOLDEN + b"more"), 3, parse_header(GOLDEN))

    def test_produced_counts(self) -> None:
        """A producer's batch has records, and no gaps between them."""
        for count, delta in ((0, 0), (0, -1), (-1, 0), (1, 1), (2, 0), (-(2**31), 2**31 - 1)):
            self.refused(stored(count, delta), produced=True)

    def test_stored_counts(self) -> None:
        """A stored batch may have lost records to compaction, but has not more than offsets."""
        for count, delta in ((0, 0), (0, 4), (3, 4), (5, 4)):
            check(stored(count, delta), 0, parse_header(stored(count, delta)))
        for count, delta in ((-1, 4), (6, 4), (2, 0), (0, -1), (-5, -6)):
            self.refused(stored(count, delta))
