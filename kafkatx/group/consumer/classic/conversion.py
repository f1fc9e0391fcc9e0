"""The online migration of a group with members from one protocol to the other (KIP-848). Pure.

Upgrade: the first member of the consumer protocol that joins a classic group converts it; the classic members
keep their partitions and are served by the consumer group. Downgrade: when the last member of the consumer
protocol leaves, the remaining classic members become a classic group again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.classic.member import Member
from kafkatx.group.consumer.assignment.partitions import Assignment
from kafkatx.group.consumer.classic.members import as_bytes, from_names
from kafkatx.group.consumer.deadlines import Wait
from kafkatx.group.consumer.member import Classic, Current, Metadata
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import Kind
from kafkatx.group.protocol import PROTOCOL_TYPE, parse_assignment, parse_subscription, version_of

UP, DOWN = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")
"""The values of ``group.consumer.migration.policy`` that allow upgrades and downgrades."""


def take_over(rebalance: Rebalance, classic: ClassicGroup, now_ms: int) -> None:
    """Add the members of a classic group to a new consumer group, with their assignments.

    :raises RequestError: GROUP_ID_NOT_FOUND: the classic group may not or cannot be upgraded.
    """
    state, members = rebalance.state, classic.members.values()
    if not members:
        return  # nothing to convert, so no policy applies
    _check_up(rebalance, classic)
    try:
        wanted = {member.member_id: _metadata(member, classic.protocol_name) for member in members}
        assigned = _assigned(rebalance, classic)
    except ProtocolViolation:
        raise _cannot(classic, "because the embedded consumer protocol is malformed.") from None
    epoch = classic.generation
    for member_id, metadata in wanted.items():
        state.put(Kind.MEMBER, member_id, metadata)
    state.put(Kind.GROUP_EPOCH, "", epoch)
    for member_id in wanted:
        state.put(Kind.TARGET, member_id, assigned[member_id])
    state.put(Kind.TARGET_EPOCH, "", epoch)
    for member in members:
        current = Current(epoch, epoch, assigned=assigned[member.member_id])
        state.put(Kind.CURRENT, member.member_id, current)
        rebalance.deadlines.set(Wait.SESSION, member.member_id, now_ms + member.session_timeout_ms)


def _check_up(rebalance: Rebalance, classic: ClassicGroup) -> None:
    if rebalance.settings.migration_policy not in UP:
        raise _cannot(classic, "because online upgrade is disabled.")
    if classic.protocol_type != PROTOCOL_TYPE:
        raise _cannot(classic, "because the group does not use the consumer embedded protocol.")
    if len(classic.members) > rebalance.settings.consumer_max_size:
        raise _cannot(classic, "because the group size exceeds the consumer group maximum size.")


def _cannot(classic: ClassicGroup, why: str) -> RequestError:
    return RequestError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {classic.group_id} to consumer group {why}",
    )


def _metadata(member: Member, protocol_name: str | None) -> Metadata:
    """Return the metadata of a classic member, from the selected protocol or from its preferred one."""
    chosen = member.metadata(protocol_name) or (member.protocols[0][1] if member.protocols else b"")
    subscription = parse_subscription(chosen)
    return Metadata(
        member.group_instance_id,
        subscription.rack_id or None,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        frozenset(subscription.topics),
        classic=Classic(member.session_timeout_ms, member.protocols),
    )


def _assigned(rebalance: Rebalance, classic: ClassicGroup) -> dict[str, Assignment]:
    """Return the assignment of each classic member; a partition with two owners goes to the first.

    :raises RequestError: GROUP_ID_NOT_FOUND: a custom assignor has added user data, which would be lost.
    :raises ProtocolViolation: an assignment is malformed.
    """
    found: dict[str, Assignment] = {}
    taken: set[tuple[object, int]] = set()
    for member_id, member in classic.members.items():
        if not member.assignment:
            found[member_id] = {}
            continue
        assignment = parse_assignment(member.assignment)
        if assignment.user_data:
            raise _cannot(
                classic,
                "because an unsupported custom assignor is in use. Please refer to the documentation or "
                "switch to a default assignor before re-attempting the upgrade.",
            )
        named = from_names(assignment.assigned_partitions, rebalance.cluster())
        own = {
            topic: frozenset(n for n in numbers if (topic, n) not in taken)
            for topic, numbers in named.items()
        }
        found[member_id] = {topic: numbers for topic, numbers in own.items() if numbers}
        taken.update((topic, number) for topic, numbers in own.items() for number in numbers)
    return found


def can_downgrade(rebalance: Rebalance, leaving: Collection[str]) -> bool:
    """Return True if the members that remain after these leave must become a classic group."""
    settings = rebalance.settings
    staying = [member for one, member in rebalance.state.members.items() if one not in leaving]
    return (
        bool(staying)
        and all(member.classic is not None for member in staying)
        and settings.migration_policy in DOWN
        and len(staying) <= settings.max_size
    )


def to_classic(
    rebalance: Rebalance,
    new_member_id: Callable[[str], str],
    wall_ms: Callable[[], int],
    leaving: Collection[str],
    now_ms: int,
) -> ClassicGroup:
    """Return a classic group of the remaining members, about to rebalance, with their target assignments."""
    state, members = rebalance.state, []
    for member_id, metadata in state.members.items():
        if member_id in leaving or metadata.classic is None:
            continue
        version = version_of(metadata.classic.protocols[0][1])
        members.append(
            Member(
                member_id,
                metadata.instance_id,
                metadata.client_id,
                metadata.client_host,
                metadata.rebalance_timeout_ms,
                metadata.classic.session_timeout_ms,
                metadata.classic.protocols,
                as_bytes(state.target_of(member_id), rebalance.cluster(), version),
            )
        )
    return ClassicGroup.from_members(
        rebalance.group_id, rebalance.settings, new_member_id, wall_ms, members, state.epoch, now_ms
    )
