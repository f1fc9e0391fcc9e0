"""Links to mirror other clusters: their status, and the settings by which they are commanded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafkatx.blocking.admin.configs import Configs
from kafkatx.clientcore.admin import mirrors as messages
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource, ResourceType
from kafkatx.clientcore.admin.mirror_links import LINKS, settings_by_link
from kafkatx.clientcore.admin.mirror_status import MirrorReport, merged
from kafkatx.clientcore.errors import ClosedByPeer

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.types import BrokerNode

ALL_BROKERS = Resource(ResourceType.BROKER, "")


class Mirrors:
    """Describes and commands links through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._closed: set[int] = set()

    def report(
        self, links: Collection[str] | None = None, topics: Collection[str] | None = None
    ) -> MirrorReport:
        """Return the state of links and mirrored partitions, as all brokers tell it; None stands for all.

        :raises NoMirrors: a broker is not kafkatx, or older than links.
        :raises ConnectionFailed: a broker does not answer.
        """
        nodes = self._cluster.metadata([]).brokers.values()
        return merged(self._cluster.retrying(partial(self._report_of, node, links, topics)) for node in nodes)

    def _report_of(
        self, node: BrokerNode, links: Collection[str] | None, topics: Collection[str] | None
    ) -> MirrorReport:
        pages = messages.ReportPages(node.id)
        cursor = None
        while True:
            request = messages.describe_request(links, topics, cursor)
            channel = self._cluster.connection_to(node)
            try:
                response = channel.request(request, messages.VERSION)
            except ClosedByPeer:
                if node.id in self._closed:  # twice in a row: it does so again and again
                    raise messages.NoMirrors(f"{node.host}:{node.port}") from None
                self._closed.add(node.id)
                raise
            self._closed.discard(node.id)
            cursor = pages.take(response)
            if cursor is None:
                return pages.report()

    def settings(self) -> dict[str, dict[str, ConfigEntry]]:
        """Return the dynamic settings of each link, by link and name without prefix.

        A link of the brokers' properties files is not among them.

        :raises RequestError: UNSUPPORTED_VERSION, ...
        """
        return settings_by_link(Configs(self._cluster).describe(ALL_BROKERS))

    def alter(
        self,
        values: Mapping[str, str] = MappingProxyType({}),
        deleted: Collection[str] = (),
        added: Collection[str] = (),
        removed: Collection[str] = (),
    ) -> None:
        """Change settings of links, for all brokers: all of them or, on an error, none.

        :param values: by their whole names; *deleted* likewise.
        :param added: links to append to ``mirror.links``; *removed* links to take out.
        :raises RequestError: INVALID_REQUEST: a setting is unknown, or has no such value.
        """
        Configs(self._cluster).alter(
            ALL_BROKERS,
            values,
            deleted,
            appended={LINKS: ",".join(added)} if added else {},
            subtracted={LINKS: ",".join(removed)} if removed else {},
        )
