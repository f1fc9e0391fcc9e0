"""Tests of the positions of records."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.spans import cut, cut_rebased, find_keys, find_spans
from kafkatx.records.batch import HEADER_BYTES, Record, iter_records, parse_header
from kafkatx.records.builder import BatchBuilder, assemble

NULLABLE = st.one_of(st.none(), st.binary(max_size=40), st.just(b"x" * 70), st.just(b"y" * 9000))
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=3))), max_size=2)
RECORDS = st.lists(
    st.tuples(NULLABLE, NULLABLE, st.integers(-(10**12), 10**12), HEADERS), min_size=1, max_size=12
)
FEW = settings(max_examples=150, deadline=None)

Given = list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]]


def built(records: Given) -> bytes:
    """Return a batch of these records, which begins at offset 1000."""
    builder = BatchBuilder()
    for key, value, timestamp, headers in records:
        builder.append(key, value, timestamp, headers)
    return builder.build(1000)


class SpansTests(SynchronousTestCase):
    """The columns, and what is cut out by them."""

    @FEW
    @given(RECORDS)
    def test_columns(self, records: Given) -> None:
        """Keys, offsets, times and tombstones are those that the decoder of whole records finds."""
        batch = built(records)
        decoded = list(iter_records(memoryview(batch)))
        spans = find_spans(batch[HEADER_BYTES:], len(records), 1000)
        base = parse_header(batch).base_timestamp
        self.assertEqual(spans.keys, [record.key for record in decoded])
        self.assertEqual(spans.offsets, [record.offset for record in decoded])
        self.assertEqual([base + delta for delta in spans.timestamps], [r.timestamp for r in decoded])
        self.assertEqual(spans.tombstones, [record.value is None for record in decoded])
        self.assertEqual(find_keys(batch[HEADER_BYTES:], len(records), 1000), (spans.keys, spans.offsets))
        self.assertEqual((spans.starts[0], spans.starts[-1]), (0, len(batch) - HEADER_BYTES))

    @FEW
    @given(RECORDS, st.data(), st.integers(-(10**12), 10**12))
    def test_cut(self, records: Given, data: st.DataObject, shift_ms: int) -> None:
        """Retained records decode to the same records, also with another base timestamp."""
        batch = built(records)
        payload = batch[HEADER_BYTES:]
        header = parse_header(batch)
        spans = find_spans(payload, len(records), 1000)
        kept = sorted(data.draw(st.sets(st.sampled_from(range(len(records))), min_size=1)))
        decoded = list(iter_records(memoryview(batch)))
        expected = [decoded[number] for number in kept]
        for rest, base in (
            (cut(payload, spans, kept), header.base_timestamp),
            (cut_rebased(payload, spans, kept, shift_ms), header.base_timestamp - shift_ms),
        ):
            self.assertEqual(self.decoded(rest, len(kept), base, len(records) - 1), expected)

    def decoded(self, payload: bytes, count: int, base_timestamp: int, last_delta: int) -> list[Record]:
        """Return the records of a payload."""
        batch = assemble(payload, count, 0, base_timestamp, 0, base_offset=1000, last_offset_delta=last_delta)
        return list(iter_records(memoryview(batch)))

    def test_garbage(self) -> None:
        """A payload that is cut off, too long, or counted wrongly is an error, at every byte."""
        batch = built([(b"key", b"value" * 30, 5, [("h", b"v")]), (b"k", None, 7, [])])
        payload = batch[HEADER_BYTES:]
        for end in range(len(payload)):
            with self.assertRaises(CorruptRecords):
                find_spans(payload[:end], 2, 0)
            with self.assertRaises(CorruptRecords):
                find_keys(payload[:end], 2, 0)
        for wrong, count in ((payload + b"\0", 2), (payload, 1), (payload, 3)):
            with self.assertRaises(CorruptRecords):
                find_spans(wrong, count, 0)
            with self.assertRaises(CorruptRecords):
                find_keys(wrong, count, 0)
