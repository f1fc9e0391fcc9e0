"""The assignor type. The group's leader runs an assignor to assign partitions to members."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

import attrs

from kafkatx.types import TopicPartition

NO_GENERATION = -1


class Member(NamedTuple):
    """A member as the leader knows it from its subscription."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    """``group.instance.id`` of a static member (KIP-345)."""
    owned: tuple[TopicPartition, ...] = ()
    """Partitions that the member has, and gives up only if it must (KIP-429); empty with eager rebalances."""
    generation: int = NO_GENERATION
    """The generation of *owned*; NO_GENERATION if the subscription does not tell."""
    user_data: bytes = b""
    """Written by the member's assignor of the same name."""


PartitionCounts: TypeAlias = Mapping[str, int]
"""Number of partitions by topic; topics that are not in it are not assigned."""

Assignments: TypeAlias = dict[str, list[TopicPartition]]
"""Partitions by member id; every member is in it."""


def no_user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
    """Return None: most assignors send no user data."""
    return None


@attrs.frozen
class Assignor:
    """An assignment strategy, and the name by which members agree on it.

    It provides ``kafkatx.interfaces.IAssignor``, without declaring it: this package does not import Twisted.
    Assignors of plugins are converted to this class.
    """

    name: str
    assign: Callable[[Mapping[str, Member], PartitionCounts], Assignments]
    """A pure function: any member may be the leader, and all must come to the same result."""
    cooperative: bool = False
    """True if members may keep their partitions during a rebalance (KIP-429). A partition that moves is then
    assigned to nobody first, and to its new owner in the next rebalance."""
    user_data: Callable[[Collection[TopicPartition] | None, int], bytes | None] = no_user_data
    """Called with the member's last assignment (None if there was none) and its generation; returns bytes for
    the leader."""


def member_order(member: Member) -> tuple[bool, str]:
    """Return the sort key of a member: static members by instance id, then the others by member id.

    So a static member that rejoins with another id is assigned what it had (``MemberInfo.compareTo``).
    """
    if member.instance_id is not None:
        return (False, member.instance_id)
    return (True, member.member_id)
