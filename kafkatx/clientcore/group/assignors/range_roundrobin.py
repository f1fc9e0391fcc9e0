"""``range`` and ``roundrobin``: assignors that do not depend on earlier assignments."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.clientcore.group.assignors.assignor import (
    Assignments,
    Assignor,
    Member,
    PartitionCounts,
    member_order,
)
from kafkatx.types import TopicPartition


def ranges(members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
    """Cut each topic into ranges, one per subscriber; the first ones get one more partition if needed.

    Two members, two topics of three partitions: C0 gets t0-0, t0-1, t1-0 and t1-1, C1 gets t0-2 and t1-2.
    Partitions of the same number go to the same member if the topics have the same partition counts and the
    same subscribers.
    """
    assignments: Assignments = {member_id: [] for member_id in members}
    ordered = sorted(members.values(), key=member_order)
    for topic in sorted(partitions):
        subscribers = [member.member_id for member in ordered if topic in member.topics]
        start = 0
        for index, subscriber in enumerate(subscribers):
            share, extra = divmod(partitions[topic], len(subscribers))
            end = start + share + (index < extra)
            assignments[subscriber] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return assignments


def round_robin(members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
    """Assign all partitions in turn, skipping members that do not subscribe to the topic.

    Two members, two topics of three partitions: C0 gets t0-0, t0-2 and t1-1, C1 gets t0-1, t1-0 and t1-2.
    """
    assignments: Assignments = {member_id: [] for member_id in members}
    ring = sorted(members.values(), key=member_order)
    at = 0
    for topic in sorted(partitions):
        if not any(topic in member.topics for member in ring):
            continue
        for number in range(partitions[topic]):
            while topic not in ring[at].topics:
                at = (at + 1) % len(ring)
            assignments[ring[at].member_id].append(TopicPartition(topic, number))
            at = (at + 1) % len(ring)
    return assignments


RANGE = Assignor("range", ranges)
ROUND_ROBIN = Assignor("roundrobin", round_robin)
