"""A member of a group: who it is and what it wants, and where it stands on its way to its target."""

from __future__ import annotations

import enum

import attrs

from kafkatx.group.consumer.assignment.partitions import NOTHING, Assignment
from kafkatx.group.sizes import MEMBER_BYTES, protocols_bytes, text_bytes

JOINING_EPOCH = 0
LEAVING_EPOCH = -1
LEAVING_FOR_A_WHILE_EPOCH = -2
"""A static member that will come back: its partitions wait for it as long as its session."""


class MemberState(enum.IntEnum):
    """What a member's next step waits for; the numbers are those of its record."""

    STABLE = 0  #: nothing: it has its target, as far as it knew one
    UNREVOKED_PARTITIONS = 1  #: the member is to give partitions up, and has not yet
    UNRELEASED_PARTITIONS = 2  #: others still own partitions that are to be the member's
    UNKNOWN = 127  #: a later version of the coordinator wrote another

    @classmethod
    def of(cls, number: int) -> MemberState:
        """The state of a record."""
        return cls._value2member_map_.get(number, cls.UNKNOWN)  # type: ignore[return-value]


@attrs.frozen
class Classic:
    """What a member of the classic protocol has besides: (name, metadata) of each protocol it offers."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@attrs.frozen
class Metadata:
    """Who a member is and what it wants; it changes when the member says so."""

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
        """About how much memory it takes."""
        texts = (self.instance_id, self.rack_id, self.client_id, self.client_host, self.topic_regex)
        size = MEMBER_BYTES + text_bytes(*texts, self.server_assignor, *self.topic_names)
        return size + (0 if self.classic is None else protocols_bytes(self.classic.protocols))


@attrs.frozen
class Current:
    """Where a member stands.

    :ivar epoch: what its next heartbeat must name; the epoch of the target it has reached.
    :ivar previous_epoch: what it may name instead, if the answer that told the new one was lost.
    :ivar assigned: what it may consume.
    :ivar revoking: what it has yet to give up; nobody else may have that before.
    """

    epoch: int = JOINING_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assignment = NOTHING
    revoking: Assignment = NOTHING

    def has_reached(self, assignment_epoch: int) -> bool:
        """Whether the member has all of the target of that epoch."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch
