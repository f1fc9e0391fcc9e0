"""ListOffsets: which offset belongs to a time, or is the first or the next of a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeAlias

from twisted.internet.defer import DeferredList

from kafkatx.client.cluster import Cluster
from kafkatx.clientside.list_offsets import NO_OFFSET, Found, request, results
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import TopicPartition

Outcome: TypeAlias = "Found | KafkaTXError"


async def look_up(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
) -> dict[TopicPartition, Outcome]:
    """Ask once for the offset of a time in each partition: one request to each leader, all at once.

    :param timestamps: ms, or EARLIEST, LATEST, MAX_TIMESTAMP.
    :param isolation_level: with 1 LATEST is the last stable offset.
    :return: an offset with its timestamp for each partition, or what failed there.
    """
    by_leader: defaultdict[int, dict[TopicPartition, int]] = defaultdict(dict)
    found: dict[TopicPartition, Outcome] = {}
    for place, timestamp in timestamps.items():
        leader = cluster.leader(*place)
        if leader >= 0:
            by_leader[leader][place] = timestamp
        else:
            found[place] = RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{place} has no leader")
    asked = [
        cluster.request(leader, request(wanted, isolation_level)) for leader, wanted in by_leader.items()
    ]
    for wanted, (success, reply) in zip(
        by_leader.values(), await DeferredList(asked, consumeErrors=True), strict=True
    ):
        if success:
            told = results(reply)
            found.update({place: told.get(place, Found(*NO_OFFSET)) for place in wanted})
        elif isinstance(reply.value, KafkaTXError):
            found.update(dict.fromkeys(wanted, reply.value))
        else:
            reply.raiseException()
    return found


async def offsets_of(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
) -> dict[TopicPartition, Found]:
    """As :func:`look_up`, tried again for as long as a call may take.

    :raises UnknownTopic: there is no such topic.
    :raises KafkaTXError: what failed at last, of any partition.
    """
    for topic in {place.topic for place in timestamps}:
        await cluster.topic(topic)

    async def attempt() -> dict[TopicPartition, Found]:
        outcomes = await look_up(cluster, timestamps, isolation_level)
        found = {}
        for place, outcome in outcomes.items():
            if isinstance(outcome, KafkaTXError):
                raise outcome
            found[place] = outcome
        return found

    return await cluster.retrying(attempt)
