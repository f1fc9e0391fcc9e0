"""Groups: the list, and one group with its members and offsets."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.api.groups.details import GroupDetails, offsets_of
from kafkatx.broker.console.api.lists import QUERY, Listing, Page
from kafkatx.broker.console.cluster.groups import GroupFigures
from kafkatx.broker.console.cluster.lag_times import LagTimes
from kafkatx.broker.console.cluster.turns import Turns
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.types import TopicPartition
from kafkatx.web.calls import Call

LISTING = Listing[GroupFigures](
    lambda one: one.id,
    {
        "id": lambda one: one.id,
        "protocol": lambda one: one.protocol,
        "state": lambda one: one.state,
        "members": lambda one: one.members,
        "topics": lambda one: len(one.offsets),
        "lag": lambda one: one.lag,
        "lagMs": lambda one: one.lag,
        "coordinator": lambda one: one.coordinator,
    },
)
"""The time that a group is behind is found out for the groups of a page alone: the lag stands for it."""


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker = parts.broker

    async def list_groups(call: Call) -> object:
        page, turns = Page.of(call, LISTING.fields), Turns(broker.clock)
        groups = await parts.cluster.groups.get()
        total, found = await LISTING.cut_long(
            page,
            groups.values(),
            turns,
            lambda one: parts.sees(call, AclOperation.DESCRIBE, ResourceType.GROUP, one.id),
        )
        times, items = LagTimes(broker), []
        for one in found:
            lag = one.lag
            items.append(
                {
                    "id": one.id,
                    "protocol": one.protocol,
                    "state": one.state,
                    "members": one.members,
                    "topics": len(one.offsets),
                    "lag": None if lag is None else str(lag),
                    "lagMs": 0 if lag == 0 else await times.longest_ms(one.offsets),
                    "coordinator": one.coordinator,
                }
            )
            await turns.step(5 + sum(map(len, one.offsets.values())))
        return {"total": total, "items": items}

    async def describe(call: Call, group_id: str) -> object:
        details = GroupDetails(parts, call, group_id)
        described = await details.describe()
        offsets = await offsets_of(parts, call, group_id, details.node)
        owners = {
            (assigned["topic"], number): member["memberId"]
            for member in described["members"]
            for assigned in member["assignments"]
            for number in assigned["partitions"]
        }
        ends, times, turns = parts.cluster.ends, LagTimes(broker), Turns(broker.clock)
        names = dict.fromkeys([*offsets, *(TopicPartition(*owned) for owned in owners)])
        await ends.refresh(names)
        rows = []
        for name in sorted(names):
            committed, metadata = offsets.get(name, (None, None))
            found = ends.find(*name)
            lag = None
            if committed is not None and found is not None:
                lag = max(0, found.end - max(committed, found.start))
            rows.append(
                {
                    "topic": name.topic,
                    "partition": name.partition,
                    "committedOffset": None if committed is None else str(committed),
                    "endOffset": None if found is None else str(found.end),
                    "lag": None if lag is None else str(lag),
                    "lagMs": None if committed is None else await times.lag_ms(*name, committed),
                    "metadata": metadata,
                    "memberId": owners.get(name),
                }
            )
            await turns.step(5)
        return {**described, "offsets": rows}

    return [
        Route("GET", "/groups", list_groups, "List the groups", QUERY),
        Route("GET", "/groups/{id}", describe, "Describe a group: members, offsets, lag"),
    ]
