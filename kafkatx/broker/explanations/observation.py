"""Observations of a broker: two of them, some seconds apart, make the facts of an explanation.

It reads the broker's parts, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.explanations.facts import (
    BrokerFacts,
    ClientFacts,
    Facts,
    GroupFacts,
    PartitionFacts,
)
from kafkatx.broker.explanations.members import members_of
from kafkatx.broker.explanations.quotas import quotas_of
from kafkatx.net.poll_meter import measure_polls
from kafkatx.types import NO_LEADER, TopicPartition

if TYPE_CHECKING:
    from kafkatx.broker.coordinator.groups.shard import GroupShard
    from kafkatx.broker.replica.partition import Partition
    from kafkatx.group.offset_records import Committed

MOST_PARTITIONS = 2000
"""Partitions of a group that are looked at."""

MOST_CLIENTS = 200

PREFIX = "org.apache.kafka."


@attrs.frozen
class Counters:
    """Counts of one partition."""

    committed: int
    high_watermark: int
    records: int
    batches: int
    syncs: int
    sync_s: float


@attrs.frozen
class Observation:
    """The counters at one time.

    :ivar at_s: the monotonic time.
    :ivar generation: of the group; -1: it is not known.
    """

    at_s: float
    generation: int
    partitions: Mapping[TopicPartition, Counters]
    cold_reads: int
    idle_s: float
    busy_s: float


def observe(broker: Broker, group_id: str | None) -> Observation:
    """Return the counters of now."""
    meter = measure_polls(broker.clock)
    partitions = {}
    generation = -1
    if group_id is not None:
        generation = _generation(broker, group_id)
        for topic, number, committed in islice(_offsets(broker, group_id), MOST_PARTITIONS):
            partitions[TopicPartition(topic, number)] = _counters(broker, topic, number, committed)
    return Observation(
        broker.clock.seconds(),
        generation,
        partitions,
        broker.cold_reads,
        0.0 if meter is None else meter.idle_s,
        0.0 if meter is None else meter.busy_s,
    )


def is_group(broker: Broker, group_id: str) -> bool:
    """Return True if there is a group here, or offsets of one."""
    return broker.groups.find(group_id) is not None or next(_offsets(broker, group_id), None) is not None


def group_facts(broker: Broker, group_id: str, before: Observation, after: Observation) -> Facts:
    """Return the facts about a group between two observations of it."""
    group = broker.groups.find(group_id)
    members, owners = members_of(group)
    every = [*_offsets(broker, group_id)]
    partitions = tuple(
        _partition(broker, TopicPartition(topic, number), committed, owners, before, after)
        for topic, number, committed in every[:MOST_PARTITIONS]
    )
    names = sorted({one.client_id for one in members})[:MOST_CLIENTS]
    since_ms: int = -1 if group is None else getattr(group, "state_since_ms", group.empty_since_ms)
    return Facts(
        _broker(broker, before, after),
        GroupFacts(
            group_id,
            "" if group is None else group.kind,
            "Empty" if group is None else group.state,
            None if since_ms < 0 else max(0, broker.now_ms() - since_ms),
            max(0, after.generation - before.generation) if before.generation >= 0 else 0,
            members,
            partitions,
            len(every) - len(partitions),
        ),
        tuple(_client(broker, name) for name in names),
    )


def client_facts(broker: Broker, client_id: str, before: Observation, after: Observation) -> Facts:
    """Return the facts about a client between two observations."""
    return Facts(_broker(broker, before, after), None, (_client(broker, client_id),))


def _offsets(broker: Broker, group_id: str) -> Iterator[tuple[str, int, Committed]]:
    shard: GroupShard | None = broker.groups.shard_of(group_id)
    if shard is None:
        return
    for topic, offsets in sorted(shard.offsets.of(group_id).items()):
        for number in sorted(offsets):
            yield topic, number, offsets[number]


def _generation(broker: Broker, group_id: str) -> int:
    group: Any = broker.groups.find(group_id)
    if group is None:
        return -1
    if hasattr(group, "generation"):
        return int(group.generation)
    return int(group.consumer_describe().group_epoch)


def _counters(broker: Broker, topic: str, number: int, committed: Committed) -> Counters:
    partition = broker.topics.find(topic, number)
    if partition is None or partition.offline:
        return Counters(committed.offset, -1, 0, 0, 0, 0.0)
    written = partition.log.written
    records, batches = (
        written.records - written.followed_records,
        written.batches - written.followed_batches,
    )
    return Counters(
        *(committed.offset, partition.high_watermark, records, batches, written.syncs, written.sync_s)
    )


def _partition(
    broker: Broker,
    name: TopicPartition,
    committed: Committed,
    owners: Mapping[TopicPartition, str],
    before: Observation,
    after: Observation,
) -> PartitionFacts:
    partition = broker.topics.find(*name)
    now_ms = broker.now_ms()
    age_ms = None if committed.commit_timestamp_ms < 0 else max(0, now_ms - committed.commit_timestamp_ms)
    client_id = owners.get(name, "")
    if partition is None or partition.offline:
        return PartitionFacts(
            *name,
            has_leader=partition is None and _has_leader(broker, name),
            here=False,
            committed=committed.offset,
            commit_age_ms=age_ms,
            client_id=client_id,
        )
    old, new = before.partitions.get(name), after.partitions.get(name)
    produced, consumed, records, batches = _changes(old, new)
    producer_id, idle_ms = _open_transaction(partition, now_ms)
    return PartitionFacts(
        *name,
        has_leader=partition.leader != NO_LEADER,
        committed=committed.offset,
        log_start_offset=partition.log.log_start_offset,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        commit_age_ms=age_ms,
        parked=len(partition.delayed_fetches),
        open_producer_id=producer_id,
        open_idle_ms=idle_ms,
        client_id=client_id,
        produced=produced,
        consumed=consumed,
        records=records,
        batches=batches,
    )


def _changes(old: Counters | None, new: Counters | None) -> tuple[int, int, int, int]:
    """Return the changes of high watermark, committed offset, records and batches."""
    if old is None or new is None:
        return 0, 0, 0, 0
    return (
        max(0, new.high_watermark - old.high_watermark),
        max(0, new.committed - old.committed),
        max(0, new.records - old.records),
        max(0, new.batches - old.batches),
    )


def _has_leader(broker: Broker, name: TopicPartition) -> bool:
    topic = broker.metadata.state.topics.get(name.topic)
    if topic is None or name.partition >= len(topic.partitions):
        return True  # it was deleted: nothing stands in the way
    return topic.partitions[name.partition].leader != NO_LEADER


def _open_transaction(partition: Partition, now_ms: int) -> tuple[int, int]:
    """Return the producer of the oldest open transaction, -1 if there is none, and how long it is idle."""
    if partition.last_stable_offset >= partition.high_watermark:
        return -1, 0
    producers = [one for one in partition.log.active_producers() if one.txn_start_offset >= 0]
    if not producers:
        return -1, 0
    oldest = min(producers, key=lambda one: one.txn_start_offset)
    return oldest.producer_id, max(0, now_ms - oldest.last_timestamp_ms)


def _client(broker: Broker, client_id: str) -> ClientFacts:
    pushed: dict[str, float] = {}
    instances = []
    if "telemetry" in vars(broker):  # else no client has asked what to push
        broker.telemetry.recent()
        instances = broker.telemetry.values.of_client_id(client_id)
        for one in instances:
            for (name, _), value in one.values.items():
                short = name.removeprefix(PREFIX)
                pushed[short] = max(value.value, pushed.get(short, value.value))
    users = frozenset(one.principal for one in instances)
    return ClientFacts(client_id, quotas_of(broker.quotas, client_id, users), len(instances), pushed)


def _broker(broker: Broker, before: Observation, after: Observation) -> BrokerFacts:
    idle_s, busy_s = after.idle_s - before.idle_s, after.busy_s - before.busy_s
    syncs, sync_s = 0, 0.0
    for name, new in after.partitions.items():
        old = before.partitions.get(name)
        if old is not None:
            syncs, sync_s = syncs + max(0, new.syncs - old.syncs), sync_s + max(0.0, new.sync_s - old.sync_s)
    return BrokerFacts(
        broker.node_id,
        max(after.at_s - before.at_s, 1e-3),
        idle_s / (idle_s + busy_s) if idle_s + busy_s > 0 else None,
        max(0, after.cold_reads - before.cold_reads),
        syncs,
        sync_s,
        broker.metadata.state.fenced,
        tuple(one.path for one in broker.store.dirs if one.error is not None),
    )
