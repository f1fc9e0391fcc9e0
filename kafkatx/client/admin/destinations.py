"""Whom administration asks: the controller, leaders, coordinators, all brokers."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from kafkatx.clientcore.admin import topics as messages
from kafkatx.clientcore.errors import ConnectionFailed, retriable
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.tables import common
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import all_found, look_up_at
from kafkatx.types import TopicPartition

T = TypeVar("T")


class Destinations:
    """Asks a cluster over connections of its own lane.

    Metadata is asked for anew with each call: a person who looks wants to see what is, not what was.
    """

    def __init__(self, cluster: Cluster, lane: str) -> None:
        self.cluster = cluster
        self._lane = lane

    @property
    def timeout_ms(self) -> int:
        """How long a broker may take for what others in the cluster must hear of, too."""
        return self.cluster.settings[common.REQUEST_TIMEOUT_MS]

    # -- once

    async def node(self, node_id: int, request: Any, version: int | None = None) -> Any:
        """Ask one broker, once."""
        return await self.cluster.request(node_id, request, version=version, lane=self._lane)

    async def any(self, request: Any) -> Any:
        """Ask whichever broker answers, once."""
        return await self.cluster.request_any(request, lane=self._lane)

    async def controller(self, request: Any) -> Any:
        """Ask the broker that creates and deletes topics, once."""
        return await self.cluster.request_controller(request, lane=self._lane)

    async def version(self, node_id: int, request_type: type[Any]) -> int:
        """The version in which a broker is asked."""
        return await self.cluster.version_for(node_id, request_type, lane=self._lane)

    async def controller_version(self, request_type: type[Any]) -> int:
        """The version in which the controller is asked; some broker's while there is none."""
        metadata = self.cluster.metadata
        known = metadata.controller_id in metadata.brokers
        node_id = metadata.controller_id if known else self.some(metadata.brokers)
        return await self.version(node_id, request_type)

    def some(self, brokers: Collection[int]) -> int:
        """One of the brokers, perhaps another with each call: one that is down costs an attempt only.

        :raises ConnectionFailed: there are none.
        """
        if not brokers:
            raise ConnectionFailed("no broker of the cluster is known: start() comes first")
        return random.choice(list(brokers))

    async def leaders(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """The partitions by the node ids of their leaders, asked for once.

        :raises UnknownTopic: a topic is not there.
        :raises RequestError: a partition is not there, or has no leader.
        """
        wanted = list(partitions)
        metadata = await self.cluster.describe(sorted({at.topic for at in wanted}))
        return messages.by_leader(wanted, metadata)

    # -- until it succeeds or fails for good

    async def describe(self, topics: list[str] | None) -> ClusterMetadata:
        """What a broker says of these topics now, or of all."""

        async def attempt() -> ClusterMetadata:
            return await self.cluster.describe(topics)

        return await self.cluster.retrying(attempt)

    async def offsets(
        self, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Offset and timestamp by time, of the leaders; -1 and -1 where there is none."""

        async def attempt() -> dict[TopicPartition, tuple[int, int]]:
            leaders = await self.leaders(timestamps)
            found = all_found(await look_up_at(leaders, self.node, timestamps, isolation_level))
            return {at: (found[at].offset, found[at].timestamp_ms) for at in timestamps}

        return await self.cluster.retrying(attempt) if timestamps else {}

    async def coordinator(self, group_id: str, call: Callable[[int], Awaitable[T]]) -> T:
        """Call with the node id of a group's coordinator.

        After COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR and the like, and after a lost connection, the
        coordinator is looked up anew.
        """

        async def attempt() -> T:
            try:
                return await call(await self.cluster.coordinator(group_id))
            except KafkaTXError as error:
                if retriable(error):
                    self.cluster.forget_coordinator(group_id)
                raise

        return await self.cluster.retrying(attempt)
