"""DescribeMirrors to all brokers of a cluster: links, and the partitions that they fill."""

from __future__ import annotations

from collections.abc import Collection

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import gather_by_key
from kafkatx.clientcore.admin import mirrors as messages
from kafkatx.clientcore.admin.mirror_status import MirrorReport, merged
from kafkatx.clientcore.errors import ClosedByPeer


async def describe(
    destinations: Destinations, links: Collection[str] | None, topics: Collection[str] | None
) -> MirrorReport:
    """Return the report of all brokers.

    :raises NoMirrors: a broker is not kafkatx, or older than links.
    :raises ConnectionFailed: a broker does not answer, so its partitions are not known.
    """

    async def ask(node_id: int) -> MirrorReport:
        closed = False

        async def attempt() -> MirrorReport:
            nonlocal closed
            try:
                return await _report(destinations, node_id, links, topics)
            except ClosedByPeer:
                if closed:  # twice in a row: it does so again and again
                    raise messages.NoMirrors(_address(destinations, node_id)) from None
                closed = True
                raise

        return await destinations.cluster.retrying(attempt)

    nodes = (await destinations.describe([])).brokers
    return merged((await gather_by_key(nodes, ask)).values())


async def _report(
    destinations: Destinations, node_id: int, links: Collection[str] | None, topics: Collection[str] | None
) -> MirrorReport:
    pages = messages.ReportPages(node_id)
    cursor = None
    while True:
        request = messages.describe_request(links, topics, cursor)
        cursor = pages.take(await destinations.node(node_id, request, messages.VERSION))
        if cursor is None:
            return pages.report()


def _address(destinations: Destinations, node_id: int) -> str:
    node = destinations.cluster.metadata.brokers.get(node_id)
    return f"id {node_id}" if node is None else f"{node.host}:{node.port}"
