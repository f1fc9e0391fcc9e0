"""On the driver: which topic partitions a query reads, and from which offset to which."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable

from kafkatx.blocking import EARLIEST, LATEST, Cluster
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.spark.client_options import ClientSettings
from kafkatx.spark.offsets import Available, OffsetRange, boundary, clip, fixed, split
from kafkatx.spark.options import ENDING, STARTING, Assign, Selection, SourceOptions, Subscribe
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
    """A cluster to talk to; the caller closes it.

    :raises SettingError: the bootstrap servers are no addresses.
    """
    return Cluster(
        client.bootstrap,
        client_id=client.client_id,
        timeout_s=client.timeout_s,
        connect_timeout_s=client.connect_timeout_s,
        retry_backoff_ms=client.retry_backoff_ms,
    )


def plan_batch(cluster: Cluster, options: SourceOptions) -> list[OffsetRange]:
    """Fix what a batch reads, as ranges that each make one task.

    What is written or deleted later does not change it.

    :raises UnknownTopic: a topic that was named is not there.
    :raises SettingError: the options name partitions that are not there, or leave some out.
    :raises DataLoss: offsets that were named are not in the log, and ``failOnDataLoss`` is true.
    :raises ConnectionFailed: no broker answers.
    """
    partitions = assigned(cluster, options.selection)
    starts = boundary(STARTING, options.starting, partitions)
    ends = boundary(ENDING, options.ending, partitions)
    logs = available(cluster, partitions)
    ranges = [
        checked(fixed(item, starts[item], ends[item], logs[item]), logs[item], options.fail_on_data_loss)
        for item in partitions
    ]
    return split(ranges, options.min_partitions)


def assigned(cluster: Cluster, selection: Selection) -> list[TopicPartition]:
    """The partitions that the options select, in order; without topics that the cluster keeps for itself.

    :raises UnknownTopic: a topic that was named is not there.
    :raises SettingError: a partition that was named is not there.
    """
    if isinstance(selection, Assign):
        return _assigned_by_name(cluster, selection)
    if isinstance(selection, Subscribe):
        topics = [cluster.topic(name) for name in selection.topics]
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


def _assigned_by_name(cluster: Cluster, selection: Assign) -> list[TopicPartition]:
    partitions = sorted(selection.partitions)
    for topic, number in partitions:
        known = cluster.partitions(topic)
        if number not in known:
            raise SettingError(f"assign: topic {topic!r} has no partition {number}: it has 0 to {known[-1]}")
    return partitions


def available(cluster: Cluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Available]:
    """What the logs of these partitions have now."""
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        by_topic[topic].append(number)
    found = {}
    for topic, numbers in by_topic.items():
        earliest = cluster.offsets(topic, dict.fromkeys(numbers, EARLIEST))
        latest = cluster.offsets(topic, dict.fromkeys(numbers, LATEST))
        for number in numbers:
            found[TopicPartition(topic, number)] = Available(earliest[number][0], latest[number][0])
    return found


def checked(wanted: OffsetRange, log_has: Available, fail_on_data_loss: bool) -> OffsetRange:
    """What can be read of a range; all of it, unless data loss is no failure.

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
