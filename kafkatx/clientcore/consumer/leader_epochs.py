"""OffsetForLeaderEpoch: where the leader's log ends that a position was read from (KIP-320)."""

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
"""Before it brokers want more rights for this than a consumer has (KIP-320)."""

CONSUMER = -1


class EpochEndOffset(NamedTuple):
    """The leader's largest epoch that is not above the one asked for, and its end (exclusive); -1 each where
    there is none."""

    leader_epoch: int
    end_offset: int


class EpochQuery(NamedTuple):
    """What is asked about a position: the epoch of the leader that is asked, and that of the last record."""

    current_leader_epoch: int
    leader_epoch: int


def request(doubts: Mapping[TopicPartition, EpochQuery]) -> OffsetForLeaderEpochRequest:
    """The request for these partitions of one leader."""
    topics: defaultdict[str, list[OffsetForLeaderPartition]] = defaultdict(list)
    for (topic, partition), doubt in doubts.items():
        topics[topic].append(OffsetForLeaderPartition(partition, *doubt))
    asked = [OffsetForLeaderTopic(topic, partitions) for topic, partitions in topics.items()]
    return OffsetForLeaderEpochRequest(CONSUMER, asked)


def results(response: OffsetForLeaderEpochResponse) -> dict[TopicPartition, EpochEndOffset | RequestError]:
    """Where each partition's epoch ends, or its error."""
    found: dict[TopicPartition, EpochEndOffset | RequestError] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.topic, partition.partition)
            if partition.error_code:
                code = ErrorCode.of(partition.error_code)
                words = f"leader epoch of {place.topic} [{place.partition}]: {describe(code)}"
                found[place] = RequestError(code, words)
            else:
                found[place] = EpochEndOffset(partition.leader_epoch, partition.end_offset)
    return found
