"""Lookups of offsets at partition leaders: by timestamp (ListOffsets), by epoch (OffsetForLeaderEpoch)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from kafkatx.clientcore import list_offsets
from kafkatx.clientcore.consumer import leader_epochs
from kafkatx.clientcore.consumer.leader_epochs import EpochEndOffset, EpochQuery
from kafkatx.clientcore.list_offsets import NO_OFFSET, OffsetAndTimestamp
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkatx.wire.schema import Message

T = TypeVar("T")

Outcome: TypeAlias = "OffsetAndTimestamp | KafkaTXError"
Send: TypeAlias = Callable[[int, Message], Awaitable[Any]]
"""Sends a request to a node id and returns the reply."""


async def look_up(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
) -> dict[TopicPartition, Outcome]:
    """Look up an offset by timestamp in each partition: one request to each leader, in parallel, no retries.

    :param timestamps: ms, or EARLIEST, LATEST, MAX_TIMESTAMP.
    :param isolation_level: 1: LATEST is the last stable offset.
    :return: for each partition an offset with its timestamp, or the error.
    """
    leaders, missing = _known_leaders(cluster, timestamps)
    return {**missing, **await look_up_at(leaders, cluster.request, timestamps, isolation_level)}


async def look_up_at(
    leaders: Mapping[int, Collection[TopicPartition]],
    send: Send,
    timestamps: Mapping[TopicPartition, int],
    isolation_level: int,
) -> dict[TopicPartition, Outcome]:
    """Look up offsets by timestamp at the given leaders; otherwise as :func:`look_up`."""

    async def ask(leader: int) -> Mapping[TopicPartition, Outcome]:
        wanted = {place: timestamps[place] for place in leaders[leader]}
        told = list_offsets.results(await send(leader, list_offsets.request(wanted, isolation_level)))
        return {place: told.get(place, OffsetAndTimestamp(*NO_OFFSET)) for place in wanted}

    return await _of_each(leaders, ask)


async def epoch_ends(
    cluster: Cluster, queries: Mapping[TopicPartition, EpochQuery]
) -> dict[TopicPartition, EpochEndOffset | KafkaTXError]:
    """Look up the end offset of an epoch in each partition, without retries.

    :return: for each partition the end, or the error: UNSUPPORTED_VERSION where the leader is too old.
    """
    leaders, missing = _known_leaders(cluster, queries)

    async def ask(leader: int) -> Mapping[TopicPartition, EpochEndOffset | KafkaTXError]:
        version = await cluster.version_for(leader, OffsetForLeaderEpochRequest)
        if version < leader_epochs.FIRST_VERSION:
            raise RequestError(
                ErrorCode.UNSUPPORTED_VERSION, "the broker is too old to tell where epochs end"
            )
        wanted = {place: queries[place] for place in leaders[leader]}
        told = leader_epochs.results(
            await cluster.request(leader, leader_epochs.request(wanted), version=version)
        )
        return {place: told.get(place, _left_out(place)) for place in wanted}

    return {**missing, **await _of_each(leaders, ask)}


def _left_out(place: TopicPartition) -> RequestError:
    return RequestError(
        ErrorCode.LEADER_NOT_AVAILABLE, f"{place}: the broker's reply leaves the partition out"
    )


def _known_leaders(
    cluster: Cluster, places: Iterable[TopicPartition]
) -> tuple[dict[int, list[TopicPartition]], dict[TopicPartition, RequestError]]:
    """Group partitions by leader; return the groups, and an error for each partition without a leader."""
    leaders: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    missing: dict[TopicPartition, RequestError] = {}
    for place in places:
        leader = cluster.leader(*place)
        if leader >= 0:
            leaders[leader].append(place)
        else:
            missing[place] = RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{place} has no leader")
    return dict(leaders), missing


async def _of_each(
    leaders: Mapping[int, Collection[TopicPartition]],
    ask: Callable[[int], Coroutine[Any, Any, Mapping[TopicPartition, T | KafkaTXError]]],
) -> dict[TopicPartition, T | KafkaTXError]:
    """Ask all leaders in parallel and merge the results; the error of a leader is that of its partitions."""
    asked = [Deferred.fromCoroutine(ask(leader)) for leader in leaders]
    found: dict[TopicPartition, T | KafkaTXError] = {}
    results = await DeferredList(asked, consumeErrors=True)
    for places, (_, result) in zip(leaders.values(), results, strict=True):
        if not isinstance(result, Failure):
            found.update(result)
        elif isinstance(result.value, KafkaTXError):
            found.update(dict.fromkeys(places, result.value))
        else:
            result.raiseException()
    return found


def all_found(outcomes: Mapping[TopicPartition, T | KafkaTXError]) -> dict[TopicPartition, T]:
    """Return the outcomes if none of them is an error.

    :raises KafkaTXError: the first error among them.
    """
    found: dict[TopicPartition, T] = {}
    for place, outcome in outcomes.items():
        if isinstance(outcome, KafkaTXError):
            raise outcome
        found[place] = outcome
    return found


async def offsets_of(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """Look up offsets by timestamp with retries; otherwise as :func:`look_up`.

    :raises UnknownTopic: a topic does not exist.
    :raises KafkaTXError: the last error of any partition.
    """
    for topic in {place.topic for place in timestamps}:
        await cluster.topic(topic)

    async def attempt() -> dict[TopicPartition, OffsetAndTimestamp]:
        return all_found(await look_up(cluster, timestamps, isolation_level))

    return await cluster.retrying(attempt)
