"""Reads from followers (KIP-392): a leader names a replica in the consumer's rack, which serves it. Pure.

``replica.selector.class`` switches the leader's part on. A follower serves any consumer of version 11 or
later, up to its own high watermark. It may be behind the leader: an offset above the end of its log may
exist, so the consumer is not told that it is out of range. It waits, and then asks again.
"""

from __future__ import annotations

from kafkatx.broker.replica.leadership import Leadership
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import Following
from kafkatx.errors import ErrorCode
from kafkatx.types import ClusterState, TopicPartition
from kafkatx.wire.messages.fetch import FetchPartition, PartitionData

RACKS_SINCE = 11
NO_REPLICA = -1


def preferred_replica(
    state: ClusterState, broker_id: int, name: TopicPartition, leadership: Leadership, offset: int, rack: str
) -> int:
    """Return the replica that a consumer should read from; NO_REPLICA: this leader.

    It is live, in sync, in the consumer's rack, and has the offset; of several the one that has the most.
    """
    own = state.brokers.get(broker_id)
    if own is None or own.rack == rack:
        return NO_REPLICA
    found = [
        (follower.end_offset, replica_id)
        for replica_id, follower in leadership.followers.items()
        if replica_id in leadership.state.isr
        and state.has_live(replica_id, name)
        and state.brokers[replica_id].rack == rack
        and 0 <= follower.log_start_offset <= offset <= follower.end_offset
    ]
    return max(found)[1] if found else NO_REPLICA


def elsewhere(asked: FetchPartition, partition: Partition, replica: int) -> PartitionData:
    """Return the answer that sends a consumer to a replica."""
    return PartitionData(
        asked.partition,
        0,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log.log_start_offset,
        preferred_read_replica=replica,
        records=b"",
    )


def follower_error(partition: Partition, asked: FetchPartition) -> int | None:
    """Return the error of a consumer's read from a follower, or 0; None: this is no follower."""
    if not isinstance(partition.role, Following):
        return None
    epoch = asked.current_leader_epoch
    if epoch not in (-1, partition.leader_epoch):
        return (
            ErrorCode.FENCED_LEADER_EPOCH
            if epoch < partition.leader_epoch
            else ErrorCode.UNKNOWN_LEADER_EPOCH
        )
    below = asked.fetch_offset < partition.log.log_start_offset
    return ErrorCode.OFFSET_OUT_OF_RANGE if below else ErrorCode.NONE
