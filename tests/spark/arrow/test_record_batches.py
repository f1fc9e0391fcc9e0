"""Stored batches become Arrow exactly as records that are read one by one do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.columns import decode_columns
from kafkatx.errors import CorruptRecords, KafkaTXError
from kafkatx.records.batch import COUNT_AT, CRC_AT, TIMESTAMP_TYPE, Record, payload
from kafkatx.records.builder import assemble
from kafkatx.records.compression import Codec, compress
from kafkatx.records.conversion import batches
from kafkatx.records.varint import encode
from kafkatx.spark.arrow import record_batches
from kafkatx.spark.arrow.columns import arrow_schema, record_batch
from kafkatx.spark.arrow.record_batches import Decoder
from kafkatx.spark.offsets import OffsetRange
from tests.records.strategies import SAMPLE, built, codecs, quick, record_lists
from tests.records.test_conversion import MIXED, MIXED_OFFSETS, control_batch

ALL = OffsetRange("t", 3, 0, 1 << 40)


def one_by_one(data: bytes, wanted: OffsetRange = ALL, headers: bool = False, crcs: bool = True) -> Any:
    """Return the records as the decoder of single records reads them."""
    view = memoryview(data)
    stored = (view[span.position : span.position + span.size] for span in batches(view))
    schema = arrow_schema(headers)
    found = decode_columns(stored, wanted.start, wanted.end, crcs, headers)
    return pa.Table.from_batches([record_batch("t", 3, columns, schema) for columns in found], schema)


def together(data: bytes, wanted: OffsetRange = ALL, headers: bool = False, crcs: bool = True) -> Any:
    """The records as they are read here; what Arrow itself can check of them is checked."""
    schema = arrow_schema(headers)
    found = list(Decoder(wanted, headers, crcs).decode(memoryview(data)))
    for batch in found:
        batch.validate(full=True)
    return pa.Table.from_batches(found, schema)


def log_of(*lists: list[Record], codec: Codec = Codec.NONE) -> bytes:
    """A batch for each list, with offsets that go on."""
    data, offset = b"", 0
    for records in lists:
        data += built(records, codec, offset)
        offset += len(records)
    return data


def outcome(read: Any, data: bytes, crcs: bool) -> Any:
    """The rows, or what is said to be wrong."""
    try:
        return read(data, crcs=crcs).to_pylist()
    except KafkaTXError as error:
        return type(error), str(error)


@st.composite
def damaged(draw: Any) -> bytes:
    """A batch with some bytes changed, left out or added behind its header, and perhaps a wrong count."""
    records = draw(record_lists()) * draw(st.sampled_from([1, 1, 20]))
    data = bytearray(payload(built(records)))
    for _ in range(draw(st.integers(0, 2))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        del data[draw(st.integers(0, len(data))) :]
    data += draw(st.sampled_from([b"", b"", b"\0", b"\x80"]))
    count = len(records) + draw(st.sampled_from([0, 0, 0, -1, 1]))
    codec = draw(codecs)
    return assemble(compress(codec, bytes(data)), count, codec, 1_000, 2_000, last_offset_delta=len(records))


class Counting(SynchronousTestCase):
    """Counts how often records had to be read one by one."""

    def setUp(self) -> None:
        """Nothing has been read."""
        self.slow = 0
        self.patch(record_batches, "decode_columns", self._gather)

    def _gather(self, *arguments: Any) -> Iterator[Any]:
        self.slow += 1
        return decode_columns(*arguments)


class SameTests(Counting):
    @quick
    @given(st.lists(record_lists(with_headers=False), max_size=4), codecs, st.booleans())
    def test_every_record(self, lists: list[list[Record]], codec: Codec, headers: bool) -> None:
        """Every field of every record, in every codec; none of them is read by itself."""
        self.slow = 0
        data = log_of(*lists, codec=codec)
        self.assertEqual(together(data, headers=headers), one_by_one(data, headers=headers))
        self.assertEqual(self.slow, 0)

    @quick
    @given(st.lists(record_lists(), min_size=1, max_size=4), codecs, st.booleans())
    def test_headers(self, lists: list[list[Record]], codec: Codec, headers: bool) -> None:
        """Records with headers, whether these are wanted or not."""
        data = log_of(*lists, codec=codec)
        self.assertEqual(together(data, headers=headers), one_by_one(data, headers=headers))

    def test_headers_passed_over(self) -> None:
        """Headers that are not wanted do not make records be read one by one."""
        together(built([SAMPLE[0]._replace(headers=[("a", b"b")])]))
        self.assertEqual(self.slow, 0)

    def test_range(self) -> None:
        """A batch that the range cuts yields its records within; a batch outside yields none."""
        data = log_of(SAMPLE, SAMPLE, SAMPLE)
        for start in range(13):
            for end in range(start, 13):
                wanted = ALL._replace(start=start, end=end)
                self.assertEqual(together(data, wanted), one_by_one(data, wanted))
        self.assertEqual(list(Decoder(ALL._replace(start=12), False).decode(memoryview(data))), [])
        self.assertEqual(self.slow, 0)

    def test_offsets_that_go_back(self) -> None:
        """Batches that overlap, which no broker writes, are each cut alone."""
        data = log_of(SAMPLE, SAMPLE) + log_of(SAMPLE)
        for start in range(8):
            wanted = ALL._replace(start=start, end=start + 3)
            self.assertEqual(together(data, wanted), one_by_one(data, wanted))

    def test_gaps(self) -> None:
        """Offsets that compaction took are passed over, at a batch's begin, midst and end."""
        data = bytearray(payload(built(SAMPLE)))
        for old, new in ((b"\0\0\x01", b"\0\x02\x01"), (b"\x0e\x02\x06", b"\x0e\x0a\x06")):
            self.assertEqual(data.count(old), 1)
            data[data.index(old) : data.index(old) + 3] = new
        raw = assemble(
            bytes(data)[: len(data)], 4, 0, 1_700_000_000_000, 0, base_offset=7, last_offset_delta=9
        )
        self.assertEqual(outcome(together, raw, True), outcome(one_by_one, raw, True))

    def test_times_of_the_broker(self) -> None:
        """Batches with the broker's time, among others with the producers'."""
        data = payload(built(SAMPLE))
        stamped = [
            assemble(data, 4, kind, 1_000, 2_000, base_offset=4 * number)
            for number, kind in enumerate([0, TIMESTAMP_TYPE, 0])
        ]
        for raw in (b"".join(stamped), stamped[1]):
            self.assertEqual(together(raw), one_by_one(raw))
        self.assertEqual(together(stamped[1])["timestampType"].to_pylist(), [1] * 4)
        self.assertEqual(self.slow, 0)

    def test_times_out_of_range(self) -> None:
        """A time that Spark cannot hold is null; the records around it stay what they are."""
        nanoseconds = 1_700_000_000_000_000_000
        past = (1 << 63) // 1000 + 1
        for base, time in ((0, nanoseconds), (nanoseconds, 5), (0, past), (0, -past), (0, -(1 << 63))):
            data = built([SAMPLE[0]._replace(timestamp=stamp) for stamp in (base, 6, time, 7)])
            found = together(data)
            self.assertEqual(found, one_by_one(data))
            self.assertEqual(found["timestamp"].null_count, 1)

    def test_last_times(self) -> None:
        """The first and the last millisecond that Spark can hold are not lost."""
        latest = ((1 << 63) - 1) // 1000
        for time in (latest, -latest):
            found = together(built([SAMPLE[0]._replace(timestamp=time)]))
            self.assertEqual(found["timestamp"].cast(pa.int64()).to_pylist(), [time * 1000])
        self.assertEqual(self.slow, 0)

    def test_every_format(self) -> None:
        """A log that has seen every format: all records, in their order, without the transaction's end."""
        for crcs in (True, False):
            self.slow = 0
            found = together(MIXED, crcs=crcs)
            self.assertEqual(found["offset"].to_pylist(), MIXED_OFFSETS)
            self.assertEqual(found, one_by_one(MIXED))
            self.assertEqual(self.slow, 1)  # for all of the old formats together

    def test_no_records(self) -> None:
        """Control batches, and batches that compaction emptied, give no rows and are no harm to others."""
        empty = assemble(b"", 0, 0, 0, 0, base_offset=5, last_offset_delta=2)
        for data in (control_batch(0), empty, b""):
            self.assertEqual(list(Decoder(ALL, False).decode(memoryview(data))), [])
        data = built(SAMPLE) + control_batch(4) + empty + built(SAMPLE, base_offset=8)
        self.assertEqual(together(data)["offset"].to_pylist(), [0, 1, 2, 3, 8, 9, 10, 11])
        self.assertEqual(self.slow, 0)


