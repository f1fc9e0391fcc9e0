"""``/overview`` and ``/actions``: the cluster at a glance, and what was done through the console."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import attrs

from kafkatx.broker.console.api.lists import QUERY, Listing
from kafkatx.broker.console.cluster.problems import problems
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.broker.history.total import join_latest
from kafkatx.web.calls import Call

RATES = {
    "bytesInPerSecond": "bytesIn",
    "bytesOutPerSecond": "bytesOut",
    "recordsInPerSecond": "recordsIn",
    "produceRequestsPerSecond": "produceRequests",
    "fetchRequestsPerSecond": "fetchRequests",
}
"""The rates of all brokers together, with their series."""

ACTIONS = Listing[dict[str, object]](
    lambda one: f"{one['action']} {one['resource']} {one['principal']}",
    {name: itemgetter(name) for name in ("timeMs", "principal", "action", "resource")},
    keeps_order=True,
)


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker = parts.broker

    def actions(call: Call) -> object:
        parts.guard.check(call)
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
        return ACTIONS.page(call, items)

    async def count_groups() -> int:
        """Return the number of groups; those of other brokers are not asked for where there are none."""
        if len(broker.metadata.state.brokers) > 1:
            return len(await parts.cluster.groups.get())
        shards = broker.groups.shards.values()
        return sum(len({*shard.groups, *shard.offsets.groups()}) for shard in shards)

    async def overview(call: Call) -> object:
        parts.guard.check(call)
        found, disks = await parts.cluster.counts.get(), await parts.cluster.disks.get()
        state, told = broker.metadata.state, await parts.cluster.samples.latest()
        latest = join_latest(told.values())
        idle = {broker_id: one["reactorIdle"] for broker_id, one in told.items() if "reactorIdle" in one}
        return {
            "clusterId": state.cluster_id,
            "controllerId": state.controller_id,
            "brokers": {"live": len(state.brokers), "known": len(found.brokers)},
            "topics": found.topics,
            "partitions": found.partitions,
            "underReplicated": found.under_replicated.count,
            "underMinIsr": found.under_min_isr.count,
            "offline": found.offline.count,
            "groups": await count_groups(),
            "rates": {name: round(latest.get(key, 0.0), 1) for name, key in RATES.items()},
            "sizeBytes": str(round(latest.get("sizeBytes", 0))),
            "reactorIdle": round(latest["reactorIdle"], 3) if "reactorIdle" in latest else None,
            "busiestBroker": min(idle, key=idle.__getitem__, default=None),
            "connections": round(latest.get("connections", 0)),
            "uptimeMs": round((broker.clock.seconds() - broker.began_s) * 1000),
            "problems": [attrs.asdict(problem) for problem in problems(broker, found, disks)],
        }

    return [
        Route("GET", "/overview", overview, "Tell of the cluster at a glance"),
        Route("GET", "/actions", actions, "List what was done through this console", QUERY),
    ]
