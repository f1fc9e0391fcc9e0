"""The roles that this broker can have for a partition. Pure.

A role is a value; a change of leaders replaces it as a whole (:meth:`Partition.apply`), and requests see its
error code only:

| log of the partition | by the cluster's state | role             | requests are answered     |
|----------------------|------------------------|------------------|---------------------------|
| cannot be used       | any leader             | ``OFFLINE``      | KAFKA_STORAGE_ERROR       |
| can be used          | this broker leads      | ``Leading``      |                           |
| can be used          | any other, or none     | ``NOT_LEADING``  | NOT_LEADER_OR_FOLLOWER    |
"""

from __future__ import annotations

import errno
from typing import ClassVar, TypeAlias

import attrs

from kafkatx.errors import ErrorCode


@attrs.frozen
class Leading:
    """This broker leads the partition in one epoch: it takes records and moves the high watermark."""

    leader_epoch: int
    error: ClassVar[ErrorCode] = ErrorCode.NONE


@attrs.frozen
class Nobody:
    """This broker does nothing for the partition.

    :ivar error: answer to requests for it.
    """

    error: ErrorCode


Role: TypeAlias = Leading | Nobody

NOT_LEADING = Nobody(ErrorCode.NOT_LEADER_OR_FOLLOWER)
OFFLINE = Nobody(ErrorCode.KAFKA_STORAGE_ERROR)


def choose_role(leader_epoch: int, leads: bool, offline: bool) -> Role:
    """Return the role for a partition, by the table above.

    :param leader_epoch: the epoch of the partition's state.
    :param leads: True if this broker leads it (:meth:`kafkatx.types.ClusterState.leads`).
    :param offline: True if its log cannot be used.
    """
    if offline:
        return OFFLINE
    return Leading(leader_epoch) if leads else NOT_LEADING


class LeaseEnded(OSError):
    """Staged records were not written: this broker may not lead any more, and another one may."""

    def __init__(self) -> None:
        super().__init__(errno.ESTALE, "the broker's lease on its partitions has ended")


def refusal_code(error: OSError) -> ErrorCode:
    """Return the error for records that could not be written."""
    if isinstance(error, LeaseEnded):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.KAFKA_STORAGE_ERROR
