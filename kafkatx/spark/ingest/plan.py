"""On the driver: which offsets the next commit loads, and how they are dealt out to tasks."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

import attrs

from kafkatx.blocking import Cluster
from kafkatx.clientcore.metadata import NO_TOPIC_ID
from kafkatx.spark.ingest.errors import OffsetsLost
from kafkatx.spark.ingest.options import IngestOptions
from kafkatx.spark.ingest.table.manifest import Manifest
from kafkatx.spark.offsets import LATEST, Available, OffsetRange
from kafkatx.spark.options.limits import rate_limit
from kafkatx.spark.options.options import Selection, SubscribePattern
from kafkatx.spark.source.plan import assigned, available
from kafkatx.types import TopicPartition

log = logging.getLogger(__name__)

SMALLEST_TASK_BYTES = 16 << 20
UNKNOWN_RECORD_BYTES = 100.0


@attrs.frozen
class Pending:
    """The offsets that are not loaded yet: a range for each partition, empty ones too, and the topics' ids.

    :ivar gone: partitions of earlier commits that are there no more, and will be forgotten.
    :ivar moved: whether the ranges do not all start where the last commit ends.
    """

    ranges: tuple[OffsetRange, ...]
    topic_ids: Mapping[str, str] = attrs.field(factory=dict)
    gone: frozenset[TopicPartition] = frozenset()
    moved: bool = False

    @property
    def size(self) -> int:
        """Number of offsets in all ranges."""
        return sum(item.size for item in self.ranges)


def pending(cluster: Cluster, options: IngestOptions, last: Manifest | None) -> Pending:
    """Ask the cluster what there is behind the last commit.

    :raises OffsetsLost: what comes next is not in a log any more, and that is a failure.
    :raises UnknownTopic: a topic that was named is not there.
    :raises KafkaTXError: no broker answers, or it refuses.
    """
    cluster.forget_metadata()  # or partitions that were added would never be seen
    partitions = assigned(cluster, options.selection)
    logs = available(cluster, partitions)
    stable = _ends(cluster, logs, options.client.isolation_level)
    ids = _topic_ids(cluster, partitions)
    known = last.next if last else {}
    remade = {name for name, was in (last.topic_ids if last else {}).items() if ids.get(name, was) != was}
    gone = _gone(options.selection, known, logs)
    lost = [f"{at}, where offset {known[at]} comes next, is gone" for at in gone]
    ranges = []
    for at in partitions:
        earliest = known or options.starting == "earliest"
        start = known.get(at, logs[at].earliest if earliest else stable[at])
        why = _why_lost(at, start, logs[at], at.topic in remade)
        lost += [why] if why else []
        start = logs[at].earliest if why else start
        ranges.append(OffsetRange(*at, start, max(start, stable[at])))
    for why in lost:
        if options.fail_on_data_loss:
            raise OffsetsLost(why)
        log.warning("%s; going on with what is there. Some data may have been lost", why)
    return Pending(tuple(ranges), ids, frozenset(gone), moved=bool(lost))


def _ends(
    cluster: Cluster, logs: Mapping[TopicPartition, Available], isolation_level: int
) -> dict[TopicPartition, int]:
    """Return where the records end that may be loaded: at the last stable offset with isolation level 1.

    An earlier commit may have loaded more, with level 0: so this is not the end that a log is known by.
    """
    if not isolation_level:
        return {at: log_has.latest for at, log_has in logs.items()}
    found = cluster.offsets_of(dict.fromkeys(logs, LATEST), isolation_level)
    return {at: offset for at, (offset, _) in found.items()}


def _why_lost(at: TopicPartition, start: int, log_has: Available, remade: bool) -> str | None:
    """Return the reason why a partition cannot continue where it left off, but only at the log's beginning;
    None if it can.

    ::

        log           100 ........ 200
        next              150           it can
        next   50                       50 to 99 are gone
        next                        250 another log than the one that was read
    """
    if log_has.earliest <= start <= log_has.latest and not remade:
        return None
    anew = ", but the topic was deleted and created anew" if remade else ""
    return f"{at}: offset {start} comes next{anew}: the log has {log_has.earliest} to {log_has.latest}"


def _topic_ids(cluster: Cluster, partitions: Sequence[TopicPartition]) -> dict[str, str]:
    """Return the ids of topics that have one; brokers before Kafka 2.8 give none."""
    found = {name: cluster.topic(name).topic_id for name in {at.topic for at in partitions}}
    return {name: str(topic_id) for name, topic_id in found.items() if topic_id != NO_TOPIC_ID}


def _gone(
    selection: Selection, known: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, Available]
) -> list[TopicPartition]:
    """Partitions that were loaded before and are still selected, but are there no more."""
    topics = {at.topic for at in logs}
    return [
        at for at in sorted(known) if at not in logs and (at.topic in topics or _matches(selection, at.topic))
    ]


def _matches(selection: Selection, topic: str) -> bool:
    return isinstance(selection, SubscribePattern) and re.search(selection.pattern, topic) is not None


def limited(ranges: Sequence[OffsetRange], max_records: int | None) -> list[OffsetRange]:
    """Return the ranges that are not empty, cut to about *max_records* offsets together, in proportion."""
    ranges = [item for item in ranges if item.size > 0]
    if max_records is None or sum(item.size for item in ranges) <= max_records:
        return ranges
    starts = {TopicPartition(item.topic, item.partition): item.start for item in ranges}
    latest = {TopicPartition(item.topic, item.partition): item.end for item in ranges}
    ends = rate_limit(max_records, starts, latest)
    return [item._replace(end=end) for item, end in zip(ranges, ends.values(), strict=True)]


def until(ranges: Sequence[OffsetRange], ends: Mapping[TopicPartition, int]) -> list[OffsetRange]:
    """Return the ranges up to these offsets, without partitions that have none because they came later."""
    found = []
    for item in ranges:
        end = min(item.end, ends.get(TopicPartition(item.topic, item.partition), item.start))
        found.append(item._replace(end=max(end, item.start)))
    return found


def record_bytes(last: Manifest | None) -> float:
    """Estimate the bytes of a file that a record takes, from the last commit."""
    rows = last.rows + last.dead if last else 0
    return last.size_bytes / rows if last and rows else UNKNOWN_RECORD_BYTES


def tasks_of(
    ranges: Sequence[OffsetRange], bytes_per_record: float, target_file_bytes: int, cores: int
) -> list[tuple[OffsetRange, ...]]:
    """Deal ranges out to tasks of equal size, in order.

    Every task writes files of its own, so that there are no more tasks than make files of the size that is
    wanted, or than keep the cores busy: a small commit is one task.
    """
    total = sum(item.size for item in ranges)
    likely_bytes = total * bytes_per_record
    full = -(-likely_bytes // target_file_bytes)
    busy = min(cores, likely_bytes // SMALLEST_TASK_BYTES)
    tasks = max(1, min(total, int(max(full, busy))))
    return [tuple(_between(ranges, total * n // tasks, total * (n + 1) // tasks)) for n in range(tasks)]


def _between(ranges: Sequence[OffsetRange], start: int, end: int) -> list[OffsetRange]:
    """Return the offsets from the *start*-th to before the *end*-th, counted through all ranges."""
    found, base = [], 0
    for item in ranges:
        first, last = max(start - base, 0), min(end - base, item.size)
        if first < last:
            found.append(item._replace(start=item.start + first, end=item.start + last))
        base += item.size
    return found
