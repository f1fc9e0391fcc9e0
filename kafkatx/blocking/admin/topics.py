"""Topics: create, delete, list, describe, add partitions, delete records; and the log dirs of brokers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from functools import partial
from types import MappingProxyType

from kafkatx.blocking.admin.configs import Configs
from kafkatx.blocking.admin.mirrors import Mirrors
from kafkatx.blocking.cluster import Cluster
from kafkatx.clientcore.admin import topics as messages
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource, ResourceType
from kafkatx.clientcore.admin.mirror_status import MirrorReport
from kafkatx.clientcore.admin.topics import LogDir, TopicDescription
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.create_topics import CreateTopicsRequest
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest


class Admin:
    """Topic administration through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication: int = -1,
        configs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a topic and wait until metadata shows it.

        :param partitions: -1 for the broker's ``num.partitions``; *replication* likewise.
        :raises RequestError: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_CONFIG, ...
        """

        def attempt() -> None:
            controller = self._cluster.controller_connection()
            version = controller.version_for(CreateTopicsRequest)
            request = messages.create_topic_request(
                name, partitions, replication, configs, self._timeout_ms, version
            )
            messages.check_created(controller.request(request, version).topics)

        self._cluster.retrying(attempt)
        self._cluster.forget_metadata()
        self._cluster.retrying(lambda: messages.check_known(name, self._cluster.metadata([name])))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        :raises UnknownTopic: there is no such topic.
        :raises RequestError: TOPIC_DELETION_DISABLED, ...
        """

        request = messages.delete_topic_request(name, self._timeout_ms)

        def attempt() -> None:
            messages.check_changed(self._cluster.controller_connection().request(request).responses)

        self._cluster.retrying(attempt)
        self._cluster.forget_metadata()

    def create_partitions(self, name: str, count: int) -> None:
        """Raise a topic's number of partitions to *count*; records stay where they are.

        :raises UnknownTopic: there is no such topic.
        :raises RequestError: INVALID_PARTITIONS (it has as many or more), ...
        """
        request = messages.create_partitions_request(name, count, self._timeout_ms)

        def attempt() -> None:
            messages.check_changed(self._cluster.controller_connection().request(request).results)

        self._cluster.retrying(attempt)
        self._cluster.forget_metadata()

    def delete_records(self, topic: str, offsets: Mapping[int, int]) -> dict[int, int]:
        """Delete the records before an offset in each of some partitions.

        :param offsets: for each partition the first offset to keep; -1: delete all records.
        :return: the new log start offset of each partition.
        :raises RequestError: OFFSET_OUT_OF_RANGE, POLICY_VIOLATION, ...; others may have been deleted.
        """

        def attempt(at: TopicPartition, offset: int) -> int:
            request = messages.delete_records_request(at, offset, self._timeout_ms)
            return messages.low_watermark(self._cluster.leader_connection(*at).request(request), at)

        return {
            partition: self._cluster.retrying(partial(attempt, TopicPartition(topic, partition), offset))
            for partition, offset in offsets.items()
        }

    def describe_log_dirs(self) -> dict[int, list[LogDir]]:
        """Return the log dirs of each broker and their partitions."""

        def attempt(node: BrokerNode) -> list[LogDir]:
            with closing(self._cluster.new_connection(node)) as channel:
                return messages.log_dirs(channel.request(DescribeLogDirsRequest(None)))

        nodes = self._cluster.metadata([]).brokers.values()
        return {node.id: self._cluster.retrying(partial(attempt, node)) for node in nodes}

    def describe_mirrors(
        self, links: Collection[str] | None = None, topics: Collection[str] | None = None
    ) -> MirrorReport:
        """Return links and mirrored partitions, as :meth:`kafkatx.blocking.admin.mirrors.Mirrors.report`."""
        return Mirrors(self._cluster).report(links, topics)

    def list_topics(self, internal: bool = False) -> list[TopicMetadata]:
        """Return all topics by name; internal ones only with *internal*."""
        return messages.topics_listed(self._cluster.metadata(None), internal)

    def describe_topic(self, name: str) -> TopicDescription:
        """Return a topic with its partitions, their offsets, and its configs.

        :raises UnknownTopic: there is no such topic.
        """
        self._cluster.forget_metadata()
        topic = self._cluster.topic(name)
        led = messages.partitions_with_leader(topic)
        earliest = self._cluster.offsets(name, dict.fromkeys(led, EARLIEST))
        latest = self._cluster.offsets(name, dict.fromkeys(led, LATEST))
        return messages.topic_description(topic, earliest, latest, self._configs(name))

    def _configs(self, topic: str) -> dict[str, ConfigEntry]:
        """Return a topic's configs; none if the broker is too old."""
        try:
            return Configs(self._cluster).describe(Resource(ResourceType.TOPIC, topic))
        except RequestError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            return {}

    def metadata(self) -> ClusterMetadata:
        """Return the metadata of all brokers and topics."""
        return self._cluster.metadata(None)

    @property
    def _timeout_ms(self) -> int:
        return int(self._cluster.timeout_s * 1000)
