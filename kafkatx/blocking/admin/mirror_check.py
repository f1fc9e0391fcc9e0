"""Check of mirrored partitions: both clusters are read, and the batches compared.

It reads one partition at a time over plain sockets, and keeps two fetch responses of each side at most. The
comparison is :mod:`kafkatx.clientcore.admin.mirror_check.comparison`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kafkatx.blocking.consumer.reader import Reader
from kafkatx.clientcore.admin.mirror_check.comparison import Batch, Tally, batches_of, compare
from kafkatx.clientcore.errors import OffsetOutOfRange
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.types import TopicPartition

FETCH_BYTES = 4 << 20
RESTARTS = 100
"""The number of times that retention may overtake the check of a partition."""


def check_partition(
    source: Cluster,
    copy: Cluster,
    name: TopicPartition,
    compacted: bool,
    on_progress: Callable[[Tally], None] = lambda tally: None,
    end: int | None = None,
) -> Tally:
    """Compare a partition of two clusters, over the offsets that both have.

    The range begins at the later log start offset, and moves with it if retention deletes records meanwhile.
    It ends at the end of the copy as the call finds it.

    :param compacted: the topic is compacted.
    :param on_progress: called after each batch.
    :param end: the offset before which to compare, if the copy has got records of its own since.
    :return: the result; an end beyond the source's is a difference.
    :raises KafkaTXError: a side cannot be read, or what it sends cannot.
    """
    ours = _edge(copy, name, LATEST)
    if end is not None:
        ours = min(ours, end)
    theirs = _edge(source, name, LATEST)  # after the copy's: it may only be larger
    start = max(_edge(copy, name, EARLIEST), _edge(source, name, EARLIEST))
    last = max(start, min(ours, theirs))
    tally = Tally(start, last, start)
    if ours > max(theirs, start):
        tally.add(
            max(theirs, start), ours - 1, f"the copy goes on beyond the source's end, which is {theirs}"
        )
    for left in range(RESTARTS, -1, -1):
        try:
            _check_range(source, copy, name, compacted, on_progress, tally)
        except OffsetOutOfRange:
            start = max(_edge(copy, name, EARLIEST), _edge(source, name, EARLIEST))
            if not left or start <= tally.position:
                raise
            tally.position = min(start, tally.end)
        else:
            break
    return tally


def _check_range(
    source: Cluster,
    copy: Cluster,
    name: TopicPartition,
    compacted: bool,
    on_progress: Callable[[Tally], None],
    tally: Tally,
) -> None:
    start, end = tally.position, tally.end
    if start >= end:
        return
    with _reader(source, name, start, end) as theirs, _reader(copy, name, start, end) as ours:
        steps = compare(
            tally,
            batches_of(theirs.chunks(), start, end),
            batches_of(ours.chunks(), start, end),
            compacted,
            lambda: _later(copy, name, end),
        )
        for _ in steps:
            on_progress(tally)


def _later(copy: Cluster, name: TopicPartition, start: int) -> Iterator[Batch]:
    """Yield the batches that the copy has by now after the compared ones."""
    end = _edge(copy, name, LATEST)
    if start < end:
        with _reader(copy, name, start, end) as reader:
            yield from batches_of(reader.chunks(), start, end)


def _reader(cluster: Cluster, name: TopicPartition, start: int, end: int) -> Reader:
    return Reader(
        cluster, name.topic, name.partition, start_offset=start, end_offset=end, max_bytes=FETCH_BYTES
    )


def _edge(cluster: Cluster, name: TopicPartition, time: int) -> int:
    return cluster.offsets(name.topic, {name.partition: time})[name.partition][0]
