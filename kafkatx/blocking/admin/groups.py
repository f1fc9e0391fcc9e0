"""Consumer groups: list, describe, delete; read, set and delete their committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kafkatx.blocking.coordinators import Coordinators
from kafkatx.clientcore.admin import groups as messages
from kafkatx.clientcore.admin.group_description import GroupDescription, from_classic, from_consumer
from kafkatx.clientcore.admin.groups import GroupListing
from kafkatx.clientcore.group.offsets import OffsetAndMetadata, committed_offsets
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel
    from kafkatx.types import BrokerNode


class Groups:
    """Group administration through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._coordinators = Coordinators(cluster)

    def listings(self) -> list[GroupListing]:
        """Return all groups of all brokers, by name.

        :raises ConnectionFailed: a broker does not answer, so its groups are unknown.
        """
        found: dict[str, GroupListing] = {}

        def attempt(node: BrokerNode) -> None:
            response = self._cluster.connection_to(node).request(ListGroupsRequest())
            found.update((group.group_id, group) for group in messages.listings(response, node.id))

        for node in self._cluster.brokers().values():
            self._cluster.retrying(partial(attempt, node))
        return [found[group_id] for group_id in sorted(found)]

    def describe(self, group_id: str) -> GroupDescription:
        """Return a group with its members; its state is ``Dead`` if it does not exist.

        The type of a group is not known in advance: consumer groups of KIP-848 are looked up first, if the
        broker supports them.

        :raises RequestError: INVALID_GROUP_ID, GROUP_AUTHORIZATION_FAILED, ...
        """
        return self._coordinators.call(group_id, partial(self._describe, group_id))

    def _describe(self, group_id: str, channel: Channel) -> GroupDescription:
        node = self._coordinators.coordinator(group_id)
        try:
            of_type = channel.request(ConsumerGroupDescribeRequest([group_id]))
            return from_consumer(of_type.groups[0], node)
        except RequestError as error:
            if error.code not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
                raise
        return from_classic(channel.request(DescribeGroupsRequest([group_id])).groups[0], node)

    def offsets(self, group_id: str, stable: bool = False) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return all committed offsets of a group, in order of topics; none if it does not exist.

        :param stable: wait until no pending transaction may change them.
        :raises RequestError: UNSUPPORTED_VERSION (a broker older than Kafka 0.10.2), ...
        """
        return self._coordinators.call(group_id, partial(self._offsets, group_id, stable))

    def _offsets(
        self, group_id: str, stable: bool, channel: Channel
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        version = channel.version_for(OffsetFetchRequest)
        response = channel.request(messages.offsets_request(group_id, version, stable), version)
        return dict(sorted(committed_offsets(group_id, response).items()))

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Set offsets of a group without members; create the group if it does not exist.

        :raises GroupInUse: it has members; nothing was set.
        :raises RequestError: a partition failed; others may have been set.
        """
        request = messages.set_offsets_request(group_id, offsets)

        def attempt(channel: Channel) -> None:
            messages.check_offsets_set(channel.request(request), group_id)

        self._coordinators.call(group_id, attempt)

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Delete a group's committed offsets of some partitions.

        :raises UnknownGroup: there is no such group.
        :raises GroupInUse: it consumes one of these topics now; others may have been deleted.
        """
        request = messages.delete_offsets_request(group_id, partitions)

        def attempt(channel: Channel) -> None:
            messages.check_offsets_deleted(channel.request(request), group_id)

        self._coordinators.call(group_id, attempt)

    def delete(self, group_id: str) -> None:
        """Delete a group and its offsets.

        :raises UnknownGroup: there is no such group.
        :raises GroupInUse: it has members.
        """

        def attempt(channel: Channel) -> None:
            messages.check_deleted(channel.request(messages.delete_request(group_id)), group_id)

        self._coordinators.call(group_id, attempt)
