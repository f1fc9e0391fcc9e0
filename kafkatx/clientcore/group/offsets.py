"""OffsetCommit and OffsetFetch requests and responses, of any version. Pure: no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkatx.clientcore.errors import check
from kafkatx.errors import ErrorCode
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)


class OffsetAndMetadata(NamedTuple):
    """The offset of the next record to be read, and a string that is stored with it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_LEADER_EPOCH
    """The epoch of the last record that was read (KIP-320); -1 if unknown."""


class ConsumerGroupMetadata(NamedTuple):
    """The identity to commit with; without a generation it is that of a client outside of the group."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


def commit_request(
    committer: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """Return the request that commits these offsets."""
    topics: defaultdict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, number), (offset, metadata, leader_epoch) in offsets.items():
        topics[topic].append(
            OffsetCommitRequestPartition(
                partition_index=number,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=committer.group_id,
        generation_id_or_member_epoch=committer.generation,
        member_id=committer.member_id,
        group_instance_id=committer.group_instance_id,
        topics=[OffsetCommitRequestTopic(topic, partitions) for topic, partitions in topics.items()],
    )


def commit_errors(response: OffsetCommitResponse) -> dict[TopicPartition, ErrorCode]:
    """Return the errors of the partitions whose offsets were not committed."""
    return {
        TopicPartition(topic.name, partition.partition_index): ErrorCode.of(partition.error_code)
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code
    }


def fetch_request(group_id: str, partitions: Iterable[TopicPartition]) -> OffsetFetchRequest:
    """Return the request for offsets that no pending transaction may change (KIP-447).

    Brokers that do not know KIP-447 return the last committed offsets.
    """
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        topics[topic].append(number)
    return OffsetFetchRequest(
        group_id=group_id,
        topics=[OffsetFetchRequestTopic(topic, numbers) for topic, numbers in topics.items()],
        groups=[
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=[OffsetFetchRequestTopics(topic, numbers) for topic, numbers in topics.items()],
            )
        ],
        require_stable=True,
    )


def committed_offsets(
    group_id: str, response: OffsetFetchResponse
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets of a response; partitions without a committed offset are left out.

    :raises RequestError: the group's error, or a partition's.
    """
    group_part = next((group for group in response.groups if group.group_id == group_id), None)
    check((group_part or response).error_code, f"offsets of group {group_id!r}")
    found = {}
    for topic in (group_part or response).topics:
        for partition in topic.partitions:
            name = f"{topic.name} [{partition.partition_index}]"
            check(partition.error_code, f"offset of group {group_id!r} for {name}")
            if partition.committed_offset >= 0:
                found[TopicPartition(topic.name, partition.partition_index)] = OffsetAndMetadata(
                    partition.committed_offset, partition.metadata or "", partition.committed_leader_epoch
                )
    return found
