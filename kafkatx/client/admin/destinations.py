"""The brokers that admin requests go to: any broker, the controller, leaders, coordinators.

The requests and replies are :mod:`kafkatx.clientcore.admin`'s.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from kafkatx.clientcore.admin import topics as messages
from kafkatx.clientcore.coordinators import GROUP
from kafkatx.clientcore.errors import ConnectionFailed, retriable
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.tables import common
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import all_found, look_up_at
from kafkatx.types import TopicPartition
from kafkatx.wire.schema import Message

T = TypeVar("T")


class Destinations:
    """Sends the requests of an admin client over connections of one lane.

    Metadata is requested again for each call, so that answers show the present state.
    """

    def __init__(self, cluster: Cluster, lane: str) -> None:
        self.cluster = cluster
        self._lane = lane

    @property
    def timeout_ms(self) -> int:
        """The time that a request gives the broker for changes that other brokers have to take over."""
        return self.cluster.settings[common.REQUEST_TIMEOUT_MS]

    # -- without retries

    async def node(self, node_id: int, request: Message, version: int | None = None) -> Any:
        """Send a request to one broker; return the reply."""
        return await self.cluster.request(node_id, request, version=version, lane=self._lane)

    async def any(self, request: Message) -> Any:
        """Send a request to any broker that answers; return the reply."""
        return await self.cluster.request_any(request, lane=self._lane)

    async def controller(self, request: Message) -> Any:
        """Send a request to the controller; return the reply."""
        return await self.cluster.request_controller(request, lane=self._lane)

    async def version(self, node_id: int, request_type: type[Message]) -> int:
        """Return the version of a request for one broker."""
        return await self.cluster.version_for(node_id, request_type, lane=self._lane)

    async def controller_version(self, request_type: type[Message]) -> int:
        """Return the version of a request for the controller, or for some broker while there is none."""
        metadata = self.cluster.metadata
        known = metadata.controller_id in metadata.brokers
        node_id = metadata.controller_id if known else self.some(metadata.brokers)
        return await self.version(node_id, request_type)

    def some(self, brokers: Collection[int]) -> int:
        """Return one of the brokers at random, so that a broker that is down costs one attempt only.

        :raises ConnectionFailed: there are none.
        """
        if not brokers:
            raise ConnectionFailed("no broker of the cluster is known: call start() first")
        return random.choice(list(brokers))

    async def leaders(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Group partitions by the node ids of their leaders.

        :raises UnknownTopic: a topic does not exist.
        :raises RequestError: a partition does not exist, or has no leader.
        """
        wanted = list(partitions)
        metadata = await self.cluster.describe(sorted({at.topic for at in wanted}))
        return messages.by_leader(wanted, metadata)

    # -- with retries

    async def describe(self, topics: list[str] | None) -> ClusterMetadata:
        """Request the metadata of these topics, or of all."""

        async def attempt() -> ClusterMetadata:
            return await self.cluster.describe(topics)

        return await self.cluster.retrying(attempt)

    async def offsets(
        self, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Look up offset and timestamp by time at the leaders; -1 and -1 where there is none."""

        async def attempt() -> dict[TopicPartition, tuple[int, int]]:
            leaders = await self.leaders(timestamps)
            found = all_found(await look_up_at(leaders, self.node, timestamps, isolation_level))
            return {at: (found[at].offset, found[at].timestamp_ms) for at in timestamps}

        return await self.cluster.retrying(attempt) if timestamps else {}

    async def coordinator(self, key: str, call: Callable[[int], Awaitable[T]], key_type: int = GROUP) -> T:
        """Call a function with the node id of the coordinator of a group, or of a transactional id.

        After a retriable error (NOT_COORDINATOR, a lost connection, ...) the coordinator is looked up again.
        """

        async def attempt() -> T:
            try:
                return await call(await self.cluster.coordinator(key, key_type))
            except KafkaTXError as error:
                if retriable(error):
                    self.cluster.forget_coordinator(key, key_type)
                raise

        return await self.cluster.retrying(attempt)
