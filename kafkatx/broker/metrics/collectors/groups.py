"""The collector of groups: members, committed offsets, and how far they are behind. It reads logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.metrics.collectors.batch_times import BatchTimes
from kafkatx.broker.metrics.limits import OTHERS, MetricsLimits
from kafkatx.broker.metrics.samples import Samples, label, labels
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import exporter as e
from kafkatx.broker.metrics.table import own as o
from kafkatx.broker.replica.partition import Partition
from kafkatx.group.offset_records import Committed

STEP = 20


class GroupCollector:
    """The groups that a broker coordinates."""

    def __init__(self, broker: Broker, limits: MetricsLimits) -> None:
        self._broker = broker
        self._limits = limits
        self._times = BatchTimes()

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        self._times.begin()
        one = _Scrape(self._broker, self._limits, samples, self._times)
        for shard in list(self._broker.groups.shards.values()):
            for group_id in {**shard.groups, **dict.fromkeys(shard.offsets.groups())}:
                if not shard.dropped:
                    yield from one.add(shard, group_id)
        one.end()


class _Scrape:
    """A walk over all groups."""

    def __init__(self, broker: Broker, limits: MetricsLimits, samples: Samples, times: BatchTimes) -> None:
        self._broker = broker
        self._limits = limits
        self._samples = samples
        self._times = times
        self._states: Counter[tuple[str, str]] = Counter()
        self._shown = self._pairs = 0
        self._left: Counter[str] = Counter(groups=0, group_partitions=0)
        self._left_lag = self._without_lag = 0

    def add(self, shard: GroupShard, group_id: str) -> Steps:
        """Add a group."""
        own = self._shown < self._limits.groups and group_id != OTHERS
        self._shown += own
        self._left["groups"] += not own
        group = shard.groups.get(group_id)
        if group is not None:
            self._states[group.kind, group.state] += 1
        named = label("consumergroup", group_id)
        if own:
            self._samples.add(e.GROUP_MEMBERS, 0 if group is None else group.member_count, named)
        yield None
        for topic, offsets in list(shard.offsets.of(group_id).items()):
            yield from self._topic(named if own else "", topic, dict(offsets))

    def _topic(self, group: str, topic: str, offsets: Mapping[int, Committed]) -> Steps:
        """Add a group's offsets in a topic.

        :param group: the label of a group with series of its own; "" for others.
        """
        named, oldest_ms, lag_sum, known = f"{group},{label('topic', topic)}", None, 0, False
        for number, (partition_id, committed) in enumerate(offsets.items()):
            if number % STEP == 0:
                yield None
            partition = self._broker.topics.find(topic, partition_id)
            lag = self._lag(partition, committed.offset)
            if lag is not None and partition is not None:
                known, lag_sum = True, lag_sum + lag
                if lag and group:
                    offset = max(committed.offset, partition.log.log_start_offset)
                    yield from self._times.load(partition, offset)
                    first_ms = self._times.first_ms(partition, offset)
                    if first_ms is not None:
                        oldest_ms = first_ms if oldest_ms is None else min(oldest_ms, first_ms)
            if group:
                self._pair(named, partition_id, committed.offset, lag)
        if not group:
            self._left_lag += lag_sum
            return
        self._samples.add(e.GROUP_OFFSET_SUM, sum(one.offset for one in offsets.values()), named)
        if known:
            self._samples.add(e.GROUP_LAG_SUM, lag_sum, named)
            if not lag_sum or oldest_ms is not None:
                age_ms = 0 if oldest_ms is None else max(0, self._broker.now_ms() - oldest_ms)
                self._samples.add(o.GROUP_LAG_SECONDS, age_ms / 1000, named)

    def _lag(self, partition: Partition | None, offset: int) -> int | None:
        """Return the number of offsets that are missing; None if this broker cannot know it."""
        if partition is None or partition.offline:
            self._without_lag += 1
            return None
        return max(0, partition.high_watermark - max(offset, partition.log.log_start_offset))

    def _pair(self, named: str, partition_id: int, offset: int, lag: int | None) -> None:
        if self._pairs >= self._limits.group_partitions:
            self._left["group_partitions"] += 1
            return
        self._pairs += 1
        named = f'{named},partition="{partition_id}"'
        self._samples.add(e.GROUP_OFFSET, offset, named)
        if lag is not None:
            self._samples.add(e.GROUP_LAG, lag, named)

    def end(self) -> None:
        """Add what is told of all groups."""
        for (kind, state), count in sorted(self._states.items()):
            self._samples.add(o.GROUPS, count, labels(type=kind, state=state))
        self._samples.add(o.GROUPS_WITHOUT_LAG, self._without_lag)
        for kind, left in self._left.items():
            self._samples.add(o.LEFT_OUT, left, label("kind", kind))
        if self._left["groups"]:
            self._samples.add(e.GROUP_LAG_SUM, self._left_lag, labels(consumergroup=OTHERS, topic=OTHERS))
