"""ListOffsets: one request to each leader, all sent before the first reply is waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkatx.blocking.errors import check
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel
    from kafkatx.wire.messages.list_offsets import ListOffsetsResponse

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
NO_OFFSET = (-1, -1)


def lookup(
    cluster: Cluster, topic: str, timestamps: Mapping[int, int], isolation_level: int
) -> dict[int, tuple[int, int]]:
    """Do once what :meth:`Cluster.offsets` says."""
    by_leader: defaultdict[Channel, dict[int, int]] = defaultdict(dict)
    for partition, timestamp in timestamps.items():
        by_leader[cluster.leader(topic, partition)][partition] = timestamp
    tickets = [
        (leader, leader.send(request(topic, wanted, isolation_level))) for leader, wanted in by_leader.items()
    ]
    found: dict[int, tuple[int, int]] = {}
    for leader, ticket in tickets:
        found.update(answers(leader.receive(ticket)))
    return {partition: found.get(partition, NO_OFFSET) for partition in timestamps}


def request(topic: str, timestamps: Mapping[int, int], isolation_level: int) -> ListOffsetsRequest:
    """The request for these partitions of one leader."""
    partitions = [
        ListOffsetsPartition(partition_index=partition, timestamp=timestamp, max_num_offsets=1)
        for partition, timestamp in timestamps.items()
    ]
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=partitions)],
    )


def answers(response: ListOffsetsResponse) -> dict[int, tuple[int, int]]:
    """The offset and timestamp of each partition; version 0 answers a list of offsets and no timestamp.

    :raises RequestError: a partition's error.
    """
    found = {}
    for topic in response.topics:
        for partition in topic.partitions:
            check(partition.error_code, f"offsets of {topic.name} [{partition.partition_index}]")
            offset = partition.old_style_offsets[0] if partition.old_style_offsets else partition.offset
            found[partition.partition_index] = (offset, partition.timestamp)
    return found
