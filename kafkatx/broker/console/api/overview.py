"""``/overview`` and ``/actions``: the cluster at a glance, and what was done through the console."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import attrs

from kafkatx.broker.console.api.lists import QUERY, Listing, Page
from kafkatx.broker.console.cluster.counts import ClusterCounts
from kafkatx.broker.console.cluster.problems import problems
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.web.calls import Call

ACTIONS = Listing[dict[str, object]](
    lambda one: f"{one['action']} {one['resource']} {one['principal']}",
    {name: itemgetter(name) for name in ("timeMs", "principal", "action", "resource")},
)


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker = parts.broker

    def actions(call: Call) -> object:
        parts.guard.check(call)
        page = Page.of(call, ACTIONS.fields)
        items = [
            {
                "timeMs": one.time_ms,
                "principal": one.principal,
                "address": one.address,
                "action": one.action,
                "resource": one.resource,
                "result": one.result,
            }
            for one in parts.actions.newest()
        ]
        if not page.sort:
            page = attrs.evolve(page, sort="timeMs", descending=True)
        total, shown = ACTIONS.cut(page, items)
        return {"total": total, "items": shown}

    counts = ClusterCounts(broker)

    async def overview(call: Call) -> object:
        parts.guard.check(call)
        found = await counts.get()
        state = broker.metadata.state
        return {
            "clusterId": state.cluster_id,
            "controllerId": state.controller_id,
            "brokers": {"live": len(state.brokers), "known": len(found.brokers)},
            "topics": found.topics,
            "partitions": found.partitions,
            "underReplicated": found.under_replicated.count,
            "underMinIsr": found.under_min_isr.count,
            "offline": found.offline.count,
            "groups": sum(len(shard.groups) for shard in broker.groups.shards.values()),
            "connections": len(parts.server.connections),
            "problems": [attrs.asdict(problem) for problem in problems(broker, found)],
        }

    return [
        Route("GET", "/overview", overview, "Tell of the cluster at a glance"),
        Route("GET", "/actions", actions, "List what was done through this console", QUERY),
    ]
