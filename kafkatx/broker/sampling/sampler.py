"""The sampler: each second it reads the plain integers that the broker counts, in turns of 3 ms.

A walk over all partitions or groups that takes long is made less often, so that it takes at most a hundredth
of the time; meanwhile its last values go on. It touches the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from operator import add
from typing import TYPE_CHECKING

from twisted.internet.task import deferLater

from kafkatx.broker.broker import Broker
from kafkatx.broker.replica.partition import Partition
from kafkatx.group.offset_records import Committed
from kafkatx.net.poll_meter import PollMeter
from kafkatx.net.server import KafkaServerFactory

if TYPE_CHECKING:
    from kafkatx.web.server import WebServerFactory

TURN_S = 0.003
STEP = 20
SHARE = 1 / 100
NAMED_S = 10.0
"""Seconds between two samples of topics and groups."""

MOST_TOPICS, MOST_GROUPS = 20, 20
"""Topics and groups that have series of their own at a time: the busiest, and those that are behind."""

COUNTED = (
    *("bytesIn", "bytesOut", "recordsIn", "replicationBytesIn", "replicationBytesOut"),
    *("failedProduces", "failedFetches", "logWrites", "logSyncs"),
)
"""The counters of partitions; their rates have these names."""

GAUGES = ("partitions", "leaders", "underReplicated", "underMinIsr", "offline", "sizeBytes")

Totals = dict[str, float]


class Sampler:
    """Reads one broker.

    :param meter: times the reactor; None if it is of a kind that cannot be timed.
    :param web: the listeners of HTTP.
    :param cpu_s: returns the seconds that the process has worked.
    """

    def __init__(
        self,
        broker: Broker,
        server: KafkaServerFactory,
        meter: PollMeter | None,
        web: Sequence[WebServerFactory],
        cpu_s: Callable[[], float] = time.process_time,
    ) -> None:
        self._broker = broker
        self._server = server
        self._meter = meter
        self._web = web
        self._cpu_s = cpu_s
        self._counted, self._walked = _Rates(), _Rates()
        self._partitions = _Walk()
        self._groups = _Walk()
        self._topics_before: tuple[float, dict[str, tuple[float, float]]] | None = None
        self._topics: dict[str, tuple[float, float]] = {}
        self._lags: dict[str, float] = {}
        self._lagged: frozenset[str] = frozenset()

    async def sample(self) -> Mapping[str, float]:
        """Return the samples of now; rates only from the second time on."""
        now_s = self._broker.clock.seconds()
        values = self._gauges()
        values.update(await self._run(self._partitions, self._walk_partitions()))
        values.update(await self._run(self._groups, self._walk_groups()))
        values.update(self._rates(now_s))
        return values

    def named(self) -> Mapping[str, float]:
        """Return the samples of the busiest topics and of the groups that are behind."""
        now_s, values = self._broker.clock.seconds(), {}
        before, self._topics_before = self._topics_before, (now_s, self._topics)
        if before is not None and now_s > before[0]:
            passed_s = now_s - before[0]
            rates = {
                name: tuple(max(0, new - old) / passed_s for new, old in zip(counts, known, strict=True))
                for name, counts in self._topics.items()
                if (known := before[1].get(name)) is not None and known != counts
            }
            for name in nlargest(MOST_TOPICS, rates, key=lambda one: sum(rates[one])):
                values[f"topicBytesIn:{name}"], values[f"topicBytesOut:{name}"] = rates[name]
        self._lagged = frozenset(nlargest(MOST_GROUPS, self._lags, key=self._lags.__getitem__))
        for name in self._lagged:
            values[f"lag:{name}"] = self._lags[name]
        return values

    # --- turns

    async def _run(self, walk: _Walk, steps: Iterator[Mapping[str, float] | None]) -> Mapping[str, float]:
        """Make a walk if it is due; return what the last one has found."""
        clock = self._broker.clock
        began_s = turn_s = clock.seconds()
        if began_s < walk.due_s:
            return walk.found
        worked_s = 0.0
        for found in steps:
            if found is not None:
                walk.found = found
            now_s = clock.seconds()
            if now_s - turn_s >= TURN_S:
                worked_s += now_s - turn_s
                await deferLater(clock, 0)
                turn_s = clock.seconds()
        worked_s += clock.seconds() - turn_s
        walk.due_s = began_s + worked_s / SHARE
        return walk.found

    def _walk_partitions(self) -> Iterator[Mapping[str, float] | None]:
        """Walk over the partitions; yield None between, and the gauges at the end."""
        topics, topic_counts = self._broker.topics, {}
        sums, count = [0.0] * (len(COUNTED) + 1 + len(GAUGES)), 0
        for name in list(topics.partitions):
            partitions = topics.of(name)
            count += bool(partitions)
            bytes_in = bytes_out = 0.0
            for begin in range(0, len(partitions), STEP):
                found = _sum(partitions[begin : begin + STEP])
                sums = list(map(add, sums, found))
                bytes_in, bytes_out = bytes_in + found[0], bytes_out + found[1]
                yield None
            topic_counts[name] = bytes_in, bytes_out
        self._topics = topic_counts
        counters = len(COUNTED) + 1
        self._partitions.totals = dict(zip((*COUNTED, "sync_s"), sums[:counters], strict=True))
        self._partitions.ended_s = self._broker.clock.seconds()
        yield {"topics": count, **dict(zip(GAUGES, sums[counters:], strict=True))}

    def _walk_groups(self) -> Iterator[Mapping[str, float] | None]:
        """Walk over the groups; yield None between, and the gauges at the end."""
        count = members = 0
        lags: dict[str, float] = {}
        for shard in list(self._broker.groups.shards.values()):
            for number, (group_id, group) in enumerate(list(shard.groups.items())):
                count += 1
                members += group.member_count
                lag = self._lag(shard.offsets.of(group_id))
                if lag or group_id in self._lagged:  # one that has caught up goes on, at 0
                    lags[group_id] = lag
                if number % STEP == 0:
                    yield None
        self._lags = lags
        yield {"groups": count, "members": members, "lag": sum(lags.values())}

    def _lag(self, offsets: Mapping[str, Mapping[int, Committed]]) -> int:
        """Return the records that a group is behind in partitions of this broker."""
        lag, find = 0, self._broker.topics.find
        for topic, partitions in offsets.items():
            for number, committed in partitions.items():
                partition = find(topic, number)
                if partition is not None and not partition.offline:
                    start = max(committed.offset, partition.log.log_start_offset)
                    lag += max(0, partition.high_watermark - start)
        return lag

    # --- without a walk

    def _gauges(self) -> Totals:
        return {
            "connections": len(self._server.connections),
            "httpConnections": sum(len(listener.channels) for listener in self._web),
            "requestMemory": self._server.pool.held_bytes,
        }

    def _rates(self, now_s: float) -> Totals:
        """Return the rates since the last samples, and since the last walk over partitions."""
        rates = self._walked.rates(self._partitions.ended_s, self._partitions.totals)
        sync_s, syncs = rates.pop("sync_s", 0.0), rates.get("logSyncs", 0.0)
        if syncs:
            rates["syncMs"] = 1000 * sync_s / syncs
        rates.update(self._counted.rates(now_s, self._totals()))
        idle_s, busy_s = rates.pop("idle_s", 0.0), rates.pop("busy_s", 0.0)
        if idle_s + busy_s:
            rates["reactorIdle"] = idle_s / (idle_s + busy_s)
        return rates

    def _totals(self) -> Totals:
        broker, meter = self._broker, self._meter
        totals: Totals = {"coldReads": broker.cold_reads, "cpu": self._cpu_s()}
        totals["idle_s"], totals["busy_s"] = (0.0, 0.0) if meter is None else (meter.idle_s, meter.busy_s)
        requests = produced = fetched = refused = 0
        for counts in broker.request_counts:
            requests += counts.requests
            refused += sum(counts.refused.values())
            produced += counts.requests if counts.name == "Produce" else 0
            fetched += counts.requests if counts.name == "Fetch" else 0
        totals.update(
            requests=requests, refusedRequests=refused, produceRequests=produced, fetchRequests=fetched
        )
        return totals


class _Walk:
    """A walk that is made when it is due.

    :ivar found: the gauges that the last one has found.
    :ivar totals: the counters that it has found, at :attr:`ended_s`.
    """

    def __init__(self) -> None:
        self.due_s = 0.0
        self.found: Mapping[str, float] = {}
        self.totals: Totals = {}
        self.ended_s = 0.0


class _Rates:
    """The changes of counters in a second; a counter that goes back has a new owner, and no rate."""

    def __init__(self) -> None:
        self._before: tuple[float, Totals] | None = None
        self._found: Totals = {}

    def rates(self, now_s: float, totals: Totals) -> Totals:
        """Return the rates since the last time; the same again at the same time."""
        before = self._before
        if before is None or now_s > before[0]:
            self._before = now_s, totals
            if before is not None:
                passed_s, old = now_s - before[0], before[1]
                self._found = {
                    name: max(0.0, value - old.get(name, value)) / passed_s for name, value in totals.items()
                }
        return dict(self._found)


def _sum(partitions: Sequence[Partition]) -> tuple[float, ...]:
    """Return the sums of the counts of partitions, in the order of COUNTED, sync_s and GAUGES.

    The sums are local variables: this runs for each partition of a broker, again and again.
    """
    bytes_in = bytes_out = records = followed = copied = failed_produces = failed_fetches = 0
    writes = syncs = leaders = behind = too_few = offline = size_bytes = 0
    sync_s = 0.0
    for partition in partitions:
        log, asked = partition.log, partition.counts
        written = log.written
        followed += written.followed_bytes
        bytes_in += written.bytes - written.followed_bytes
        records += written.records - written.followed_records
        bytes_out += asked.bytes_out
        copied += asked.replica_bytes_out
        failed_produces += asked.failed_produces
        failed_fetches += asked.failed_fetches
        writes += written.writes
        syncs += written.syncs
        sync_s += written.sync_s
        size_bytes += log.size_bytes
        if partition.offline:
            offline += 1
        if partition.leads:
            leaders += 1
            in_sync = len(partition.isr)
            behind += in_sync < len(partition.replicas)
            too_few += in_sync < partition.min_insync
    counters = (
        bytes_in,
        bytes_out,
        records,
        followed,
        copied,
        failed_produces,
        failed_fetches,
        writes,
        syncs,
    )
    return (*counters, sync_s, len(partitions), leaders, behind, too_few, offline, size_bytes)
