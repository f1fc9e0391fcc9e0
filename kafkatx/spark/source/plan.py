"""On the driver: which topic partitions a query reads, and from which offset to which."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable

from kafkatx.blocking import EARLIEST, LATEST, Cluster, TopicMetadata, UnknownTopic
from kafkatx.blocking.security import dial_with
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.spark.offsets import Available, OffsetRange, boundary, clip, fixed, split
from kafkatx.spark.options.boundaries import ENDING, STARTING, Boundary, ByTimestamp
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Assign, Selection, SourceOptions, Subscribe
from kafkatx.types import TopicPartition

# Not Twisted's, which has no place in Spark's processes; Spark shows on stderr what is logged here.
log = logging.getLogger(__name__)


class DataLoss(KafkaTXError):
    """Offsets that a query was to read are not in the log: aged out, or the topic was deleted."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. Some data may have been lost: deleted by retention or with their topic, or the offsets "
            "were never there. To read what is there, set failOnDataLoss to false"
        )


def connect(client: ClientSettings) -> Cluster:
    """Return a cluster to talk to; the caller closes it.

    :raises SettingError: the bootstrap servers are no addresses.
    """
    return Cluster(
        client.bootstrap,
        client_id=client.client_id,
        timeout_s=client.timeout_s,
        connect_timeout_s=client.connect_timeout_s,
        retry_backoff_ms=client.retry_backoff_ms,
        dial=dial_with(client.security),
    )


def plan_batch(cluster: Cluster, options: SourceOptions) -> list[OffsetRange]:
    """Fix what a batch reads, as ranges that each make one task.

    What is written or deleted later does not change it.

    :raises UnknownTopic: a topic that was named is not there.
    :raises SettingError: the options name partitions that are not there, or leave some out; or the batch
        would end before it starts.
    :raises DataLoss: offsets that were named are not in the log, and ``failOnDataLoss`` is true.
    :raises ConnectionFailed: no broker answers.
    """
    partitions = assigned(cluster, options.selection)
    starts = bounded(cluster, STARTING, options.starting, partitions)
    ends = bounded(cluster, ENDING, options.ending, partitions)
    logs = available(cluster, partitions, options.client.isolation_level)
    ranges = [fixed(item, starts[item], ends[item], logs[item]) for item in partitions]
    for item, log_has in zip(ranges, logs.values(), strict=True):
        if log_has.earliest <= item.end < item.start <= log_has.latest:
            raise SettingError(
                f"{item}: the start is behind the end; look at the starting and ending options"
            )
    found = [
        checked(item, log_has, options.fail_on_data_loss)
        for item, log_has in zip(ranges, logs.values(), strict=True)
    ]
    return split(found, options.min_partitions, options.max_records_per_partition)


def bounded(
    cluster: Cluster, option: str, where: Boundary, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return a boundary as an offset for each partition; -1 and -2 stay what they are.

    :raises SettingError: it names other partitions; or no record is late enough, and that is an error.
    """
    if not isinstance(where, ByTimestamp):
        return boundary(option, where, partitions)
    found = cluster.offsets_of(where.of(partitions))
    return {partition: where.offset(partition, found[partition][0]) for partition in partitions}


def assigned(cluster: Cluster, selection: Selection, strict: bool = True) -> list[TopicPartition]:
    """Return the partitions that the options select, in order; without the cluster's internal topics.

    :param strict: what was named and is not there is an error; otherwise it is left out.
    :raises UnknownTopic: a topic that was named is not there.
    :raises SettingError: a partition that was named is not there.
    """
    if isinstance(selection, Assign):
        return _assigned_by_name(cluster, selection, strict)
    if isinstance(selection, Subscribe):
        topics = _topics(cluster, selection.topics, strict)
    else:
        pattern = re.compile(selection.pattern)
        known = cluster.metadata(None).topics.values()
        topics = [topic for topic in known if topic.usable and pattern.search(topic.name)]
    return sorted(
        TopicPartition(topic.name, number)
        for topic in topics
        if not topic.internal
        for number in topic.partitions
    )


def _topics(cluster: Cluster, names: Iterable[str], strict: bool) -> list[TopicMetadata]:
    topics = []
    for name in names:
        try:
            topics.append(cluster.topic(name))
        except UnknownTopic:
            if strict:
                raise
    return topics


def _assigned_by_name(cluster: Cluster, selection: Assign, strict: bool) -> list[TopicPartition]:
    names = sorted({topic for topic, _ in selection.partitions})
    known = {topic.name: topic.partitions for topic in _topics(cluster, names, strict)}
    partitions = sorted(selection.partitions)
    for topic, number in partitions if strict else ():
        if number not in known[topic]:
            raise SettingError(
                f"assign: topic {topic!r} has no partition {number}: it has 0 to {max(known[topic])}"
            )
    return [item for item in partitions if item.partition in known.get(item.topic, ())]


def available(
    cluster: Cluster, partitions: Collection[TopicPartition], isolation_level: int = 0
) -> dict[TopicPartition, Available]:
    """Return the offsets of these partitions' logs now.

    :param isolation_level: 1: a log ends at its last stable offset.
    """
    earliest = cluster.offsets_of(dict.fromkeys(partitions, EARLIEST))
    latest = cluster.offsets_of(dict.fromkeys(partitions, LATEST), isolation_level)
    return {item: Available(earliest[item][0], latest[item][0]) for item in partitions}


def checked(wanted: OffsetRange, log_has: Available, fail_on_data_loss: bool) -> OffsetRange:
    """Return the part of a range that can be read; all of it, unless data loss is no failure.

    :raises DataLoss: not all of it can, and that is a failure.
    """
    got = clip(wanted, log_has)
    if got == wanted:
        return got
    lost = f"{wanted} cannot be read: the log has {log_has.earliest} to {log_has.latest}"
    if fail_on_data_loss:
        raise DataLoss(lost)
    log.warning("%s; reading %s", lost, got if got.size else "nothing of it")
    return got
