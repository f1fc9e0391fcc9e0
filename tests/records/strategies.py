"""Hypothesis strategies and helpers of the tests of record formats."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from kafkatx.records.batch import Headers, Record
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec

quick = settings(deadline=None, max_examples=60)

nullable = st.none() | st.binary(max_size=200)
codecs = st.sampled_from(Codec)
legacy_codecs = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
timestamps = st.integers(0, 2**42)
headers = st.lists(st.tuples(st.text(max_size=10), nullable), max_size=3)


def record_lists(with_headers: bool = True) -> st.SearchStrategy[list[Record]]:
    """Draw 1 to 20 records with offsets from 0 on."""
    one = st.tuples(timestamps, nullable, nullable, headers if with_headers else st.just([]))
    return st.lists(one, min_size=1, max_size=20).map(
        lambda drawn: [Record(offset, *fields) for offset, fields in enumerate(drawn)]
    )


def built(records: list[Record], codec: Codec = Codec.NONE, base_offset: int = 0) -> bytes:
    """Build one batch of magic 2; the records' own offsets do not count."""
    builder = BatchBuilder(codec)
    for record in records:
        builder.append(record.key, record.value, record.timestamp, record.headers)
    return builder.build(base_offset)


def moved(records: list[Record], offset: int) -> list[Record]:
    """The same records from another offset on."""
    return [record._replace(offset=record.offset + offset) for record in records]


NO_HEADERS: Headers = []
"""Never appended to."""

SAMPLE = [
    Record(0, 1_700_000_000_000, None, b"value only", NO_HEADERS),
    Record(1, 1_700_000_000_007, b"key", b"v" * 300, NO_HEADERS),
    Record(2, 1_699_999_999_000, b"", None, NO_HEADERS),
    Record(3, 1_700_000_000_001, b"k" * 100, b"", NO_HEADERS),
]
"""Records that every magic can hold, but for magic 0's want of timestamps."""
