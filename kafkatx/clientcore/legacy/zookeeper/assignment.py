"""The assignment of partitions to the streams of a group: Algorithm 1 of the 2011 paper. Pure: no I/O.

Every member computes it for itself, from the same nodes. So all must sort alike: topics do not matter, and
the streams of a topic are sorted by their names as text, ``m-10`` before ``m-2``, as in Kafka 0.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.clientcore.legacy.topic_filter import Subscription, ranges
from kafkatx.types import TopicPartition

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})
"""Topics that filters do not accept, unless ``exclude.internal.topics`` is false."""


def stream_counts(
    subscription: Subscription, topics: Mapping[str, int], exclude_internal: bool = True
) -> dict[str, int]:
    """Return the number of a member's streams for each existing topic that it subscribes to.

    :param topics: the number of partitions of each existing topic.
    """
    wanted = subscription.filter
    if wanted is None:
        return {topic: count for topic, count in subscription.topics.items() if topic in topics}
    excluded = INTERNAL_TOPICS if exclude_internal else frozenset()
    return {topic: subscription.streams for topic in topics if topic not in excluded and wanted.wants(topic)}


def assigned_streams(
    member: str,
    members: Mapping[str, Subscription],
    topics: Mapping[str, int],
    exclude_internal: bool = True,
) -> dict[TopicPartition, int]:
    """Return the partitions of one member, and for each the number of the stream that gets it.

    With P partitions and C streams of a topic, n = P div C and x = P mod C, the stream at index k gets
    n + (1 if k < x) partitions from n*k + min(k, x) on.

    :param members: the subscriptions of all members of the group, by member id.
    :param topics: the number of partitions of each existing topic.
    """
    counts = {one: stream_counts(asked, topics, exclude_internal) for one, asked in members.items()}
    assigned: dict[TopicPartition, int] = {}
    for topic in counts.get(member, {}):
        streams = [
            (f"{one}-{number}", one, number)
            for one, asked in counts.items()
            for number in range(asked.get(topic, 0))
        ]
        places = [TopicPartition(topic, number) for number in range(topics[topic])]
        for at, (_, owner, number) in ranges(places, sorted(streams)).items():
            if owner == member:
                assigned[at] = number
    return assigned
