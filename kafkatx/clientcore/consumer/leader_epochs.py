"""OffsetForLeaderEpoch requests and responses, to validate positions against a new leader's log (KIP-320).

Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafkatx.clientcore.errors import describe
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

if TYPE_CHECKING:
    from kafkatx.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

FIRST_VERSION = 3
"""Older versions require more permissions than a consumer has (KIP-320)."""

CONSUMER = -1


class EpochEndOffset(NamedTuple):
    """The leader's largest epoch not above the requested one, and its end offset (exclusive).

    Both are -1 if there is no such epoch.
    """

    leader_epoch: int
    end_offset: int


class EpochQuery(NamedTuple):
    """The current leader epoch as the client knows it, and the epoch of the last record read."""

    current_leader_epoch: int
    leader_epoch: int


def request(queries: Mapping[TopicPartition, EpochQuery]) -> OffsetForLeaderEpochRequest:
    """Return the request for partitions of one leader."""
    topics: defaultdict[str, list[OffsetForLeaderPartition]] = defaultdict(list)
    for (topic, partition), query in queries.items():
        topics[topic].append(OffsetForLeaderPartition(partition, *query))
    fetch = [OffsetForLeaderTopic(topic, partitions) for topic, partitions in topics.items()]
    return OffsetForLeaderEpochRequest(CONSUMER, fetch)


def results(response: OffsetForLeaderEpochResponse) -> dict[TopicPartition, EpochEndOffset | RequestError]:
    """Return each partition's epoch end offset, or its error."""
    found: dict[TopicPartition, EpochEndOffset | RequestError] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            topic_partition = TopicPartition(topic.topic, partition.partition)
            if partition.error_code:
                code = ErrorCode.of(partition.error_code)
                words = (
                    f"leader epoch of {topic_partition.topic} [{topic_partition.partition}]: {describe(code)}"
                )
                found[topic_partition] = RequestError(code, words)
            else:
                found[topic_partition] = EpochEndOffset(partition.leader_epoch, partition.end_offset)
    return found
