"""Tests of kafkatx.records.control: markers as they are built, read, and read by others."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.records.batch import iter_records, parse_header
from kafkatx.records.builder import assemble, encode_record
from kafkatx.records.compression import Codec, compress
from kafkatx.records.control import build_marker, read_marker
from kafkatx.records.header import CONTROL, TRANSACTIONAL, check
from kafkatx.types import Marker

NOW_MS = 1_700_000_000_000


def control(key: bytes, value: bytes | None, codec: Codec = Codec.NONE) -> bytes:
    """Return a control batch with one record."""
    payload = compress(codec, encode_record(0, 0, key, value))
    return assemble(payload, 1, TRANSACTIONAL | CONTROL | codec, NOW_MS, NOW_MS, 7, 2)


class ControlTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A marker is read as it was built, in a valid batch of one record without sequence."""
        for marker in (Marker(True, 0), Marker(False, 2**31 - 1)):
            data = build_marker(9, 3, marker, NOW_MS)
            header = parse_header(data)
            check(memoryview(data), 0, header, produced=True)
            self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (9, 3, -1))
            self.assertTrue(header.control and header.transactional)
            self.assertEqual(read_marker(data), marker)

    def test_bytes(self) -> None:
        """Key and value are Apache Kafka's: ``EndTransactionMarker`` and ``ControlRecordType``."""
        (record,) = iter_records(memoryview(build_marker(9, 3, Marker(True, 5), NOW_MS)))
        self.assertEqual((record.key, record.value), (b"\0\0\0\1", b"\0\0\0\0\0\5"))
        (record,) = iter_records(memoryview(build_marker(9, 3, Marker(False, 5), NOW_MS)))
        self.assertEqual(record.key, b"\0\0\0\0")

    def test_later_versions(self) -> None:
        """Fields that later versions add are skipped; the batch may be compressed."""
        for codec in (Codec.NONE, Codec.ZSTD):
            data = control(b"\0\1\0\1more", b"\0\1\0\0\0\5\0\2\0", codec)
            self.assertEqual(read_marker(data), Marker(True, 5))

    def test_others(self) -> None:
        """Control records of other types are no markers, nor is an empty batch."""
        self.assertIsNone(read_marker(control(b"\0\0\0\2", None)))
        self.assertIsNone(read_marker(assemble(b"", 0, TRANSACTIONAL | CONTROL, -1, -1, 7, 2)))

    def test_garbage(self) -> None:
        """A record that is too short, or cannot be decoded, is an error."""
        for data in (
            control(b"\0\0\0", b"\0\0\0\0\0\0"),
            control(b"\0\0\0\1", b"\0\0\0\0\0"),
            control(b"\0\0\0\1", None),
            assemble(b"\7garbage", 1, TRANSACTIONAL | CONTROL, NOW_MS, NOW_MS, 7, 2),
        ):
            self.assertRaises(CorruptRecords, read_marker, data)

    def test_bomb(self) -> None:
        """A control batch that inflates to more than a marker can be is not decompressed."""
        self.assertRaises(CorruptRecords, read_marker, control(b"\0\0\0\1", b"\0" * 100_000, Codec.ZSTD))
