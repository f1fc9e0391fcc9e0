"""Topics: create, delete, list, describe; and the settings of topics and brokers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from types import MappingProxyType

import attrs

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.errors import UnknownTopic, check
from kafkatx.blocking.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.blocking.offsets import EARLIEST, LATEST, NO_OFFSET
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest

TOPIC = 2
BROKER = 4
DYNAMIC_TOPIC_CONFIG = 1


@attrs.frozen
class ConfigEntry:
    """One setting; ``overridden`` says that it was set for this very resource."""

    name: str
    value: str | None
    read_only: bool = False
    sensitive: bool = False
    overridden: bool = False


@attrs.frozen
class PartitionDescription:
    """A partition, and the offsets that it has: ``latest`` is the one that the next record gets.

    Both are -1 while the partition has no leader.
    """

    metadata: PartitionMetadata
    earliest: int
    latest: int


@attrs.frozen
class TopicDescription:
    """All that there is to say of a topic."""

    name: str
    topic_id: uuid.UUID
    internal: bool
    partitions: tuple[PartitionDescription, ...]
    configs: Mapping[str, ConfigEntry] = MappingProxyType({})


@attrs.frozen
class LogDir:
    """A directory of a broker, and the bytes of each partition in it.

    ``error`` is KAFKA_STORAGE_ERROR where the disk has failed; then nothing else is known.
    """

    path: str
    error: ErrorCode
    sizes: Mapping[TopicPartition, int] = MappingProxyType({})


class Admin:
    """Topic administration through a :class:`Cluster`, which stays the caller's to close."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication: int = -1,
        configs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a topic and wait until the cluster knows it.

        :param partitions: -1 for the broker's ``num.partitions``; *replication* likewise.
        :raises RequestError: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_CONFIG, ...
        """
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=self._timeout_ms)

        def attempt() -> None:
            controller = self._cluster.controller()
            version = controller.version_for(CreateTopicsRequest)
            if version < 4:  # before KIP-464 there is no -1
                topic.num_partitions = partitions if partitions > 0 else 1
                topic.replication_factor = replication if replication > 0 else 1
            for result in controller.request(request, version).topics:
                check(result.error_code, f"topic {name!r}", result.error_message)

        self._cluster.retrying(attempt)
        self._cluster.forget()

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        :raises UnknownTopic: there is none of this name.
        :raises RequestError: TOPIC_DELETION_DISABLED, ...
        """

        def attempt() -> None:
            request = DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=self._timeout_ms
            )
            for result in self._cluster.controller().request(request).responses:
                if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise UnknownTopic(name, advice="")
                check(result.error_code, f"topic {name!r}", result.error_message)

        self._cluster.retrying(attempt)
        self._cluster.forget()

    def delete_records(self, topic: str, offsets: Mapping[int, int]) -> dict[int, int]:
        """Delete the records before an offset from each of some partitions.

        :param offsets: for each partition the first offset that is to stay; -1: delete all there is.
        :return: where each partition starts now.
        :raises RequestError: OFFSET_OUT_OF_RANGE, POLICY_VIOLATION, ...; others may have been done.
        """
        found: dict[int, int] = {}

        def attempt(partition: int, offset: int) -> None:
            asked = DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])
            request = DeleteRecordsRequest([asked], self._timeout_ms)
            for result in self._cluster.leader(topic, partition).request(request).topics[0].partitions:
                check(result.error_code, f"{topic} [{partition}]")
                found[partition] = result.low_watermark

        for partition, offset in offsets.items():
            self._cluster.retrying(partial(attempt, partition, offset))
        return found

    def describe_log_dirs(self) -> dict[int, list[LogDir]]:
        """What each broker has in its log dirs."""
        found: dict[int, list[LogDir]] = {}

        def attempt(node: BrokerNode) -> None:
            with closing(self._cluster.dial(node)) as channel:
                results = channel.request(DescribeLogDirsRequest(None)).results
            found[node.id] = [
                LogDir(
                    one.log_dir,
                    ErrorCode.of(one.error_code),
                    {
                        TopicPartition(topic.name, part.partition_index): part.partition_size
                        for topic in one.topics
                        for part in topic.partitions
                    },
                )
                for one in results
            ]

        for node in self._cluster.metadata([]).brokers.values():
            self._cluster.retrying(partial(attempt, node))
        return found

    def list_topics(self, internal: bool = False) -> list[TopicMetadata]:
        """Every topic by name; those that the cluster keeps for itself only with *internal*."""
        topics = self._cluster.metadata(None).topics
        return [topics[name] for name in sorted(topics) if internal or not topics[name].internal]

    def describe_topic(self, name: str) -> TopicDescription:
        """A topic with its partitions, their offsets, and its settings.

        :raises UnknownTopic: there is none of this name.
        """
        self._cluster.forget()
        topic = self._cluster.topic(name)
        led = [number for number, state in topic.partitions.items() if state.leader >= 0]
        earliest = self._cluster.offsets(name, dict.fromkeys(led, EARLIEST))
        latest = self._cluster.offsets(name, dict.fromkeys(led, LATEST))
        partitions = tuple(
            PartitionDescription(state, earliest.get(number, NO_OFFSET)[0], latest.get(number, NO_OFFSET)[0])
            for number, state in topic.partitions.items()
        )
        try:
            configs = self.describe_configs(TOPIC, name)
        except RequestError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            configs = {}
        return TopicDescription(name, topic.topic_id, topic.internal, partitions, configs)

    def describe_configs(self, resource_type: int, resource_name: str) -> dict[str, ConfigEntry]:
        """The settings of a topic (type 2) or of the broker with this id (type 4), by name."""
        resource = DescribeConfigsResource(
            resource_type=resource_type, resource_name=resource_name, configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[resource])
        found: dict[str, ConfigEntry] = {}

        def attempt() -> None:
            found.clear()
            for result in self._cluster.any().request(request).results:
                check(result.error_code, f"settings of {resource_name!r}", result.error_message)
                for entry in result.configs:
                    overridden = entry.config_source == DYNAMIC_TOPIC_CONFIG
                    found[entry.name] = ConfigEntry(
                        entry.name, entry.value, entry.read_only, entry.is_sensitive, overridden
                    )

        self._cluster.retrying(attempt)
        return dict(sorted(found.items()))

    def metadata(self) -> ClusterMetadata:
        """Every broker and every topic."""
        return self._cluster.metadata(None)

    @property
    def _timeout_ms(self) -> int:
        return int(self._cluster.timeout_s * 1000)
