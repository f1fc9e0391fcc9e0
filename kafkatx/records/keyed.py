"""Batches of records with keys, as the broker itself writes them: ``__consumer_offsets`` has nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.records.builder import assemble
from kafkatx.records.header import TRANSACTIONAL
from kafkatx.records.varint import encode

MOST_OVERHEAD = 22
"""The most bytes that a record takes beside its key and value."""

_NULL = b"\x01"  # the varint -1


def build_keyed(
    records: Sequence[tuple[bytes, bytes | None]],
    timestamp_ms: int,
    transaction: tuple[int, int] | None = None,
) -> bytes:
    """Build an uncompressed batch of (key, value) with the same timestamp; the value None is a tombstone.

    :param transaction: the producer id and epoch if the batch is part of a transaction; it has no sequence.
    :raises ValueError: there are no records.
    """
    if not records:
        raise ValueError("a batch needs at least one record")
    parts: list[bytes] = []
    add = parts.append
    for delta, (key, value) in enumerate(records):
        before = b"\0\0" + encode(delta) + encode(len(key))  # attributes, timestamp delta, offset delta
        middle = _NULL if value is None else encode(len(value))
        body_bytes = len(before) + len(key) + len(middle) + (len(value) if value else 0) + 1
        add(encode(body_bytes) + before)
        add(key)
        add(middle)
        if value:
            add(value)
        add(b"\0")  # the count of headers
    payload, count = b"".join(parts), len(records)
    if transaction is None:
        return assemble(payload, count, 0, timestamp_ms, timestamp_ms)
    return assemble(payload, count, TRANSACTIONAL, timestamp_ms, timestamp_ms, *transaction)
