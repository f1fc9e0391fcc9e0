"""Consumer groups: list, describe, delete; read, set and delete their committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import deferred, gather_by_key
from kafkatx.clientcore.admin import groups as messages
from kafkatx.clientcore.admin import lag
from kafkatx.clientcore.admin.group_description import GroupDescription, from_classic, from_consumer
from kafkatx.clientcore.admin.groups import GroupListing
from kafkatx.clientcore.admin.lag import Progress
from kafkatx.clientcore.consumer.fetch_requests import LAST_VERSION_WITH_NAMES
from kafkatx.clientcore.group.offsets import OffsetAndMetadata, committed_offsets
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.fetch import FetchRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest


class Groups:
    """The groups part of an admin client: :attr:`kafkatx.client.admin.admin.Admin.groups`."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    @deferred
    async def listings(self) -> list[GroupListing]:
        """List all groups of all brokers, by name.

        Fails with ConnectionFailed if a broker does not answer, because its groups are not known then.
        """

        async def ask(node_id: int) -> list[GroupListing]:
            async def attempt() -> list[GroupListing]:
                return messages.listings(await self._destinations.node(node_id, ListGroupsRequest()), node_id)

            return await self._destinations.cluster.retrying(attempt)

        told = await gather_by_key((await self._destinations.describe([])).brokers, ask)
        found = {group.group_id: group for groups in told.values() for group in groups}
        return [found[group_id] for group_id in sorted(found)]

    @deferred
    async def describe(self, group_id: str) -> GroupDescription:
        """Describe a group and its members; its state is ``Dead`` if there is none of this name.

        The type of a group is not known beforehand: ConsumerGroupDescribe (KIP-848) is tried first, then
        DescribeGroups. Fails with RequestError INVALID_GROUP_ID, GROUP_AUTHORIZATION_FAILED, ...
        """
        return await self._describe(group_id)

    async def _describe(self, group_id: str) -> GroupDescription:
        async def attempt(node_id: int) -> GroupDescription:
            brokers = self._destinations.cluster.metadata.brokers
            node = brokers.get(node_id) or BrokerNode(node_id, "", -1)
            try:
                told = await self._destinations.node(node_id, ConsumerGroupDescribeRequest([group_id]))
                return from_consumer(told.groups[0], node)
            except RequestError as error:
                if error.code not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
                    raise
            told = await self._destinations.node(node_id, DescribeGroupsRequest([group_id]))
            return from_classic(told.groups[0], node)

        return await self._destinations.coordinator(group_id, attempt)

    @deferred
    async def delete(self, group_id: str) -> None:
        """Delete a group with its offsets. Fails with UnknownGroup or, if it has members, GroupInUse."""
        request = messages.delete_request(group_id)

        async def attempt(node_id: int) -> None:
            messages.check_deleted(await self._destinations.node(node_id, request), group_id)

        await self._destinations.coordinator(group_id, attempt)

    # -- offsets

    @deferred
    async def offsets(self, group_id: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return all committed offsets of a group, in order of topics; none if there is no such group.

        Fails with RequestError UNSUPPORTED_VERSION (a broker older than Kafka 0.10.2), ...
        """
        return await self._offsets(group_id)

    async def _offsets(self, group_id: str) -> dict[TopicPartition, OffsetAndMetadata]:
        async def attempt(node_id: int) -> dict[TopicPartition, OffsetAndMetadata]:
            version = await self._destinations.version(node_id, OffsetFetchRequest)
            request = messages.offsets_request(group_id, version)
            return committed_offsets(group_id, await self._destinations.node(node_id, request, version))

        return dict(sorted((await self._destinations.coordinator(group_id, attempt)).items()))

    @deferred
    async def commit(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Set committed offsets of a group without members; the group is created if it does not exist.

        Fails with GroupInUse: it has members, nothing was set; or RequestError: a partition was refused,
        others may have been set.
        """
        request = messages.set_offsets_request(group_id, offsets)

        async def attempt(node_id: int) -> None:
            messages.check_offsets_set(await self._destinations.node(node_id, request), group_id)

        await self._destinations.coordinator(group_id, attempt)

    @deferred
    async def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Delete the committed offsets of some partitions.

        Fails with UnknownGroup, or GroupInUse: the group consumes one of these topics; offsets of others may
        have been deleted.
        """
        request = messages.delete_offsets_request(group_id, partitions)

        async def attempt(node_id: int) -> None:
            messages.check_offsets_deleted(await self._destinations.node(node_id, request), group_id)

        await self._destinations.coordinator(group_id, attempt)

    @deferred
    async def progress(self, group_id: str) -> list[Progress]:
        """Return committed offset, end offset and lag of each partition of a group, in order.

        These are the partitions with a committed offset, and those assigned to a member.
        """
        group = await self._describe(group_id)
        committed = await self._offsets(group_id)
        partitions = lag.partitions_of(group, committed)
        topics = sorted({at.topic for at in partitions})
        with_leader = lag.with_leader(partitions, await self._destinations.describe(topics)) if topics else []
        found = await self._destinations.offsets(dict.fromkeys(with_leader, LATEST))
        rows = lag.progress(partitions, committed, {at: offset for at, (offset, _) in found.items()})
        almost_read = lag.almost_read(rows)
        with suppress(KafkaTXError):  # the offsets are known without
            leaders = await self._destinations.leaders(almost_read) if almost_read else {}
            for node_id, led in leaders.items():
                version = min(
                    await self._destinations.version(node_id, FetchRequest), LAST_VERSION_WITH_NAMES
                )
                fetched = await self._destinations.node(node_id, lag.tail_request(rows, led), version)
                rows = lag.read_to_end(rows, fetched)
        return rows
