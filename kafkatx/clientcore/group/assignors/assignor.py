"""What an assignor is: the leader of a group has one say who gets which partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

import attrs

from kafkatx.types import TopicPartition

NO_GENERATION = -1


class Member(NamedTuple):
    """A member as its subscription shows it to the leader."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    """Of a static member (KIP-345)."""
    owned: tuple[TopicPartition, ...] = ()
    """What it has, and gives up only if it must (KIP-429); empty where the group rebalances eagerly."""
    generation: int = NO_GENERATION
    """In which it got that; NO_GENERATION where its subscription does not tell."""
    user_data: bytes = b""
    """What its assignor of the same name wrote."""


PartitionCounts: TypeAlias = Mapping[str, int]
"""How many partitions each topic has; of topics that are not in it nothing is given."""

Assignments: TypeAlias = dict[str, list[TopicPartition]]
"""By member id; every member is in it."""


def no_user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
    """What most assignors tell of a member: nothing."""
    return None


@attrs.frozen
class Assignor:
    """A way to assign, under the name by which members agree on it.

    It has the shape of ``kafkatx.interfaces.IAssignor``, and what others bring is made one. That it is not
    declared here is on purpose: this floor does not import Twisted.
    """

    name: str
    assign: Callable[[Mapping[str, Member], PartitionCounts], Assignments]
    """Pure. It may be asked by any member, and all must come to the same."""
    cooperative: bool = False
    """Whether members may keep their partitions while they rebalance (KIP-429): a partition that moves is
    then given to nobody first, and to its new owner by the next rebalance."""
    user_data: Callable[[Collection[TopicPartition] | None, int], bytes | None] = no_user_data
    """Of the last assignment (None: there was none) and its generation, what the leader is to know of it."""


def member_order(member: Member) -> tuple[bool, str]:
    """Members stand in this order: static ones by instance id, then the others by member id.

    So a static member that comes back under another id gets what it had (``MemberInfo.compareTo``).
    """
    if member.instance_id is not None:
        return (False, member.instance_id)
    return (True, member.member_id)
