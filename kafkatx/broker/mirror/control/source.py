"""A link's source, as the controller asks it: topics, their configs, groups and their committed offsets.

It touches connections to the source (:mod:`kafkatx.networkclient.cluster`). Nothing is retried: the next
round asks again. Records are fetched by the leaders of mirrors (:mod:`kafkatx.broker.mirror.link`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.mirror.control.group_plan import GroupOffsets, MirroredTopics, offsets_in
from kafkatx.broker.mirror.control.topic_plan import FOLLOWED_CONFIGS, SourceTopic
from kafkatx.broker.mirror.link import client_settings
from kafkatx.clientcore.admin.configs import ResourceType, Source
from kafkatx.clientcore.admin.groups import listings, offsets_request
from kafkatx.clientcore.errors import check
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.tables.common import ENDPOINT
from kafkatx.config.links import LinkSettings
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.connection import MakeEndpoint
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

T = TypeVar("T")

MOST_TOPICS = 200
"""Topics whose configs one request asks for."""

MOST_GROUPS = 100
"""Groups whose offsets one request asks for."""

SEVERAL_GROUPS = 8
"""The first version of OffsetFetch that has several groups."""

KINDS_WITH_OFFSETS = ("", "classic", "consumer")
"""The types of groups that have committed offsets; share groups have none."""


@attrs.frozen
class Topics:
    """The topics of the source.

    :ivar found: those that are known, by name.
    :ivar unclear: names of those that the source tells an error of.
    """

    found: Mapping[str, SourceTopic]
    unclear: frozenset[str]


class SourceClient:
    """A client of a link's source.

    :param make_endpoint: makes the endpoints of the source's brokers; None: TCP.
    :raises SettingError: a setting of the link's client is not allowed.
    """

    def __init__(
        self,
        link: LinkSettings,
        broker_id: int,
        clock: IReactorTime,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        objects: dict[str, object] = {} if make_endpoint is None else {ENDPOINT.name: make_endpoint}
        self._cluster = Cluster(client_settings(link, broker_id, objects), clock)

    def close(self) -> Deferred[None]:
        """Close all connections; fires when they are closed."""
        return self._cluster.close()

    # --- topics

    async def topics(self, is_wanted: Callable[[str], bool]) -> Topics:
        """Return the topics that *is_wanted* chooses by name, with their followed configs.

        :raises KafkaTXError: the source is not reached, or refuses.
        """
        await self._cluster.start()
        metadata = await self._cluster.describe(None)
        known = {
            name: topic for name, topic in metadata.topics.items() if is_wanted(name) and not topic.internal
        }
        usable = [name for name, topic in known.items() if topic.usable]
        configs = await self._configs(metadata, usable)
        found = {
            name: SourceTopic(known[name].topic_id, len(known[name].partitions), configs.get(name))
            for name in usable
        }
        gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        unclear = [name for name, topic in known.items() if not topic.usable and topic.error != gone]
        return Topics(found, frozenset(unclear))

    async def _configs(self, metadata: ClusterMetadata, names: Sequence[str]) -> dict[str, Mapping[str, str]]:
        node_id = min(metadata.brokers)
        found: dict[str, Mapping[str, str]] = {}
        for some in _pieces(sorted(names), MOST_TOPICS):
            version = await self._cluster.version_for(node_id, DescribeConfigsRequest)
            request = DescribeConfigsRequest(
                [DescribeConfigsResource(ResourceType.TOPIC, one, list(FOLLOWED_CONFIGS)) for one in some]
            )
            response: DescribeConfigsResponse = await self._cluster.request(node_id, request, version=version)
            for result in response.results:
                if not result.error_code:
                    found[result.resource_name] = {
                        entry.name: entry.value
                        for entry in result.configs
                        if entry.value is not None and _is_own(entry, version)
                    }
        return found

    # --- groups

    async def groups(self, is_wanted: Callable[[str], bool]) -> dict[int, list[str]]:
        """Return the groups that *is_wanted* chooses, by the id of the broker that coordinates them.

        :raises KafkaTXError: a broker is not reached, or refuses.
        """
        await self._cluster.start()
        metadata = await self._cluster.describe([])
        found = {}
        for node_id in sorted(metadata.brokers):
            response = await self._cluster.request(node_id, ListGroupsRequest())
            found[node_id] = [
                group.group_id
                for group in listings(response, node_id)
                if group.type.lower() in KINDS_WITH_OFFSETS and is_wanted(group.group_id)
            ]
        return found

    async def offsets(
        self, node_id: int, groups: Sequence[str], topics: MirroredTopics
    ) -> dict[str, GroupOffsets | KafkaTXError]:
        """Return the committed offsets of some groups for some topics, or the error of a group.

        :param node_id: the broker that coordinates the groups.
        :raises KafkaTXError: the broker is not reached.
        """
        version = await self._cluster.version_for(node_id, OffsetFetchRequest)
        found: dict[str, GroupOffsets | KafkaTXError] = {}
        for some in _pieces(groups, MOST_GROUPS if version >= SEVERAL_GROUPS else 1):
            request = offsets_request(some[0], version)
            request.groups = [OffsetFetchRequestGroup(one, topics=None) for one in some]
            response = await self._cluster.request(node_id, request, version=version)
            parts = {one.group_id: one for one in response.groups} or {some[0]: response}
            for group_id in some:
                try:
                    check(parts[group_id].error_code, f"offsets of group {group_id!r}")
                    found[group_id] = offsets_in(parts[group_id].topics, topics)
                except RequestError as error:
                    found[group_id] = error
        return found


def _is_own(entry: DescribeConfigsResourceResult, version: int) -> bool:
    """Return True if a followed config is set for the topic; old brokers send more than was asked for."""
    own = entry.config_source == Source.TOPIC if version > 0 else not entry.is_default
    return own and entry.name in FOLLOWED_CONFIGS


def _pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
