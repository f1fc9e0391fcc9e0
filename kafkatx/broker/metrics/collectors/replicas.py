"""The collector of replicas: roles, waiting requests, the lag of followers, compaction. Pure."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import inf

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.samples import Samples, label
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import kafka as k
from kafkatx.broker.metrics.table import own as o
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.waiters import Waiter
from kafkatx.interfaces import IPartitionLog

STEP = 20


class ReplicaCollector:
    """The replicas of a broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        roles, cleaner, followers = _Roles(), _Cleaner(), _Followers()
        now_s, number = self._broker.clock.seconds(), 0
        for name in list(self._broker.topics.partitions):
            for partition in self._broker.topics.of(name):
                roles.add(partition)
                if partition.leadership is not None:
                    followers.add(partition, now_s)
                if partition.log.config.compacted:
                    cleaner.add(partition.log)
                number += 1
                if number % STEP == 0:
                    yield None
        roles.tell(samples)
        cleaner.tell(samples)
        followers.tell(samples)


class _Roles:
    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._fetches: set[Waiter] = set()  # a fetch waits in each of its partitions
        self._replica_fetches: set[Waiter] = set()

    def add(self, partition: Partition) -> None:
        counts = self._counts
        counts["here"] += 1
        counts["offline"] += partition.offline
        counts["waiting"] += bool(partition.commit_waiters)
        if partition.delayed_fetches:
            self._fetches.update(partition.delayed_fetches)
        if partition.replica_fetches:
            self._replica_fetches.update(partition.replica_fetches)
        if partition.leads:
            counts["led"] += 1
            counts["under replicated"] += len(partition.isr) < len(partition.replicas)
            counts["under min"] += len(partition.isr) < partition.min_insync

    def tell(self, samples: Samples) -> None:
        counts = self._counts
        samples.add(k.PARTITION_COUNT, counts["here"])
        samples.add(k.LEADER_COUNT, counts["led"])
        samples.add(k.OFFLINE_REPLICAS, counts["offline"])
        samples.add(k.UNDER_REPLICATED, counts["under replicated"])
        samples.add(k.UNDER_MIN_ISR_COUNT, counts["under min"])
        samples.add(o.WAITING_WRITERS, counts["waiting"])
        samples.add(o.PARKED_FETCHES, len(self._fetches))
        samples.add(o.PARKED_REPLICA_FETCHES, len(self._replica_fetches))


class _Followers:
    """The followers of partitions that this broker leads, by their brokers."""

    def __init__(self) -> None:
        self._lag: dict[int, int] = {}
        self._late_s: dict[int, float] = {}
        self._out: Counter[int] = Counter()

    def add(self, partition: Partition, now_s: float) -> None:
        assert partition.leadership is not None
        end = partition.log.log_end_offset
        for broker_id, follower in partition.leadership.followers.items():
            self._out[broker_id] += broker_id not in partition.isr
            lag = end - max(follower.end_offset, partition.log.log_start_offset)
            self._lag[broker_id] = max(self._lag.get(broker_id, 0), lag)
            late_s = 0.0 if follower.end_offset >= end or follower.caught_up_s == -inf else now_s
            self._late_s[broker_id] = max(
                self._late_s.get(broker_id, 0.0), late_s and late_s - follower.caught_up_s
            )

    def tell(self, samples: Samples) -> None:
        for broker_id, lag in sorted(self._lag.items()):
            named = label("replica", broker_id)
            samples.add(o.REPLICA_LAG, lag, named)
            samples.add(o.REPLICA_LAG_SECONDS, round(self._late_s[broker_id], 3), named)
            samples.add(o.OUT_OF_SYNC, self._out[broker_id], named)


class _Cleaner:
    """The bytes that compaction has not cleaned, in closed segments."""

    def __init__(self) -> None:
        self._logs = self._dirty = 0
        self._ratio = 0.0

    def add(self, log: IPartitionLog) -> None:
        first_dirty: int = getattr(log, "first_dirty_offset", 0)  # of stores that compact
        dirty = sum(
            segment.size_bytes for segment, after in pairwise(log.segments) if after.base_offset > first_dirty
        )
        self._logs += 1
        self._dirty += dirty
        if dirty:
            self._ratio = max(self._ratio, dirty / log.size_bytes)

    def tell(self, samples: Samples) -> None:
        samples.add(o.CLEANER_LOGS, self._logs)
        samples.add(o.CLEANER_DIRTY, self._dirty)
        samples.add(o.CLEANER_RATIO, round(self._ratio, 4))
