"""The collector of topics and partitions, with the counts of the broker. It touches nothing.

Counts belong to logs and partitions, and go with them. So that the broker's own counters never go back, each
scrape adds what has come since the one before.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.limits import OTHERS, MetricsLimits
from kafkatx.broker.metrics.samples import Samples, label
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o
from kafkatx.broker.metrics.table.row import Metric
from kafkatx.broker.replica.partition import Partition
from kafkatx.types import TopicPartition

STEP = 20
"""Partitions that are read in one step."""

BY_TOPIC = (
    k.MESSAGES_IN,
    k.BYTES_IN,
    k.PRODUCE_REQUESTS,
    k.FAILED_PRODUCES,
    k.FETCH_REQUESTS,
    k.FAILED_FETCHES,
    k.BYTES_OUT,
)
"""The first of :func:`_values`."""

BY_BROKER = (
    k.REPLICATION_BYTES_IN,
    k.REPLICATION_BYTES_OUT,
    o.LOG_WRITES,
    o.LOG_BATCHES,
    o.LOG_SYNCS,
    o.LOG_SYNC_SECONDS,
)
"""The others."""

Values = tuple[float, ...]


def _values(partition: Partition) -> Values:
    """Return the counts of a partition, in the order of BY_TOPIC and BY_BROKER."""
    written, asked = partition.log.written, partition.counts
    return (
        max(0, written.records - written.followed_records),
        max(0, written.bytes - written.followed_bytes),
        max(0, written.batches - written.followed_batches) + asked.failed_produces,
        asked.failed_produces,
        asked.fetches,
        asked.failed_fetches,
        asked.bytes_out,
        written.followed_bytes,
        asked.replica_bytes_out,
        written.writes,
        written.batches,
        written.syncs,
        written.sync_s,
    )


class _Totals:
    """The counters of the broker."""

    def __init__(self) -> None:
        self.values = [0.0 if metric is o.LOG_SYNC_SECONDS else 0 for metric in BY_TOPIC + BY_BROKER]
        self._seen: dict[TopicPartition, tuple[object, object, Values]] = {}
        self._last: dict[TopicPartition, tuple[object, object, Values]] = {}

    def begin(self) -> None:
        """Begin a scrape: forget the partitions that the one before has not met."""
        self._last, self._seen = self._seen, {}

    def add(self, partition: Partition, values: Values) -> None:
        """Add what a partition has counted since the scrape before."""
        if not any(values):
            return
        name, owners = partition.topic_partition, (partition.log.written, partition.counts)
        before = self._last.get(name)
        same = before is not None and before[0] is owners[0] and before[1] is owners[1]
        for at, value in enumerate(values):
            self.values[at] += max(0, value - before[2][at]) if before is not None and same else value
        self._seen[name] = (*owners, values)


class _Rows:
    """The series of partitions: of some each has its own, and the others of a topic are summed up."""

    def __init__(self, samples: Samples, topic: str) -> None:
        self._samples = samples
        self._topic = label("topic", topic)
        self._sums: dict[Metric, float] = {}

    def add(self, number: int, facts: Iterator[tuple[Metric, float]], own: bool) -> None:
        """Add the facts of a partition."""
        if own:
            named = f'{self._topic},partition="{number}"'
            for metric, value in facts:
                self._samples.add(metric, value, named)
            return
        for metric, value in facts:
            if metric not in (e.LEADER, e.LEADER_IS_PREFERRED):  # which have no sum
                self._sums[metric] = self._sums.get(metric, 0) + value

    def end(self) -> None:
        """Add the sums."""
        for metric, value in self._sums.items():
            self._samples.add(metric, value, f"{self._topic},{label('partition', OTHERS)}")


def _facts(partition: Partition) -> Iterator[tuple[Metric, float]]:
    """Yield the facts that have a series for each partition; most of them the leader alone tells."""
    log = partition.log
    yield k.LOG_SIZE, log.size_bytes
    if not partition.leads:
        return
    replicas, in_sync = len(partition.replicas), len(partition.isr)
    yield k.REPLICAS_COUNT, replicas
    yield k.ISR_COUNT, in_sync
    yield k.UNDER_MIN_ISR, int(in_sync < partition.min_insync)
    yield k.AT_MIN_ISR, int(in_sync == partition.min_insync)
    yield e.CURRENT_OFFSET, partition.high_watermark
    yield e.OLDEST_OFFSET, log.log_start_offset
    yield e.IN_SYNC_REPLICAS, in_sync
    yield e.LEADER, partition.leader
    yield e.LEADER_IS_PREFERRED, int(partition.leader == partition.replicas[0])
    yield e.REPLICAS, replicas
    yield e.UNDER_REPLICATED_PARTITION, int(in_sync < replicas)


class PartitionCollector:
    """Topics and partitions of a broker."""

    def __init__(self, broker: Broker, limits: MetricsLimits) -> None:
        self._broker = broker
        self._limits = limits
        self._totals = _Totals()

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        broker, limits, totals = self._broker, self._limits, self._totals
        totals.begin()
        topics = shown = left_topics = left_partitions = 0
        rest, rest_sums = _Rows(samples, OTHERS), [0.0] * len(BY_TOPIC)
        for name in list(broker.topics.partitions):
            partitions = broker.topics.of(name)
            wanted = bool(partitions) and (limits.internal_topics or not partitions[0].internal)
            own_topic = topics < limits.topics
            topics += wanted
            left_topics += wanted and not own_topic
            rows, sums = (_Rows(samples, name) if own_topic else rest), [0.0] * len(BY_TOPIC)
            for number, partition in enumerate(partitions):
                values = _values(partition)
                totals.add(partition, values)
                if wanted:
                    own = own_topic and shown < limits.partitions
                    shown += own
                    left_partitions += not own
                    rows.add(partition.topic_partition.partition, _facts(partition), own)
                    if any(values):
                        sums = [have + more for have, more in zip(sums, values, strict=False)]
                if number % STEP == 0:
                    yield None
            if wanted and own_topic:
                self._add_topic(samples, name, sums)
                rows.end()
            elif wanted:
                rest_sums = [have + more for have, more in zip(rest_sums, sums, strict=True)]
        if left_topics:
            self._add_sums(samples, OTHERS, rest_sums)
            rest.end()
        for metric, value in zip(BY_TOPIC + BY_BROKER, totals.values, strict=True):
            samples.add(metric, _plain(value))
        samples.add(o.LEFT_OUT, left_topics, label("kind", "topics"))
        samples.add(o.LEFT_OUT, left_partitions, label("kind", "partitions"))

    def _add_topic(self, samples: Samples, name: str, sums: list[float]) -> None:
        self._add_sums(samples, name, sums)
        topic = self._broker.metadata.state.topics.get(name)
        if topic is not None and topic.partitions[0].leader == self._broker.node_id:
            samples.add(e.PARTITIONS, len(topic.partitions), label("topic", name))

    def _add_sums(self, samples: Samples, name: str, sums: list[float]) -> None:
        named = label("topic", name)
        for metric, value in zip(BY_TOPIC, sums, strict=True):
            samples.add(metric, _plain(value), named)


def _plain(value: float) -> float:
    """Return a whole number as an int, which has no ending in the text."""
    return int(value) if value == int(value) else value
