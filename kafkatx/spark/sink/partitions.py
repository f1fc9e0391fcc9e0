"""The partition of each row, and the rows that make a batch together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES
from kafkatx.spark.arrow.record_fields import Integers
from kafkatx.spark.sink.encoder import BadRow, encode_records, sizes_of
from kafkatx.spark.sink.murmur import murmur2_column

_FREE = -1


class Encoded(NamedTuple):
    """A batch's records as bytes; ``payload_bytes`` are those of keys and values."""

    partition: int
    records: memoryview
    rows: int
    payload_bytes: int


class RoundRobin:
    """The partitions of rows that have neither partition nor key: each batch of them goes to the next
    partition.

    Java's partitioner chooses one at random for each batch (KIP-480); round robin is more even.
    """

    def __init__(self, source: random.Random | None = None) -> None:
        """Begin anywhere: tasks that write little are many."""
        self._at = (source or random.Random()).randrange(1 << 31)

    def take(self, count: int, partitions: int) -> Integers:
        """Return the partitions of the next *count* batches."""
        taken = (self._at + np.arange(count)) % partitions
        self._at += count
        return taken


def encoded(
    rows: pa.RecordBatch,
    partitions: int,
    batch_bytes: int,
    round_robin: RoundRobin,
    ignore_keys: bool = False,
) -> Iterator[Encoded]:
    """Yield batches of a topic's rows, by partition, rows of one partition in the order that they had.

    :param rows: columns as :mod:`kafkatx.spark.sink.columns` has them.
    :param partitions: how many the topic has; all of the column must be below it: :func:`highest`.
    :param batch_bytes: what records of a batch may take, before compression; a larger one goes alone.
    """
    keys, values, headers, asked = rows.columns
    payload = sizes_of(keys) + sizes_of(values)
    sizes = payload + sizes_of(headers) + RECORD_OVERHEAD_BYTES
    targets = np.full(len(asked), _FREE, np.int64)
    if not ignore_keys:
        _by_key(targets, keys, partitions)
    _by_column(targets, asked)
    free = np.flatnonzero(targets == _FREE)
    if free.size:
        targets[free] = _round_robin(sizes[free], partitions, batch_bytes, round_robin)
    if (np.diff(targets) < 0).any():
        order = np.argsort(targets, kind="stable")
        keys, values, headers, _ = rows.take(pa.array(order)).columns
        payload, sizes, targets = payload[order], sizes[order], targets[order]
    starts = _starts(targets, sizes, batch_bytes)
    deltas = np.arange(len(targets)) - np.repeat(starts[:-1], np.diff(starts))
    yield from _sliced(encode_records(deltas, keys, values, headers), starts, targets, payload)


def highest(rows: pa.RecordBatch) -> int:
    """Return the highest number in the partition column; -1 if there is none.

    :raises BadRow: one is negative.
    """
    asked = rows.column("partition").drop_null().to_numpy()
    if len(asked) and asked.min() < 0:
        raise BadRow(f"Invalid partition: {asked.min()}. Partition number should be non-negative or null.")
    return int(asked.max(initial=-1))


def largest(rows: pa.RecordBatch) -> int:
    """Return the maximum bytes of the largest record."""
    keys, values, headers, _ = rows.columns
    return int((sizes_of(keys) + sizes_of(values) + sizes_of(headers)).max()) + RECORD_OVERHEAD_BYTES


def _by_key(targets: Integers, keys: pa.BinaryArray, partitions: int) -> None:
    if keys.null_count == len(keys):
        return
    chosen = (murmur2_column(keys) & 0x7FFFFFFF).astype(np.int64) % partitions
    given = keys.is_valid().to_numpy(zero_copy_only=False)
    targets[given] = chosen[given]


def _by_column(targets: Integers, asked: pa.Array) -> None:
    given = asked.is_valid().to_numpy(zero_copy_only=False)
    targets[given] = asked.drop_null().to_numpy()


def _round_robin(sizes: Integers, partitions: int, batch_bytes: int, round_robin: RoundRobin) -> Integers:
    starts = _starts(np.zeros(len(sizes), np.int64), sizes, batch_bytes)
    return np.repeat(round_robin.take(len(starts) - 1, partitions), np.diff(starts))


def _starts(targets: Integers, sizes: Integers, batch_bytes: int) -> Integers:
    """Return the starts of batches in rows sorted by partition, followed by the count of rows."""
    ends = np.cumsum(sizes)
    starts = [0]
    bounds = [*(np.flatnonzero(np.diff(targets)) + 1).tolist(), len(targets)]
    for bound in bounds:
        while (start := starts[-1]) < bound:
            before = int(ends[start - 1]) if start else 0
            fit = int(np.searchsorted(ends, before + batch_bytes, side="right"))
            starts.append(min(max(fit, start + 1), bound))
    return np.array(starts)


def _sliced(
    records: pa.BinaryArray, starts: Integers, targets: Integers, payload: Integers
) -> Iterator[Encoded]:
    _, offsets, data = records.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(records) + 1, 4 * records.offset)[starts].tolist()
    payloads = np.add.reduceat(payload, starts[:-1]).tolist()
    numbers = targets[starts[:-1]].tolist()
    counts = np.diff(starts).tolist()
    view = memoryview(data)
    for index, (partition, count, size) in enumerate(zip(numbers, counts, payloads, strict=True)):
        yield Encoded(partition, view[bounds[index] : bounds[index + 1]], count, size)
