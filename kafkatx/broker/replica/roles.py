"""The roles that this broker can have for a partition. Pure.

A role is a value; a change of leaders replaces it as a whole (:meth:`Partition.apply`), and requests see its
error code only:

| log of the partition | by the cluster's state           | role          | requests are answered  |
|----------------------|----------------------------------|---------------|------------------------|
| cannot be used       | any leader                       | ``OFFLINE``   | KAFKA_STORAGE_ERROR    |
| can be used          | this broker leads                | ``Leading``   |                        |
| can be used          | another leads, and this follows  | ``Following`` | NOT_LEADER_OR_FOLLOWER |
| can be used          | none of these                    | ``NO_ROLE``   | NOT_LEADER_OR_FOLLOWER |
"""

from __future__ import annotations

import errno
from typing import ClassVar, TypeAlias

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.types import NO_LEADER, PartitionState


@attrs.frozen
class Leading:
    """This broker leads the partition in one epoch: it takes records and moves the high watermark."""

    leader_epoch: int
    error: ClassVar[ErrorCode] = ErrorCode.NONE


@attrs.frozen
class Following:
    """This broker copies the partition from its leader. Its log is open; clients are refused.

    :ivar leader: id of the leader, which need not be live.
    """

    leader: int
    leader_epoch: int
    error: ClassVar[ErrorCode] = ErrorCode.NOT_LEADER_OR_FOLLOWER


@attrs.frozen
class Nobody:
    """This broker does nothing for the partition.

    :ivar error: answer to requests for it.
    """

    error: ErrorCode


Role: TypeAlias = Leading | Following | Nobody

NO_ROLE = Nobody(ErrorCode.NOT_LEADER_OR_FOLLOWER)
OFFLINE = Nobody(ErrorCode.KAFKA_STORAGE_ERROR)


def choose_role(state: PartitionState, broker_id: int, acts: bool, offline: bool) -> Role:
    """Return the role of a broker for a partition, by the table above.

    :param acts: False if it has no role whatever the state says: it leads in an epoch from before its
        registration (:meth:`kafkatx.types.ClusterState.leads`), or its log is ahead of the state.
    :param offline: True if its log cannot be used.
    """
    if offline:
        return OFFLINE
    if not acts or state.leader == NO_LEADER:
        return NO_ROLE
    if state.leader == broker_id:
        return Leading(state.leader_epoch)
    return Following(state.leader, state.leader_epoch) if broker_id in state.replicas else NO_ROLE


def was_moved(broker_id: int, before: PartitionState, after: PartitionState) -> bool:
    """Return True if a reassignment has removed a broker's replica, between two states of a partition.

    It was to go in the state before, or was only about to come and the reassignment was cancelled or
    replaced. A replica that is missing for another reason, as in an older copy of the state, was not moved.
    """
    return (
        broker_id not in after.replicas
        and broker_id in (*before.removing, *before.adding)
        and after.partition_epoch > before.partition_epoch
    )


class LeaseEnded(OSError):
    """Staged records were not written: this broker may not lead any more, and another one may."""

    def __init__(self) -> None:
        super().__init__(errno.ESTALE, "the broker's lease on its partitions has ended")


def refusal_code(error: OSError) -> ErrorCode:
    """Return the error for records that could not be written."""
    if isinstance(error, LeaseEnded):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.KAFKA_STORAGE_ERROR
