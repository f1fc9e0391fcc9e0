"""Access of tests to the groups that a broker coordinates, and to the partitions with their records."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.broker import Broker
from kafkatx.broker.replica.partition import Partition
from kafkatx.group.offsets import Offsets


def groups_of(broker: Broker) -> dict[str, Any]:
    """Return the groups that a broker coordinates, by id."""
    return {group.group_id: group for group in broker.groups.all()}


def put_group(broker: Broker, group: Any, group_id: str = "") -> None:
    """Put a group among those that a broker coordinates, without a timer; create its partition if needed."""
    broker.groups.topic.ensure()
    group_id = group_id or group.group_id
    shard = broker.groups.served_shard(group_id)
    shard.groups[group_id] = group
    broker.groups._homes[group_id] = shard


def offsets_of(broker: Broker, group_id: str = "g") -> Offsets:
    """Return the committed offsets among which those of a group are."""
    return broker.groups.offsets_of(group_id)


def groups_with_offsets(broker: Broker) -> list[str]:
    """Return the groups that have committed offsets."""
    return [group_id for shard in broker.groups.shards.values() for group_id in shard.offsets.groups()]


def partition_of(broker: Broker, group_id: str = "g") -> Partition:
    """Return the partition of ``__consumer_offsets`` that a group's records are in."""
    found = broker.groups.topic.find(broker.groups.topic.partition_of(group_id))
    assert found is not None
    return found


def partitions_of(broker: Broker) -> list[Partition]:
    """Return the partitions of ``__consumer_offsets`` that a broker leads."""
    return list(broker.groups.topic.led())


def reload(broker: Broker) -> None:
    """Forget all groups, and begin to load them again, as when partitions are lost and given back."""
    runtime = broker.groups.runtime
    for partition in partitions_of(broker):
        runtime.role_changed(partition, False)
    for partition in partitions_of(broker):
        runtime.role_changed(partition, True)
