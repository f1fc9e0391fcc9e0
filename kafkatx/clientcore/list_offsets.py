"""ListOffsets: requests, and offsets and timestamps by partition from replies. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafkatx.clientcore.errors import describe
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

if TYPE_CHECKING:
    from kafkatx.wire.messages.list_offsets import ListOffsetsResponse

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
NO_OFFSET = (-1, -1)


class OffsetAndTimestamp(NamedTuple):
    """A record's offset, timestamp and leader epoch; -1 each if there is none, or it is not known."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = NO_LEADER_EPOCH


def request(timestamps: Mapping[TopicPartition, int], isolation_level: int) -> ListOffsetsRequest:
    """Return the request for these partitions of one leader."""
    topics: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for (topic, partition), timestamp in timestamps.items():
        topics[topic].append(
            ListOffsetsPartition(partition_index=partition, timestamp=timestamp, max_num_offsets=1)
        )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )


def answers(response: ListOffsetsResponse) -> dict[TopicPartition, tuple[int, int]]:
    """Return the offset and timestamp of each partition.

    :raises RequestError: the first partition's error.
    """
    found = {}
    for place, outcome in results(response).items():
        if isinstance(outcome, RequestError):
            raise outcome
        found[place] = (outcome.offset, outcome.timestamp_ms)
    return found


def results(response: ListOffsetsResponse) -> dict[TopicPartition, OffsetAndTimestamp | RequestError]:
    """Return the result or error of each partition; version 0 has a list of offsets and no timestamp."""
    found: dict[TopicPartition, OffsetAndTimestamp | RequestError] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.name, partition.partition_index)
            if partition.error_code:
                code = ErrorCode.of(partition.error_code)
                found[place] = RequestError(
                    code, f"offsets of {place.topic} [{place.partition}]: {describe(code)}"
                )
            else:
                old = partition.old_style_offsets
                offset = old[0] if old else partition.offset
                found[place] = OffsetAndTimestamp(offset, partition.timestamp, partition.leader_epoch)
    return found
