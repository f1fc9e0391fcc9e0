"""Independent readers and writers of the same bytes: kafka-python and aiokafka, each codec that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from aiokafka.record import default_records as aio_default
from aiokafka.record import legacy_records as aio_legacy
from aiokafka.record.memory_records import MemoryRecords as AioMemoryRecords
from hypothesis import given
from hypothesis import strategies as st
from kafka import codec as kafka_codec
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.batch import Record, check, parse_header
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import iter_any
from kafkatx.records.legacy.message_sets import assign_offsets, build
from tests.records.strategies import SAMPLE, built, moved, quick, record_lists


def read(reader: Callable[[bytes], Any], data: bytes) -> Iterator[Record]:
    """Read the data with the other implementation, which checks the checksums."""
    found = reader(data)
    while (batch := found.next_batch()) is not None:
        if not batch.validate_crc():
            raise AssertionError("the other implementation finds a wrong CRC")
        for record in batch:
            timestamp = -1 if record.timestamp is None else record.timestamp
            yield Record(record.offset, timestamp, record.key, record.value, list(record.headers))


def written(builder: Any, records: list[Record]) -> bytes:
    """Build a batch with the other implementation, offsets from 0 on."""
    for offset, record in enumerate(records):
        builder.append(offset, record.timestamp, record.key, record.value, record.headers)
    return bytes(builder.build())


def timeless(records: list[Record], magic: int) -> list[Record]:
    """The records as the magic keeps them."""
    return records if magic else [record._replace(timestamp=-1) for record in records]


KAFKA_PYTHON = [Codec.NONE, Codec.GZIP] + [
    codec
    for codec, there in (
        (Codec.SNAPPY, kafka_codec.has_snappy()),
        (Codec.LZ4, kafka_codec.has_lz4()),
        (Codec.ZSTD, kafka_codec.has_zstd()),
    )
    if there
]
"""It needs a package for each other codec."""

READERS = ((MemoryRecords, KAFKA_PYTHON), (AioMemoryRecords, list(Codec)))


class ReadByOthersTests(SynchronousTestCase):
    """They read what we write."""

    @quick
    @given(record_lists(), st.integers(0, 2**62))
    def test_magic_2(self, records: list[Record], base_offset: int) -> None:
        """Batches, with headers."""
        for reader, known in READERS:
            for codec in known:
                found = list(read(reader, built(records, codec, base_offset)))
                self.assertEqual(found, moved(records, base_offset))

    @quick
    @given(record_lists(with_headers=False), st.sampled_from([0, 1]), st.integers(0, 2**62))
    def test_legacy(self, records: list[Record], magic: int, base_offset: int) -> None:
        """Message sets, compressed or not."""
        expected = moved(timeless(records, magic), base_offset)
        for reader, known in READERS:
            for codec in set(known) - {Codec.ZSTD}:
                if (codec, magic) == (Codec.LZ4, 0):
                    continue  # neither reads it without another package
                self.assertEqual(list(read(reader, build(records, magic, codec, base_offset))), expected)

    def test_values(self) -> None:
        """Batches of the fast path."""
        values = [b"v" * (at % 150) for at in range(9000)]
        for reader, known in READERS:
            for codec in known:
                found = list(read(reader, build_values(values, 5, codec, base_offset=3)))
                self.assertEqual([record.value for record in found], values)
                self.assertEqual([record.offset for record in found], list(range(3, 9003)))


class WrittenByOthersTests(SynchronousTestCase):
    """We read what they write."""

    def builders(self, codec: Codec) -> Iterator[Any]:
        """Their builders of magic 2, our codec numbers being Kafka's."""
        if codec in KAFKA_PYTHON:
            yield DefaultRecordBatchBuilder(2, codec, False, 5, 1, 9, 1 << 20)
        for made in (aio_default.DefaultRecordBatchBuilder, aio_default._DefaultRecordBatchBuilderPy):
            yield made(2, codec, False, 5, 1, 9, 1 << 20)

    def legacy_builders(self, magic: int, codec: Codec) -> Iterator[Any]:
        """Their builders of message sets."""
        if codec in KAFKA_PYTHON:
            yield LegacyRecordBatchBuilder(magic, codec, 1 << 20)
        for made in (aio_legacy.LegacyRecordBatchBuilder, aio_legacy._LegacyRecordBatchBuilderPy):
            yield made(magic, codec, 1 << 20)

    @quick
    @given(record_lists())
    def test_magic_2(self, records: list[Record]) -> None:
        """Batches, with headers; they pass a broker's check."""
        for codec in Codec:
            for builder in self.builders(codec):
                data = written(builder, records)
                header = parse_header(data)
                check(memoryview(data), 0, header, produced=True)
                self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (5, 1, 9))
                self.assertEqual(list(iter_any(data)), records)

    @quick
    @given(record_lists(with_headers=False), st.sampled_from([0, 1]))
    def test_legacy(self, records: list[Record], magic: int) -> None:
        """Message sets, before and after offsets were assigned; they then read those."""
        expected = timeless(records, magic)
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            if (codec, magic) == (Codec.LZ4, 0):
                continue  # they do not write it
            for builder in self.legacy_builders(magic, codec):
                data = written(builder, records)
                # a wrapper's offset is any until a broker assigns it, and so are its records'
                self.assertEqual(
                    [record[1:] for record in iter_any(data)], [record[1:] for record in expected]
                )
                stored, _ = assign_offsets(memoryview(data), 1000, None)
                for reader, known in READERS:
                    if codec in known:
                        self.assertEqual(list(read(reader, stored)), moved(expected, 1000))

    def test_same_bytes(self) -> None:
        """Uncompressed batches and sets are byte for byte theirs, but for aiokafka's leader epoch."""
        plain = [record._replace(timestamp=SAMPLE[0].timestamp + record.offset) for record in SAMPLE]
        ours = built(plain)
        for builder in (
            DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20),
            aio_default.DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20),
        ):
            theirs = written(builder, plain)
            self.assertEqual(theirs[:12] + theirs[16:], ours[:12] + ours[16:])
        for magic in (0, 1):
            for made in (LegacyRecordBatchBuilder, aio_legacy.LegacyRecordBatchBuilder):
                self.assertEqual(written(made(magic, 0, 1 << 20), plain), build(plain, magic))
