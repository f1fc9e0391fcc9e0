"""ListOffsets: one request to each leader, all sent before the first reply is waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkatx.clientcore.list_offsets import NO_OFFSET, answers, request
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel


def lookup(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int
) -> dict[TopicPartition, tuple[int, int]]:
    """Do once what :meth:`Cluster.offsets_of` says."""
    by_leader: defaultdict[Channel, dict[TopicPartition, int]] = defaultdict(dict)
    for at, timestamp in timestamps.items():
        by_leader[cluster.leader_connection(*at)][at] = timestamp
    tickets = [
        (leader, leader.send(request(wanted, isolation_level))) for leader, wanted in by_leader.items()
    ]
    found: dict[TopicPartition, tuple[int, int]] = {}
    for leader, ticket in tickets:
        found.update(answers(leader.receive(ticket)))
    return {at: found.get(at, NO_OFFSET) for at in timestamps}
