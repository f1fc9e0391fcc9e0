"""What leaders know of their logs: which offset belongs to a time, or is an end; where an epoch ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from twisted.internet.defer import Deferred, DeferredList

from kafkatx.clientcore import list_offsets
from kafkatx.clientcore.consumer import leader_epochs
from kafkatx.clientcore.consumer.leader_epochs import EpochEndOffset, EpochQuery
from kafkatx.clientcore.list_offsets import NO_OFFSET, OffsetAndTimestamp
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

T = TypeVar("T")

Outcome: TypeAlias = "OffsetAndTimestamp | KafkaTXError"
Send: TypeAlias = Callable[[int, Any], Awaitable[Any]]
"""Sends a request to a node id; gives the reply."""


async def look_up(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
) -> dict[TopicPartition, Outcome]:
    """Ask once for the offset of a time in each partition: one request to each leader, all at once.

    :param timestamps: ms, or EARLIEST, LATEST, MAX_TIMESTAMP.
    :param isolation_level: with 1 LATEST is the last stable offset.
    :return: an offset with its timestamp for each partition, or what failed there.
    """
    leaders, found = _known_leaders(cluster, timestamps)
    return {**found, **await look_up_at(leaders, cluster.request, timestamps, isolation_level)}


async def look_up_at(
    leaders: Mapping[int, Collection[TopicPartition]],
    send: Send,
    timestamps: Mapping[TopicPartition, int],
    isolation_level: int,
) -> dict[TopicPartition, Outcome]:
    """Ask these leaders for the offset of a time in each partition, all at once; as :func:`look_up`."""

    async def ask(leader: int) -> Mapping[TopicPartition, Outcome]:
        wanted = {place: timestamps[place] for place in leaders[leader]}
        told = list_offsets.results(await send(leader, list_offsets.request(wanted, isolation_level)))
        return {place: told.get(place, OffsetAndTimestamp(*NO_OFFSET)) for place in wanted}

    return await _of_each(leaders, ask)


async def epoch_ends(
    cluster: Cluster, doubts: Mapping[TopicPartition, EpochQuery]
) -> dict[TopicPartition, EpochEndOffset | KafkaTXError]:
    """Ask each leader once where epochs end.

    :return: where, or what failed: UNSUPPORTED_VERSION where the leader is too old to be asked.
    """
    leaders, found = _known_leaders(cluster, doubts)

    async def ask(leader: int) -> Mapping[TopicPartition, EpochEndOffset | KafkaTXError]:
        version = await cluster.version_for(leader, OffsetForLeaderEpochRequest)
        if version < leader_epochs.FIRST_VERSION:
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION, "the broker is too old to be asked for epochs")
        wanted = {place: doubts[place] for place in leaders[leader]}
        told = leader_epochs.results(
            await cluster.request(leader, leader_epochs.request(wanted), version=version)
        )
        return {place: told.get(place, _left_out(place)) for place in wanted}

    return {**found, **await _of_each(leaders, ask)}


def _left_out(place: TopicPartition) -> RequestError:
    return RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{place}: the broker's answer lacks it")


def _known_leaders(
    cluster: Cluster, places: Iterable[TopicPartition]
) -> tuple[dict[int, list[TopicPartition]], dict[TopicPartition, Any]]:
    """The partitions by their leaders, and an error for each that has none."""
    leaders: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    missing: dict[TopicPartition, Any] = {}
    for place in places:
        leader = cluster.leader(*place)
        if leader >= 0:
            leaders[leader].append(place)
        else:
            missing[place] = RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"{place} has no leader")
    return dict(leaders), missing


async def _of_each(
    leaders: Mapping[int, Collection[TopicPartition]],
    ask: Callable[[int], Any],
) -> dict[TopicPartition, Any]:
    """What all leaders answer; where one fails its error for each of its partitions."""
    asked = [Deferred.fromCoroutine(ask(leader)) for leader in leaders]
    found: dict[TopicPartition, Any] = {}
    for places, (success, told) in zip(
        leaders.values(), await DeferredList(asked, consumeErrors=True), strict=True
    ):
        if success:
            found.update(told)
        elif isinstance(told.value, KafkaTXError):
            found.update(dict.fromkeys(places, told.value))
        else:
            told.raiseException()
    return found


def all_found(outcomes: Mapping[TopicPartition, T | KafkaTXError]) -> dict[TopicPartition, T]:
    """The outcomes, if none is an error.

    :raises KafkaTXError: the first one.
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
    """As :func:`look_up`, tried again for as long as a call may take.

    :raises UnknownTopic: there is no such topic.
    :raises KafkaTXError: what failed at last, of any partition.
    """
    for topic in {place.topic for place in timestamps}:
        await cluster.topic(topic)

    async def attempt() -> dict[TopicPartition, OffsetAndTimestamp]:
        return all_found(await look_up(cluster, timestamps, isolation_level))

    return await cluster.retrying(attempt)
