"""Tests of kafkatx.clientcore.producer.batch."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer.batch import (
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    ProducerIdAndEpoch,
    record_bytes,
    sequence_after,
    split_to_fit,
)
from kafkatx.records.batch import check, iter_records, parse_header
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec


class Cuts:
    """A receipt that counts its batches."""

    cuts = 0

    def add_batch(self) -> None:
        """Count."""
        self.cuts += 1


def batch(values: list[bytes], sequence: int = 100, codec: Codec = Codec.NONE) -> ProducerBatch:
    """Return a sealed batch of producer 7, epoch 2."""
    made = ProducerBatch("t", 3, BatchBuilder(codec), 1.0, 9.0)
    assert made.builder is not None
    for number, value in enumerate(values):
        made.builder.append(b"k", value, 50 + number, [("h", b"x")])
        made.size_bytes += record_bytes(b"k", value, [("h", b"x")])
        made.payload_bytes += len(value) + 1
    made.records = len(values)
    made.seal(ProducerIdAndEpoch(7, 2), sequence)
    return made


class BatchTests(SynchronousTestCase):
    def test_sequence_wraps(self) -> None:
        """The sequence after 2^31 - 1 is 0; a batch without a sequence never gets one."""
        self.assertEqual(sequence_after(5, 3), 8)
        self.assertEqual(sequence_after(0x7FFFFFFF, 2), 1)
        self.assertEqual(sequence_after(-1, 7), -1)

    def test_record_bytes(self) -> None:
        """A record never takes more bytes than estimated, whatever is in it."""
        for headers in ([], [("ä" * 50, b"x" * 300), ("", None)]):
            for key in (None, b"", b"k" * 9000):
                builder = BatchBuilder()
                builder.append(None, b"", -(1 << 62))
                before = builder.size_bytes
                builder.append(key, b"v" * 70_000, 1 << 62, headers)
                self.assertLessEqual(builder.size_bytes - before, record_bytes(key, b"v" * 70_000, headers))

    def test_sealed_anew(self) -> None:
        """A batch with another producer id and sequence keeps its records, and has a valid checksum."""
        made = batch([b"a", b"b"], codec=Codec.ZSTD)
        records = list(iter_records(memoryview(made.data)))
        made.seal(ProducerIdAndEpoch(8, 3), 0)
        header = parse_header(made.data)
        check(memoryview(made.data), 0, header, produced=True)
        self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (8, 3, 0))
        self.assertEqual(list(iter_records(memoryview(made.data))), records)

    def test_halves(self) -> None:
        """The two halves have the records, sequences, bytes and deadline of the whole."""
        made = batch([b"1", b"22", b"333"], sequence=0x7FFFFFFF, codec=Codec.GZIP)
        split = made.split()
        headers = [parse_header(half.data) for half in split]
        self.assertEqual([header.base_sequence for header in headers], [0x7FFFFFFF, 0])
        self.assertEqual([header.codec for header in headers], [Codec.GZIP] * 2)
        found = [record for half in split for record in iter_records(memoryview(half.data))]
        self.assertEqual([(r.value, r.key, r.timestamp) for r in found],
            [(b"1", b"k", 50), (b"22", b"k", 51), (b"333", b"k", 52)])  # fmt: skip
        self.assertEqual([half.records for half in split], [1, 2])
        self.assertEqual(sum(half.size_bytes for half in split), made.size_bytes)
        self.assertEqual(sum(half.payload_bytes for half in split), made.payload_bytes)
        self.assertEqual({half.deadline_s for half in split}, {9.0})

    def test_entries_cut(self) -> None:
        """Each entry follows its records; one in both halves is told of the split."""
        made = batch([b"%d" % i for i in range(6)])
        receipts = [Cuts(), Cuts(), Cuts()]
        made.entries = [receipts[0], 0, 2, 1, receipts[1], 2, 3, 2, receipts[2], 5, 1, 3]
        before, after = made.split()
        self.assertEqual(list(before.each_entry()), [(receipts[0], 0, 2, 1), (receipts[1], 2, 1, 2)])
        self.assertEqual(list(after.each_entry()), [(receipts[1], 0, 2, 2), (receipts[2], 2, 1, 3)])
        self.assertEqual([receipt.cuts for receipt in receipts], [0, 1, 0])

    @settings(deadline=None, max_examples=50)
    @given(st.lists(st.binary(max_size=300), max_size=60), st.integers(RECORD_OVERHEAD_BYTES, 2000))
    def test_pieces(self, values: list[bytes], limit: int) -> None:
        """Pieces are the values in order, none empty, and none too large except a single value."""
        cut = list(split_to_fit(values, limit))
        self.assertEqual([value for piece, _ in cut for value in piece], values)
        for piece, size in cut:
            self.assertEqual(size, sum(map(len, piece)))
            self.assertTrue(len(piece) == 1 or size + RECORD_OVERHEAD_BYTES * len(piece) <= limit)
