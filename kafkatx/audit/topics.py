"""The records of the audit topic, and those of audited topics, read with the blocking client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kafkatx.audit.comparison import Announced, Count, Key
from kafkatx.audit.tallies import Tallies
from kafkatx.blocking import EARLIEST, LATEST, Cluster, Reader
from kafkatx.clientcore.consumer.columns import Columns

Advance = Callable[[float], None]


def read_announced(cluster: Cluster, topic: str, group: str | None = None) -> Announced:
    """Read the audit topic up to its present end.

    :param group: the group whose consumers' announcements count; None: no consumers' do.
    :raises RequestError: there is no such topic.
    """
    announced = Announced(group)
    for columns in _read(cluster, topic):
        for value in columns.values:
            announced.add(value)
    return announced


def read_tallies(clusters: Sequence[Cluster], topic: str) -> Tallies:
    """Read the audit topics of clusters up to their present ends: the announcements of all tiers.

    :raises RequestError: a cluster has no such topic.
    """
    tallies = Tallies()
    for number, cluster in enumerate(clusters):
        for columns in _read(cluster, topic):
            for value, appended_ms in zip(columns.values, columns.timestamps, strict=True):
                tallies.add(value, number, appended_ms)
    return tallies


def count_topic(
    cluster: Cluster,
    topic: str,
    window_ms: int,
    from_ms: int | None = None,
    advance: Advance = lambda amount: None,
) -> dict[Key, Count]:
    """Count the records of a topic up to its present end; each offset exists once.

    :param from_ms: start at the first record of this time or later.
    :param advance: called with the number of records that were counted.
    :raises RequestError: there is no such topic.
    """
    counts: Counter[int] = Counter()
    for columns in _read(cluster, topic, from_ms):
        times = columns.timestamps
        earliest = min(times) // window_ms
        if earliest == max(times) // window_ms:
            counts[earliest] += len(times)
        else:
            counts.update(time // window_ms for time in times)
        advance(len(times))
    return {(topic, window * window_ms): Count(count, count) for window, count in counts.items()}


def _read(cluster: Cluster, topic: str, from_ms: int | None = None) -> Iterator[Columns]:
    """Yield all records of a topic, up to the ends that its partitions have at the start."""
    partitions = cluster.topic(topic).partitions
    ends = cluster.offsets(topic, dict.fromkeys(partitions, LATEST))
    starts = cluster.offsets(
        topic, dict.fromkeys(partitions, EARLIEST if from_ms is None or from_ms < 0 else from_ms)
    )
    for partition in partitions:
        start, end = starts[partition][0], ends[partition][0]
        if 0 <= start < end:  # -1: no record has this time or a later one
            with Reader(cluster, topic, partition, start_offset=start, end_offset=end) as reader:
                yield from reader.read_columns(with_headers=False)
