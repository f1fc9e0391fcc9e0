"""Tests of kafkatx.records.builder."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records import builder as module
from kafkatx.records.batch import check, iter_records, parse_header
from kafkatx.records.builder import BatchBuilder, build_values
from kafkatx.records.compression import Codec
from tests.records.strategies import SAMPLE, codecs, quick


class BatchBuilderTests(SynchronousTestCase):
    """One record after the other."""

    def test_fields(self) -> None:
        """Every argument is in the header, and the batch passes a broker's check."""
        builder = BatchBuilder(Codec.LZ4, 77, 3, 500, transactional=True)
        for record in SAMPLE:
            builder.append(record.key, record.value, record.timestamp)
        batch = builder.build(1000, 8)
        header = parse_header(batch)
        check(memoryview(batch), 0, header, produced=True)
        self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (77, 3, 500))
        self.assertEqual((header.base_offset, header.last_offset, header.count), (1000, 1003, 4))
        self.assertEqual(header.partition_leader_epoch, 8)
        self.assertEqual((header.codec, header.transactional, header.control), (Codec.LZ4, True, False))
        self.assertEqual(
            (header.base_timestamp, header.max_timestamp), (1_700_000_000_000, 1_700_000_000_007)
        )

    def test_defaults(self) -> None:
        """By default a batch has no producer, no epoch and is not compressed."""
        builder = BatchBuilder()
        builder.append(None, b"v", 5)
        header = parse_header(builder.build())
        self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (-1, -1, -1))
        self.assertEqual((header.base_offset, header.partition_leader_epoch, header.attributes), (0, -1, 0))

    def test_size(self) -> None:
        """size_bytes is exactly the uncompressed batch's size, after each record."""
        builder = BatchBuilder()
        for record in SAMPLE:
            builder.append(record.key, record.value, record.timestamp, [("a", None), ("b", b"c")])
            self.assertEqual(builder.size_bytes, len(builder.build()))
            self.assertEqual(builder.count, record.offset + 1)

    def test_level(self) -> None:
        """The level reaches the codec."""
        batches = []
        for level in (1, 9):
            builder = BatchBuilder(Codec.GZIP, level=level)
            for number in range(300):
                builder.append(None, b"%d %x" % (number * number, number), 5)
            batches.append(builder.build())
        self.assertGreater(len(batches[0]), len(batches[1]))

    def test_lists(self) -> None:
        """Lists and records in any order make the batch that records alone make, offsets of every length."""
        for sizes in ((1, 62, 1, 3), (60, 40, 5), (8190, 5, 1), (0, 9000), (63, 2), (64, 8200)):
            one, lists = BatchBuilder(), BatchBuilder()
            for number, size in enumerate(sizes):
                timestamp = 1_700_000_000_000 + (number * 7919) % 5 * 1000 - 2000
                values = [b"%d" % i * (i % 40) for i in range(size)]
                for value in [*values, b"one"]:
                    one.append(None, value, timestamp)
                if values:
                    lists.append_values(values, timestamp)
                lists.append(None, b"one", timestamp)
                self.assertEqual((lists.count, lists.size_bytes), (one.count, one.size_bytes))
            self.assertEqual(lists.build(), one.build())

    def test_empty(self) -> None:
        """A batch without records is not built: brokers refuse it."""
        self.assertRaises(ValueError, BatchBuilder().build)
        self.assertRaises(ValueError, build_values, [], 5)


class BuildValuesTests(SynchronousTestCase):
    """The fast path."""

    @quick
    @given(st.lists(st.binary(max_size=300), min_size=1, max_size=150), codecs)
    def test_same(self, values: list[bytes], codec: Codec) -> None:
        """The batch is byte for byte what the builder makes of the same values."""
        builder = BatchBuilder(codec, 9, 1, 4, transactional=True)
        for value in values:
            builder.append(None, value, 12345)
        batch = build_values(
            values,
            12345,
            codec,
            producer_id=9,
            producer_epoch=1,
            base_sequence=4,
            transactional=True,
            base_offset=6,
            leader_epoch=2,
        )
        self.assertEqual(batch, builder.build(6, 2))

    def test_large(self) -> None:
        """Offset deltas of three bytes and values of all lengths' lengths are as the builder's."""
        values = [b"v" * (at % 131) for at in range(9000)] + [bytes(8191), bytes(8192), bytes(1 << 20)]
        builder = BatchBuilder()
        for value in values:
            builder.append(None, value, 1)
        self.assertEqual(build_values(values, 1), builder.build())

    def test_views(self) -> None:
        """Values may be memoryviews."""
        batch = build_values([memoryview(b"one"), b"two"], 1)  # type: ignore[list-item] # the test's point
        self.assertEqual([record.value for record in iter_records(memoryview(batch))], [b"one", b"two"])

    def test_bounded(self) -> None:
        """The remembered sizes are bounded, and the batch is right when they are forgotten in its middle."""
        values = [bytes(size) for size in range(100)]
        expected = build_values(values, 1)
        heads, sizes = [module._Heads(offset_bytes) for offset_bytes in range(6)], module._Sizes()
        with (
            mock.patch.multiple(module, _HEADS=heads, _SIZES=sizes),
            mock.patch.object(module._Heads, "_MOST", 10),
        ):
            self.assertEqual(build_values(values, 1), expected)
        self.assertLessEqual(max(map(len, [*heads, sizes])), 10)
