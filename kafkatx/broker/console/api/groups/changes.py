"""Changes of groups without members: of their offsets, with a preview, and their deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.groups.details import GroupDetails, Offsets, coordinator_of, offsets_of
from kafkatx.broker.console.api.groups.targets import Targets, read_target
from kafkatx.broker.console.api.topics.changes import check_confirmed
from kafkatx.broker.console.errors import ConsoleError, invalid, of_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.errors import ErrorCode
from kafkatx.types import Topic, TopicPartition
from kafkatx.web.calls import Call
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

MOST_NAMED = 5
MOST_PARTITIONS = 10_000
Scope: TypeAlias = Sequence[tuple[str, list[int] | None]]
"""Topics and their partitions; None: all of the topic's."""

JOINED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH})
"""Errors of a commit without membership where the group has members."""


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    changes = _Changes(parts)
    body = {
        "preview": "true: tell what would change, and change nothing",
        "scope": "a list of {topic, partitions}; partitions null: all; no scope: all partitions with offsets",
        "to": 'earliest, latest, {"timeMs": n}, {"offset": n} or {"shift": n}',
    }
    return [
        Route(
            "POST",
            "/groups/{id}/reset",
            changes.reset,
            "Reset the offsets of a group without members",
            body=body,
            changes=True,
        ),
        Route(
            "DELETE",
            "/groups/{id}",
            changes.delete,
            "Delete a group without members",
            {"confirm": "the id of the group once more"},
            changes=True,
        ),
    ]


def _scope(fields: Fields) -> Scope | None:
    """Return the chosen topics; None if the request names no scope.

    :raises ConsoleError: it is malformed, or an empty list, which chooses nothing and must not mean all.
    """
    if fields.raw("scope") is None:
        return None
    scope = [(one.text("topic"), one.numbers("partitions")) for one in fields.children("scope")]
    if not scope:
        raise invalid("scope: name at least one topic, or leave it out for all partitions with offsets")
    return scope


class _Changes:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts

    async def reset(self, call: Call, group_id: str) -> object:
        """Reset offsets, or tell what would change."""
        fields = Fields.of(call)
        target = read_target(fields.raw("to"))
        scope = _scope(fields)
        if fields.flag("preview"):
            return {"changes": _rows(*await self._plan(call, group_id, scope, target))}
        with self._parts.actions.change(call, "reset offsets", f"group {group_id}: to {target}"):
            before, after = await self._plan(call, group_id, scope, target)
            await self._commit(call, group_id, after)
        return {"changes": _rows(before, after)}

    async def _plan(
        self, call: Call, group_id: str, scope: Scope | None, target: Any
    ) -> tuple[Offsets, Mapping[TopicPartition, int]]:
        """Return the offsets of now and those to be.

        :raises ConsoleError: the group has members, or there is nothing to reset.
        """
        details = GroupDetails(self._parts, call, group_id)
        _check_inactive(group_id, await details.describe())
        before = await offsets_of(self._parts, call, group_id, details.node)
        names = list(before) if scope is None else self._names(call, scope)
        if not names:
            raise invalid(f"group {group_id[:300]!r} has no offsets: name topics in the scope")
        if len(names) > MOST_PARTITIONS:
            raise invalid(f"the scope has {len(names)} partitions: at most {MOST_PARTITIONS} at once")
        current = {name: before[name][0] for name in names if name in before}
        after = await Targets(self._parts, call).find(names, target, current)
        return before, after

    def _names(self, call: Call, scope: Scope) -> list[TopicPartition]:
        names: dict[TopicPartition, None] = {}
        for name, numbers in scope:
            if not self._parts.sees(call, AclOperation.DESCRIBE, ResourceType.TOPIC, name):
                raise of_code(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, f"topic {name[:300]!r}")
            topic: Topic | None = self._parts.broker.metadata.state.topics.get(name)
            count = 0 if topic is None else len(topic.partitions)
            missing = [number for number in numbers or () if number >= count]
            if topic is None or missing:
                told = f"no partition {missing[0]} in" if topic is not None else "no"
                raise ConsoleError(404, "UNKNOWN_TOPIC_OR_PARTITION", f"there is {told} topic {name[:300]!r}")
            names.update(
                {TopicPartition(name, one): None for one in (range(count) if numbers is None else numbers)}
            )
        return list(names)

    async def _commit(self, call: Call, group_id: str, after: Mapping[TopicPartition, int]) -> None:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for name, offset in after.items():
            one = OffsetCommitRequestPartition(name.partition, offset, committed_metadata="")
            topics.setdefault(name.topic, []).append(one)
        asked = OffsetCommitRequest(
            group_id, topics=[OffsetCommitRequestTopic(topic, some) for topic, some in topics.items()]
        )
        response = await self._parts.kafka.ask(call, asked, coordinator_of(self._parts, group_id))
        for topic in response.topics:
            for one in topic.partitions:
                if one.error_code in JOINED:
                    raise ConsoleError(
                        409,
                        "NON_EMPTY_GROUP",
                        f"a member has joined group {group_id[:300]!r} meanwhile: stop it",
                    )
                if one.error_code:
                    raise of_code(one.error_code, None, f"offset of {topic.name}-{one.partition_index}")

    async def delete(self, call: Call, group_id: str) -> object:
        """Delete a group whose id is given twice."""
        check_confirmed(call, group_id)
        with self._parts.actions.change(call, "delete group", f"group {group_id}"):
            asked = DeleteGroupsRequest([group_id])
            (result,) = (
                await self._parts.kafka.ask(call, asked, coordinator_of(self._parts, group_id))
            ).results
            if result.error_code == ErrorCode.NON_EMPTY_GROUP:
                _check_inactive(group_id, await GroupDetails(self._parts, call, group_id).describe())
            if result.error_code:
                raise of_code(result.error_code, None, f"group {group_id[:300]!r} cannot be deleted")
        return {}


def _check_inactive(group_id: str, described: Mapping[str, Any]) -> None:
    """Check that a group has no members.

    :raises ConsoleError: 409, with their names.
    """
    members = described["members"]
    if members:
        named = ", ".join(f"{one['clientId']!r} at {one['host']}" for one in members[:MOST_NAMED])
        more = f" and {len(members) - MOST_NAMED} more" if len(members) > MOST_NAMED else ""
        raise ConsoleError(
            409,
            "NON_EMPTY_GROUP",
            f"group {group_id[:300]!r} is {described['state']}; stop its members first: {named}{more}",
        )


def _rows(before: Offsets, after: Mapping[TopicPartition, int]) -> list[dict[str, object]]:
    return [
        {
            "topic": name.topic,
            "partition": name.partition,
            "before": str(before[name][0]) if name in before else None,
            "after": str(offset),
        }
        for name, offset in sorted(after.items())
    ]
