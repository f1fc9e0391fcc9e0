"""Links that mirror topics of other clusters, and their promotion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.configs import BROKER, SET
from kafkatx.broker.console.api.lists import QUERY, Listing
from kafkatx.broker.console.errors import ConsoleError, check_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.clientcore.admin import mirror_links
from kafkatx.clientcore.admin.mirror_status import MirrorReport, MirrorStatus, merged
from kafkatx.clientcore.admin.mirrors import ReportPages, describe_request
from kafkatx.errors import KafkaTXError, RequestError
from kafkatx.types import ALL_BROKERS, BrokerNode
from kafkatx.web.calls import Call
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

LISTING = Listing.of_items("name", "state", "source")
STATES = ("failed", "promoting", "paused", "mirroring", "promoted")
"""The states of mirrored partitions; the first that is met is that of a topic, or of a link."""


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    broker = parts.broker

    async def report(call: Call) -> MirrorReport:
        """Return what all brokers tell of links."""
        reports = []
        nodes: Mapping[int, BrokerNode] = broker.metadata.state.brokers
        for node in list(nodes.values()):
            try:
                reports.append(await _of_broker(parts, call, node))
            except RequestError:
                raise
            except KafkaTXError:
                continue  # the other broker does not answer: its partitions are not known now
        return merged(reports)

    async def list_mirrors(call: Call) -> object:
        return LISTING.page(call, _items(await report(call)))

    async def promote(call: Call, link: str) -> object:
        fields = Fields.of(call)
        topics = fields.names("topics")
        if fields.text("confirm", "") != link:
            raise ConsoleError(
                400, "NOT_CONFIRMED", "confirm: give the name of the link once more; this cannot be undone"
            )
        what = f"link {link}: {', '.join(topics) or 'all topics'}"
        with parts.actions.change(call, "promote mirrors", what):
            found = await report(call)
            if link not in {one.name for one in found.links}:
                raise ConsoleError(404, "RESOURCE_NOT_FOUND", f"there is no link {link[:300]!r}")
            unknown = set(topics) - {one.topic for one in found.partitions if one.link == link}
            if unknown:
                raise ConsoleError(
                    404, "UNKNOWN_TOPIC_OR_PARTITION", f"link {link} does not mirror {min(unknown)[:300]!r}"
                )
            name = mirror_links.setting(link, mirror_links.PROMOTED)
            configs: Mapping[str, str] = broker.metadata.state.broker_configs.get(ALL_BROKERS, {})
            change = AlterableConfig(name, SET, mirror_links.with_topics(configs.get(name, ""), topics))
            asked = IncrementalAlterConfigsRequest(
                [AlterConfigsResource(BROKER, ALL_BROKERS, [change])], False
            )
            (result,) = (await parts.kafka.ask(call, asked)).responses
            check_code(result.error_code, result.error_message, f"link {link} cannot be promoted")
        return {}

    body = {
        "topics": "the topics to promote; none: all of the link",
        "confirm": "the name of the link once more",
    }
    return [
        Route("GET", "/mirrors", list_mirrors, "List the links to other clusters", QUERY),
        Route(
            "POST",
            "/mirrors/{link}/promote",
            promote,
            "Open mirrored topics for producers, for good",
            body=body,
            changes=True,
        ),
    ]


async def _of_broker(parts: ConsoleParts, call: Call, node: BrokerNode) -> MirrorReport:
    pages, cursor = ReportPages(node.id), None
    while True:
        cursor = pages.take(await parts.kafka.ask(call, describe_request(None, None, cursor), node))
        if cursor is None:
            return pages.report()


def _items(report: MirrorReport) -> list[dict[str, Any]]:
    links: dict[str, dict[str, Any]] = {}
    for one in report.links:
        link = links.setdefault(
            one.name,
            {
                "name": one.name,
                "state": None,
                "source": one.source,
                "errors": [],
                "groups": None,
                "topics": [],
            },
        )
        if one.error:
            link["errors"].append(f"broker {one.broker}: {one.error}")
        if one.groups >= 0:
            link["groups"] = one.groups
            link["groupsError"] = one.groups_error or None
    by_topic: dict[tuple[str, str], list[MirrorStatus]] = {}
    for status in report.partitions:
        by_topic.setdefault((status.link, status.topic), []).append(status)
    for (name, topic), partitions in by_topic.items():
        if name in links:
            links[name]["topics"].append(_topic(topic, partitions))
    for link in links.values():
        link["state"] = _worst([one["state"] for one in link["topics"]])
    return list(links.values())


def _topic(name: str, partitions: Sequence[MirrorStatus]) -> dict[str, Any]:
    lags = [one.lag for one in partitions]
    return {
        "name": name,
        "state": _worst([one.state for one in partitions]),
        "lag": None if min(lags) < 0 else str(sum(lags)),
        "lagMs": max((one.lag_ms for one in partitions if one.lag_ms >= 0), default=None),
        "partitions": len(partitions),
        "reason": next((one.reason for one in partitions if one.reason), None),
    }


def _worst(states: Sequence[str]) -> str | None:
    known = [each for each in STATES if each in states]
    return known[0] if known else next(iter(states), None)