def record(body: bytes, length: int | None = None) -> bytes:
    """A record of these bytes behind its length, or behind a wrong one."""
    return encode(len(body) if length is None else length) + body


GOOD = record(b"\0\0\0\x02k\x02v\0")
REFUSED = {
    "negative length": record(b"\0\0\x02\x01\x01\0", -7),
    "length too small": record(b"\0\0\x02\x01\x01\0\0", 6),
    "length too large": record(b"\0\0\x02\x01\x01\0", 8),
    "bytes behind the headers": record(b"\0\0\x02\x01\x01\0\0"),
    "no headers, not even none": record(b"\0\0\x02\x01\x01"),
    "value takes the headers": record(b"\0\0\x02\x01\x04v\0") + record(b"\0\0\x04\x01\x01\0"),
    "value takes the next record": record(b"\0\0\x02\x01\x06v\0") + record(b"\0\0\x04\x01\x01\0"),
    "key beyond the data": record(b"\0\0\x02\xfe\xff\x01\x01\0"),
    "offset of six bytes": record(b"\0\0\x82\x80\x80\x80\x80\0\x01\x01\0"),
    "offset before the batch": record(b"\0\0\x01\x01\x01\0"),
    "offset behind the batch": record(b"\0\0\x06\x01\x01\0"),
}
"""What may stand behind a good record of a batch whose last offset is 2."""
TAKEN = {
    "nulls of other lengths": record(b"\0\0\x02\x03\x09\0"),
    "offset written long": record(b"\0\0\x82\x80\x80\x80\0\x01\x01\0"),
    "time of ten bytes": record(b"\0" + b"\x80" * 9 + b"\0\x02\x01\x01\0"),
    "offset twice": record(b"\0\0\0\x01\x01\0"),
    "attributes of the future": record(b"\xff\0\x02\x01\x01\0"),
}
"""Strange, but Kafka reads it."""


