"""Requests about topics, their records and log dirs, and values and errors from replies. Pure."""

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
"""The first version of CreateTopics in which -1 means the broker's defaults (KIP-464)."""


@attrs.frozen
class PartitionDescription:
    """A partition with its log start offset and log end offset; both are -1 while it has no leader."""

    metadata: PartitionMetadata
    earliest: int
    latest: int


@attrs.frozen
class TopicDescription:
    """A topic with its partitions and configs."""

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
    """The result for one topic, a part of several responses."""

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
    """Return the request that creates a topic; before version 4, -1 is replaced by 1."""
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
    """Return the request that deletes a topic and its records."""
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=timeout_ms
    )


def create_partitions_request(name: str, count: int, timeout_ms: int) -> CreatePartitionsRequest:
    """Return the request that increases a topic's partitions to *count*; the cluster places them."""
    return CreatePartitionsRequest([CreatePartitionsTopic(name, count, assignments=None)], timeout_ms)


def check_created(results: Iterable[_Result]) -> None:
    """Raise the error of a topic's creation, if any."""
    for result in results:
        check(result.error_code, f"topic {result.name!r}", result.error_message)


def check_known(name: str, metadata: ClusterMetadata) -> None:
    """Raise a retriable error while a topic that was just created is not known to the broker asked.

    KRaft's controller answers before the brokers have learned of the topic; until then it seems not to exist.

    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE.
    """
    topic = metadata.topics.get(name)
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error
    if topic is not None and not error and not topic.usable:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    check(error, f"topic {name!r}, which was created")


def check_changed(results: Iterable[_Result]) -> None:
    """Raise the error of a topic's deletion or change, if any.

    :raises UnknownTopic: there is none of this name.
    :raises RequestError: any other error.
    """
    for result in results:
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UnknownTopic(result.name or "", advice="")
        check(result.error_code, f"topic {result.name!r}", result.error_message)


def delete_records_request(at: TopicPartition, offset: int, timeout_ms: int) -> DeleteRecordsRequest:
    """Return the request that deletes the records of a partition before *offset*; -1: all records."""
    asked = DeleteRecordsTopic(at.topic, [DeleteRecordsPartition(at.partition, offset)])
    return DeleteRecordsRequest([asked], timeout_ms)


def low_watermark(response: DeleteRecordsResponse, at: TopicPartition) -> int:
    """Return the new log start offset of a partition.

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
    """Return all topics by name; internal topics only with *internal*."""
    topics = metadata.topics
    return [topics[name] for name in sorted(topics) if internal or not topics[name].internal]


def partitions_with_leader(topic: TopicMetadata | None) -> list[int]:
    """Return the partitions that have a leader to ask for their offsets."""
    return [number for number, state in topic.partitions.items() if state.leader >= 0] if topic else []


def topic_description(
    topic: TopicMetadata,
    earliest: Mapping[int, tuple[int, int]],
    latest: Mapping[int, tuple[int, int]],
    configs: Mapping[str, ConfigEntry],
) -> TopicDescription:
    """Combine a topic's metadata, offsets and configs.

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
    """Group partitions by the node ids of their leaders.

    :raises UnknownTopic: a topic does not exist.
    :raises RequestError: a partition does not exist, or has no leader.
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
