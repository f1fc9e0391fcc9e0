"""Brokers: those that are live, and those that are away and have replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults

import kafkatx
from kafkatx.broker.console.api.lists import QUERY, Listing, Page
from kafkatx.broker.console.cluster.counts import Counts
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.types import BrokerNode
from kafkatx.web.calls import Call
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult

LISTING = Listing[dict[str, Any]](
    lambda one: f"{one['id']} {one['host'] or ''}",
    {key: itemgetter(key) for key in ("id", "live", "rack", "leaders", "replicas", "host")},
)

MOST_PARTITIONS = 2000
"""With more partitions in the cluster the sizes of other brokers' log dirs are not asked for."""


LOAD = {
    "bytesInPerSecond": "bytesIn",
    "bytesOutPerSecond": "bytesOut",
    "requestsPerSecond": "requests",
    "connections": "connections",
}
"""The samples of a broker that its row shows."""


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker = parts.broker

    async def log_dirs(call: Call, node: BrokerNode) -> list[dict[str, object]] | None:
        """Return the log dirs of a broker; None if the user may not see them, or it does not answer."""
        try:
            asked = DescribeLogDirsRequest(None if has_sizes(node) else [])
            response = await parts.kafka.ask(call, asked, node)
        except KafkaTXError:
            return None
        if response.error_code:
            return None
        return [_log_dir(each, size_of(node, each)) for each in response.results]

    def has_sizes(node: BrokerNode) -> bool:
        """Return True if another broker is asked for the sizes of its logs."""
        counts = sum(len(topic.partitions) for topic in broker.metadata.state.topics.values())
        return node.id != broker.node_id and counts <= MOST_PARTITIONS

    def size_of(node: BrokerNode, result: DescribeLogDirsResult) -> int | None:
        if node.id == broker.node_id:
            mine = (one for one in broker.store.dirs if one.path == result.log_dir)
            return sum(log.size_bytes for one in mine for log in one.logs.values())
        if not has_sizes(node):
            return None
        return sum(each.partition_size for topic in result.topics for each in topic.partitions)

    async def list_brokers(call: Call) -> object:
        counts = await parts.cluster.counts.get()
        nodes: Mapping[int, BrokerNode] = broker.metadata.state.brokers
        page = Page.of(call, LISTING.fields)
        if not page.sort:
            page = attrs.evolve(page, sort="id")
        items = [_item(parts, counts, broker_id, nodes.get(broker_id)) for broker_id in counts.brokers]
        total, shown = LISTING.cut(page, items)
        asked = [Deferred.fromCoroutine(log_dirs(call, nodes[item["id"]])) for item in shown if item["live"]]
        found = iter(await gatherResults(asked))
        latest = await parts.cluster.samples.latest()
        for item in shown:
            item["logDirs"] = next(found) if item["live"] else None
            item["load"] = _load(latest.get(item["id"]))
        return {"total": total, "items": shown}

    return [Route("GET", "/brokers", list_brokers, "List the brokers", QUERY)]


def _item(parts: ConsoleParts, counts: Counts, broker_id: int, node: BrokerNode | None) -> dict[str, Any]:
    broker, of_broker = parts.broker, counts.brokers[broker_id]
    return {
        "id": broker_id,
        "host": None if node is None else node.host,
        "port": None if node is None else node.port,
        "rack": None if node is None else node.rack,
        "live": node is not None,
        "controller": broker.metadata.state.controller_id == broker_id,
        "leaders": of_broker.leaders,
        "replicas": of_broker.replicas,
        "logDirs": None,
        "version": kafkatx.__version__ if broker_id == broker.node_id else None,
    }


def _load(latest: Mapping[str, float] | None) -> dict[str, float | None] | None:
    """Return the newest samples of a broker; None if it has told none."""
    if latest is None:
        return None
    return {
        **{key: round(latest.get(series, 0.0), 1) for key, series in LOAD.items()},
        "reactorIdle": round(latest["reactorIdle"], 3) if "reactorIdle" in latest else None,
    }


def _log_dir(result: DescribeLogDirsResult, size_bytes: int | None) -> dict[str, object]:
    error = ErrorCode.of(result.error_code).name if result.error_code else None
    return {
        "path": result.log_dir,
        "error": error,
        "sizeBytes": None if size_bytes is None else str(size_bytes),
        "freeBytes": None if result.usable_bytes < 0 else str(result.usable_bytes),
        "totalBytes": None if result.total_bytes < 0 else str(result.total_bytes),
    }