class DamageTests(SynchronousTestCase):
    def verdict(self, rest: bytes, count: int = 2) -> Any:
        """Decode a good record and the rest; check that both decoders agree, and return the result."""
        data = assemble(GOOD + rest, count, 0, 1_000, 2_000, last_offset_delta=2)
        found = outcome(together, data, True)
        self.assertEqual(found, outcome(one_by_one, data, True))
        return found

    def test_refused(self) -> None:
        """Each kind of damage is refused in the words of the other decoder."""
        for what, rest in REFUSED.items():
            count = 3 if what.startswith("value takes") else 2
            self.assertIsInstance(self.verdict(rest, count), tuple, what)

    def test_taken(self) -> None:
        """Records that are merely unusual are read as the other decoder reads them."""
        for what, rest in TAKEN.items():
            self.assertEqual(len(self.verdict(rest)), 2, what)

    def test_before_its_batch(self) -> None:
        """A first record with an offset below its batch's is refused."""
        data = assemble(record(b"\0\0\x01\x01\x01\0"), 1, 0, 1_000, 2_000, base_offset=10)
        self.assertEqual(outcome(together, data, True), outcome(one_by_one, data, True))
        self.assertIsInstance(outcome(together, data, True), tuple)

    def test_fewer_than_none(self) -> None:
        """A negative number of records is refused where there are none, too."""
        data = assemble(b"", -1, 0, 1_000, 2_000, last_offset_delta=2)
        self.assertEqual(outcome(together, data, False), outcome(one_by_one, data, False))
        self.assertIsInstance(outcome(together, data, False), tuple)

    @quick
    @given(damaged())
    def test_same_verdict(self, data: bytes) -> None:
        """A damaged batch is refused with the same words by both decoders, or gives the same rows."""
        self.assertEqual(outcome(together, data, False), outcome(one_by_one, data, False))

    def test_crc(self) -> None:
        """A wrong CRC is refused, unless it is not to be checked; batches behind it do not hide it."""
        data = bytearray(built(SAMPLE))
        data[CRC_AT] ^= 1
        for raw in (bytes(data), bytes(data) + built(SAMPLE, base_offset=4)):
            self.assertRaises(CorruptRecords, together, raw)
            self.assertEqual(together(raw, crcs=False), one_by_one(raw, crcs=False))

    def test_lying_count(self) -> None:
        """A count that no batch can have costs no memory."""
        data = bytearray(built(SAMPLE * 100))
        data[COUNT_AT : COUNT_AT + 4] = b"\x7f\xff\xff\xff"
        self.assertRaises(CorruptRecords, together, bytes(data), crcs=False)


class GroupTests(Counting):
    def test_rows(self) -> None:
        """Batches are taken together until there are rows enough."""
        self.patch(record_batches, "GROUP_ROWS", 8)
        found = list(Decoder(ALL, False).decode(memoryview(log_of(*[SAMPLE] * 5))))
        self.assertEqual([batch.num_rows for batch in found], [8, 8, 4])

    def test_bytes(self) -> None:
        """Or until they are large enough, decompressed."""
        data = log_of(*[SAMPLE] * 5, codec=Codec.GZIP)
        self.patch(record_batches, "GROUP_BYTES", 2 * len(payload(data)) - 1)
        found = list(Decoder(ALL, False).decode(memoryview(data)))
        self.assertEqual([batch.num_rows for batch in found], [8, 8, 4])

    def test_only_the_odd_group(self) -> None:
        """A group with something odd in it is read one by one; the others are not."""
        self.patch(record_batches, "GROUP_ROWS", 8)
        odd = [SAMPLE[0]._replace(headers=[("a", b"b")])] * 4
        data = log_of(SAMPLE, SAMPLE, odd, SAMPLE, SAMPLE, SAMPLE)
        self.assertEqual(together(data, headers=True), one_by_one(data, headers=True))
        self.assertEqual(self.slow, 1)
