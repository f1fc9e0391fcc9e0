"""Requests of the controller to the brokers of its own cluster: reports of mirrors, offsets of groups.

Coordinators are those of the cluster's state. It touches connections (:mod:`kafkatx.broker.live_brokers`) and
may create ``__consumer_offsets``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.live_brokers import LiveBrokers, Patience
from kafkatx.broker.mirror.control.group_plan import GroupHere, GroupOffsets, MirroredTopics, offsets_in
from kafkatx.clientcore.admin import mirrors as messages
from kafkatx.clientcore.admin.groups import check_offsets_set, listings, set_offsets_request
from kafkatx.clientcore.admin.mirror_status import MirrorReport
from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address
from kafkatx.clientcore.errors import check
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IMetadataStore
from kafkatx.networkclient.connection import MakeEndpoint
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

PATIENCE = Patience(request_s=10.0, connect_s=5.0, backoff=Backoff(first_ms=50, longest_ms=1000))

MOST_GROUPS = 100
"""Groups whose offsets one request asks for."""

OFFSETS_VERSION, COMMIT_VERSION, GROUPS_VERSION = 8, 8, 5


class OwnBrokers:
    """The brokers of this cluster.

    :param own_address: host and port of this broker's own listener.
    :param offsets: ``__consumer_offsets``.
    """

    _log = Logger()

    def __init__(
        self,
        broker_id: int,
        own_address: Address,
        metadata: IMetadataStore,
        offsets: InternalTopic,
        clock: IReactorTime,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._metadata = metadata
        self._offsets = offsets
        self._brokers = LiveBrokers(
            broker_id, own_address, metadata, clock, "mirrors", PATIENCE, make_endpoint
        )

    # --- mirrors

    async def report(self, node_id: int, topics: Collection[str]) -> MirrorReport:
        """Return what a broker tells of some mirrored topics.

        :raises KafkaTXError: it is not reached, or refuses.
        """
        pages, cursor = messages.ReportPages(node_id), None
        while True:
            request = messages.describe_request(None, topics, cursor)
            cursor = pages.take(
                await self._brokers.ask(self._brokers.node(node_id), request, messages.VERSION)
            )
            if cursor is None:
                return pages.report()

    # --- groups

    async def groups(self) -> dict[str, bool]:
        """Return for each group of the cluster if it has members, or has had some.

        :raises KafkaTXError: a broker is not reached, or loads its groups.
        """
        found: dict[str, bool] = {}
        for node in self._metadata.state.brokers.values():
            response = await self._brokers.ask(node, ListGroupsRequest(), GROUPS_VERSION)
            for group in listings(response, node.id):
                found[group.group_id] = bool(group.protocol_type) or group.state not in ("", "Empty", "Dead")
        return found

    async def offsets_of(
        self, groups: Collection[str], known: Mapping[str, bool], topics: MirroredTopics
    ) -> dict[str, GroupHere]:
        """Return groups as they are here, with their offsets for some topics.

        :param known: what :meth:`groups` has returned.
        :raises KafkaTXError: a coordinator is not reached, or loads its groups.
        """
        found = {}
        for node, names in await self._by_coordinator(one for one in groups if one in known):
            for start in range(0, len(names), MOST_GROUPS):
                asked = [
                    OffsetFetchRequestGroup(one, topics=None) for one in names[start : start + MOST_GROUPS]
                ]
                response = await self._brokers.ask(node, OffsetFetchRequest(groups=asked), OFFSETS_VERSION)
                for group in response.groups:
                    check(group.error_code, f"offsets of group {group.group_id!r}")
                    offsets = offsets_in(group.topics, topics)
                    found[group.group_id] = GroupHere(known[group.group_id], offsets)
        return found

    async def commit(self, offsets: Mapping[str, GroupOffsets]) -> dict[str, KafkaTXError | None]:
        """Commit offsets of groups without members; return the error of each group, or None.

        GroupInUse: it has members by now.
        """
        outcomes: dict[str, KafkaTXError | None] = {}
        for node, names in await self._by_coordinator(offsets):
            asked = [Deferred.fromCoroutine(self._commit(node, one, offsets[one])) for one in names]
            for name, (_, result) in zip(names, await DeferredList(asked, consumeErrors=True), strict=True):
                if isinstance(result, Failure):
                    if not isinstance(result.value, KafkaTXError):
                        result.raiseException()
                    outcomes[name] = result.value
                else:
                    outcomes[name] = None
        return outcomes

    async def _commit(self, node: BrokerNode, group_id: str, offsets: GroupOffsets) -> None:
        response = await self._brokers.ask(node, set_offsets_request(group_id, offsets), COMMIT_VERSION)
        check_offsets_set(response, group_id)

    async def _by_coordinator(self, groups: Iterable[str]) -> Sequence[tuple[BrokerNode, list[str]]]:
        names = list(groups)
        if names and not self._offsets.exists:
            await self._offsets.ensure()
        nodes: dict[int, BrokerNode] = {}
        found: defaultdict[int, list[str]] = defaultdict(list)
        for group_id in names:
            node = self._offsets.leader_of(group_id)
            nodes[node.id] = node
            found[node.id].append(group_id)
        return [(nodes[node_id], some) for node_id, some in found.items()]

    def close(self) -> Deferred[None]:
        """Close all connections; fires when they are closed."""
        return self._brokers.close()
