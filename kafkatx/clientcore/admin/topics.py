"""What is asked and changed about topics, their records and log dirs, and what the answers say."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

import attrs

from kafkatx.clientcore.admin.configs import ConfigEntry
from kafkatx.clientcore.errors import UnknownTopic, check
from kafkatx.clientcore.list_offsets import NO_OFFSET
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.clientcore.metadata_request import require_topic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkatx.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult

_DEFAULTS = 4
"""From which version on CreateTopics takes -1 for the broker's defaults (KIP-464)."""


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
    """A log directory of a broker and the partitions in it.

    ``error`` is KAFKA_STORAGE_ERROR if the disk has failed; then nothing else is known.

    :ivar sizes: the size of each partition's log, in bytes.
    :ivar lags: for the same partitions, the number of records that the log lacks of the one it copies.
    :ivar future: the partitions whose log here is to replace the one in another directory of the broker.
    :ivar total_bytes: size of the volume, *usable_bytes* what is free of it; -1 if the broker does not say.
    """

    path: str
    error: ErrorCode
    sizes: Mapping[TopicPartition, int] = MappingProxyType({})
    lags: Mapping[TopicPartition, int] = MappingProxyType({})
    future: frozenset[TopicPartition] = frozenset()
    total_bytes: int = -1
    usable_bytes: int = -1


class _Result(Protocol):
    """What became of one topic, in several responses."""

    @property
    def name(self) -> str | None: ...

    @property
    def error_code(self) -> int: ...

    @property
    def error_message(self) -> str | None: ...


def create_topic_request(
    name: str,
    partitions: int,
    replication: int,
    configs: Mapping[str, str],
    timeout_ms: int,
    version: int,
    validate_only: bool = False,
) -> CreateTopicsRequest:
    """The request that creates a topic; before version 4, -1 is taken for 1."""
    if version < _DEFAULTS:
        partitions, replication = max(1, partitions), max(1, replication)
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms, validate_only=validate_only)


def delete_topic_request(name: str, timeout_ms: int) -> DeleteTopicsRequest:
    """The request that deletes a topic and its records."""
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=timeout_ms
    )


def create_partitions_request(name: str, count: int, timeout_ms: int) -> CreatePartitionsRequest:
    """The request that lets a topic have *count* partitions in all, placed by the cluster."""
    return CreatePartitionsRequest([CreatePartitionsTopic(name, count, assignments=None)], timeout_ms)


def check_created(results: Iterable[_Result]) -> None:
    """Raise what a topic's creation was refused with."""
    for result in results:
        check(result.error_code, f"topic {result.name!r}", result.error_message)


def check_known(name: str, metadata: ClusterMetadata) -> None:
    """Raise what may pass while a topic that was just created is not known everywhere.

    KRaft's controller answers before the brokers have heard of the topic; one that is used meanwhile would
    seem not to exist.

    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE.
    """
    topic = metadata.topics.get(name)
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error
    if topic is not None and not error and not topic.usable:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    check(error, f"topic {name!r}, which was created")


def check_changed(results: Iterable[_Result]) -> None:
    """Raise what a topic's deletion or change was refused with.

    :raises UnknownTopic: there is none of this name.
    :raises RequestError: any other reason.
    """
    for result in results:
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UnknownTopic(result.name or "", advice="")
        check(result.error_code, f"topic {result.name!r}", result.error_message)


def delete_records_request(at: TopicPartition, offset: int, timeout_ms: int) -> DeleteRecordsRequest:
    """The request that deletes the records of a partition before *offset*; -1: all that there are."""
    asked = DeleteRecordsTopic(at.topic, [DeleteRecordsPartition(at.partition, offset)])
    return DeleteRecordsRequest([asked], timeout_ms)


def low_watermark(response: DeleteRecordsResponse, at: TopicPartition) -> int:
    """Where the partition starts now.

    :raises RequestError: OFFSET_OUT_OF_RANGE, POLICY_VIOLATION, ...
    """
    (result,) = response.topics[0].partitions
    check(result.error_code, f"{at.topic} [{at.partition}]")
    return result.low_watermark


def log_dirs(response: DescribeLogDirsResponse) -> list[LogDir]:
    """Return the log directories of a broker.

    :raises RequestError: the broker refused to describe them.
    """
    check(response.error_code, "describe the log dirs")
    return [_log_dir(result) for result in response.results]


def _log_dir(result: DescribeLogDirsResult) -> LogDir:
    found = {
        TopicPartition(topic.name, partition.partition_index): partition
        for topic in result.topics
        for partition in topic.partitions
    }
    return LogDir(
        result.log_dir,
        ErrorCode.of(result.error_code),
        {at: partition.partition_size for at, partition in found.items()},
        {at: partition.offset_lag for at, partition in found.items()},
        frozenset(at for at, partition in found.items() if partition.is_future_key),
        result.total_bytes,
        result.usable_bytes,
    )


def topics_listed(metadata: ClusterMetadata, internal: bool) -> list[TopicMetadata]:
    """Every topic by name; those that the cluster keeps for itself only with *internal*."""
    topics = metadata.topics
    return [topics[name] for name in sorted(topics) if internal or not topics[name].internal]


def partitions_with_leader(topic: TopicMetadata | None) -> list[int]:
    """The partitions that have a leader, who can be asked for their offsets."""
    return [number for number, state in topic.partitions.items() if state.leader >= 0] if topic else []


def topic_description(
    topic: TopicMetadata,
    earliest: Mapping[int, tuple[int, int]],
    latest: Mapping[int, tuple[int, int]],
    configs: Mapping[str, ConfigEntry],
) -> TopicDescription:
    """A topic with what is known of its partitions.

    :param earliest: offset and timestamp of the partitions that have a leader; *latest* likewise.
    """
    partitions = tuple(
        PartitionDescription(state, earliest.get(number, NO_OFFSET)[0], latest.get(number, NO_OFFSET)[0])
        for number, state in topic.partitions.items()
    )
    return TopicDescription(topic.name, topic.topic_id, topic.internal, partitions, configs)


def by_leader(
    partitions: Iterable[TopicPartition], metadata: ClusterMetadata
) -> dict[int, list[TopicPartition]]:
    """The partitions by the node ids of their leaders.

    :raises UnknownTopic: a topic is not there.
    :raises RequestError: a partition is not there, or has no leader.
    """
    leaders: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for at in partitions:
        numbers = require_topic(at.topic, metadata).partitions
        if at.partition not in numbers:
            raise RequestError(
                ErrorCode.INVALID_PARTITIONS,
                f"topic {at.topic!r} has no partition {at.partition}: it has 0 to {len(numbers) - 1}",
            )
        leader = numbers[at.partition].leader
        if leader not in metadata.brokers:
            code = ErrorCode.LEADER_NOT_AVAILABLE
            raise RequestError(code, f"{at.topic} [{at.partition}] has no leader now")
        leaders[leader].append(at)
    return dict(leaders)
