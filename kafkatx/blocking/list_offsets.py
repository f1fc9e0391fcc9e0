"""ListOffsets over plain sockets: all requests are sent before the first response is awaited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafkatx.clientcore.list_offsets import NO_OFFSET, answers, request
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking.connection import Channel


def look_up(
    leader_connection: Callable[[str, int], Channel],
    timestamps: Mapping[TopicPartition, int],
    isolation_level: int,
) -> dict[TopicPartition, tuple[int, int]]:
    """Look offsets up by timestamp once, as :meth:`Cluster.offsets_of` does with retries.

    :param leader_connection: returns the connection to a partition's leader.
    """
    by_leader: defaultdict[Channel, dict[TopicPartition, int]] = defaultdict(dict)
    for at, timestamp in timestamps.items():
        by_leader[leader_connection(*at)][at] = timestamp
    tickets = [
        (leader, leader.send(request(wanted, isolation_level))) for leader, wanted in by_leader.items()
    ]
    found: dict[TopicPartition, tuple[int, int]] = {}
    for leader, ticket in tickets:
        found.update(answers(leader.receive(ticket)))
    return {at: found.get(at, NO_OFFSET) for at in timestamps}
