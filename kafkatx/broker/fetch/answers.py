"""Refusals of fetches: a partition that cannot be read in the reader's leader epoch. Pure."""

from __future__ import annotations

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.fetch import FetchPartition, PartitionData


def epoch_error(partition: Partition, current_leader_epoch: int) -> int:
    """Compare a client's leader epoch with the partition's (KIP-320); -1 is not compared.

    A partition that this broker does not lead, or whose log is offline, is refused with any epoch.
    """
    if partition.error:
        return partition.error
    if current_leader_epoch == -1 or current_leader_epoch == partition.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH


def refused(asked: FetchPartition, code: int) -> PartitionData:
    """Return the answer for a partition that is not read."""
    return PartitionData(asked.partition, code, -1, records=b"")
