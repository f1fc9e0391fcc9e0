"""Batches as a log has them, for tests of mirrors."""

from __future__ import annotations

from collections.abc import Collection

from kafkatx.records import batch as v2
from kafkatx.records.builder import assemble, encode_record


def stamped(batch: bytes, base_offset: int) -> bytes:
    """Return a batch with the offset that a broker has given it."""
    return base_offset.to_bytes(8, "big") + batch[8:]


def compacted(batch: bytes, kept: Collection[int]) -> bytes:
    """Return what compaction leaves of a batch: its header, and the records with some indexes."""
    header = v2.parse_header(batch)
    parts = [
        encode_record(
            one.offset - header.base_offset,
            one.timestamp - header.base_timestamp,
            one.key,
            one.value,
            one.headers,
        )
        for one in v2.iter_records(memoryview(batch))
        if one.offset - header.base_offset in kept
    ]
    return assemble(
        b"".join(parts),
        len(parts),
        header.attributes,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.base_offset,
        last_offset_delta=header.last_offset_delta,
    )
