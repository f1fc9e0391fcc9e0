"""One step of a member towards its target (Apache Kafka's ``CurrentAssignmentBuilder``). Pure.

A member first revokes the partitions that are not in its target, and confirms that by no longer reporting
them as owned; then it gets the free partitions of its target. So no partition has two owners.

===========================  ======================  ======================  ====================
owns partitions to revoke    target not all free     next state              next epoch
===========================  ======================  ======================  ====================
yes                          -                       UNREVOKED_PARTITIONS    as it is
no                           yes                     UNRELEASED_PARTITIONS   the target's
no                           no                      STABLE                  the target's
===========================  ======================  ======================  ====================
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.assignment.partitions import NOTHING, Assignment, both, together, without
from kafkatx.group.consumer.member import Current, MemberState

IsFree = Callable[[uuid.UUID, int], bool]
"""Returns True if no member may consume a partition or has yet to revoke it."""


def reconcile(
    current: Current, target: Assignment, target_epoch: int, owned: Assignment | None, is_free: IsFree
) -> Current:
    """Return the member's next assignment, or *current* if there is no step to take.

    :param owned: the partitions that the member reports as owned; None if it did not: then it may own all.
    :raises RequestError: FENCED_MEMBER_EPOCH: the member's state is unknown; it must join again.
    """
    if current.state is MemberState.STABLE:
        if current.epoch == target_epoch:
            return current
        return _step(current, current.epoch, target, target_epoch, owned, is_free)
    if current.state is MemberState.UNREVOKED_PARTITIONS:
        if _still_owns(owned, current.revoking):
            return current
        return _step(current, current.epoch + 1, target, target_epoch, owned, is_free)
    if current.state is MemberState.UNKNOWN:
        if owned is None or owned:
            raise RequestError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. "
                "The member must abandon all its partitions and rejoin.",
            )
        return _step(current, target_epoch, target, target_epoch, owned, is_free)
    return _step(current, current.epoch, target, target_epoch, owned, is_free)


def _step(
    current: Current,
    epoch: int,
    target: Assignment,
    target_epoch: int,
    owned: Assignment | None,
    is_free: IsFree,
) -> Current:
    kept = both(current.assigned, target)
    revoking = without(current.assigned, kept)
    if revoking and _still_owns(owned, revoking):
        state = MemberState.UNREVOKED_PARTITIONS
        return Current(epoch, current.epoch, state, kept, revoking)
    wanted = without(target, kept)
    free = _free(wanted, is_free)
    state = MemberState.STABLE if free == wanted else MemberState.UNRELEASED_PARTITIONS
    return Current(target_epoch, current.epoch, state, together(kept, free), NOTHING)


def _still_owns(owned: Assignment | None, revoking: Assignment) -> bool:
    return owned is None or bool(both(owned, revoking))


def _free(wanted: Assignment, is_free: IsFree) -> Assignment:
    found = {
        topic: frozenset(number for number in numbers if is_free(topic, number))
        for topic, numbers in wanted.items()
    }
    return {topic: numbers for topic, numbers in found.items() if numbers}
