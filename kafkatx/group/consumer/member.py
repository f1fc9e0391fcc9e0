"""A member of a consumer group: its metadata, and its current assignment on the way to its target. Pure."""

from __future__ import annotations

import enum

import attrs

from kafkatx.group.consumer.assignment.partitions import NOTHING, Assignment
from kafkatx.group.sizes import MEMBER_BYTES, protocols_bytes, text_bytes

JOINING_EPOCH = 0
LEAVING_EPOCH = -1
LEAVING_FOR_A_WHILE_EPOCH = -2
"""Epoch of a static member that will come back: it keeps its partitions until its session ends."""


class MemberState(enum.IntEnum):
    """The condition for a member's next step; the numbers are those of its record."""

    STABLE = 0  #: none: the member has reached its target
    UNREVOKED_PARTITIONS = 1  #: the member has not yet revoked partitions
    UNRELEASED_PARTITIONS = 2  #: other members still own partitions of its target
    UNKNOWN = 127  #: written by a later version of the coordinator

    @classmethod
    def of(cls, number: int) -> MemberState:
        """Return the state with a record's number."""
        return cls._value2member_map_.get(number, cls.UNKNOWN)  # type: ignore[return-value]


@attrs.frozen
class Classic:
    """Additional metadata of a classic member: (name, metadata) of each protocol that it offers."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@attrs.frozen
class Metadata:
    """The identity and subscription of a member, from its requests."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topic_names: frozenset[str] = frozenset()
    topic_regex: str | None = None
    server_assignor: str | None = None
    classic: Classic | None = None

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the member."""
        texts = (self.instance_id, self.rack_id, self.client_id, self.client_host, self.topic_regex)
        size = MEMBER_BYTES + text_bytes(*texts, self.server_assignor, *self.topic_names)
        return size + (0 if self.classic is None else protocols_bytes(self.classic.protocols))


@attrs.frozen
class Current:
    """The current assignment of a member.

    :ivar epoch: the member epoch, which its next heartbeat must have: the epoch of the target that it
        reached.
    :ivar previous_epoch: accepted as well, in case the response with the new epoch was lost.
    :ivar assigned: the partitions that it may consume.
    :ivar revoking: the partitions that it has yet to revoke; no other member gets them before.
    """

    epoch: int = JOINING_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assignment = NOTHING
    revoking: Assignment = NOTHING

    def has_reached(self, assignment_epoch: int) -> bool:
        """Return True if the member has reached the target of that epoch."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch
