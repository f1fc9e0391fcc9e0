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


def choose_role(state: PartitionState, broker_id: int, may_lead: bool, offline: bool) -> Role:
    """Return the role of a broker for a partition, by the table above.

    :param may_lead: True if it leads the partition, should the state name it as the leader
        (:meth:`kafkatx.types.ClusterState.leads`); a broker that has registered again waits for a new epoch.
    :param offline: True if its log cannot be used.
    """
    if offline:
        return OFFLINE
    if state.leader == broker_id:
        return Leading(state.leader_epoch) if may_lead else NO_ROLE
    if state.leader != NO_LEADER and broker_id in state.replicas:
        return Following(state.leader, state.leader_epoch)
    return NO_ROLE


class LeaseEnded(OSError):
    """Staged records were not written: this broker may not lead any more, and another one may."""

    def __init__(self) -> None:
        super().__init__(errno.ESTALE, "the broker's lease on its partitions has ended")


def refusal_code(error: OSError) -> ErrorCode:
    """Return the error for records that could not be written."""
    if isinstance(error, LeaseEnded):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.KAFKA_STORAGE_ERROR
