"""The consumer's fetch requests and the handling of their responses. Pure: no I/O and no clock.

A request goes to one broker and names all partitions to be fetched there. The broker fills its response in
the order of the request, so partitions that got records move to the end of the next request, as in the Java
client.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import attrs

from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions
from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.consumer.fetch_buffer import FetchBuffer
from kafkatx.clientcore.consumer.partition_state import NO_NODE, TopicPartitionState
from kafkatx.clientcore.errors import check
from kafkatx.clientcore.leader_hints import LeaderHints, of_fetch
from kafkatx.clientcore.metadata import NO_TOPIC_ID, ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

LAST_VERSION_WITH_NAMES = 12
"""The last version of Fetch with topic names; later ones have topic ids (KIP-516)."""

LAST_VERSION = 16
"""The last version that is spoken; it names new leaders (KIP-951)."""

READ_COMMITTED = 1
MAX_FETCH_BYTES = (1 << 31) - 1
PARTIAL_RETRY_MS = 25
"""Delay before the next fetch after an empty response to a request that left out some partitions."""

_NO_PARTITION = PartitionMetadata(-1, -1)


class FailedPartition(NamedTuple):
    """A partition for which the broker answered with an error."""

    state: TopicPartitionState
    code: ErrorCode


@attrs.frozen(eq=False)
class InFlightFetch:
    """A fetch request in flight.

    :ivar max_version: the highest version that can carry this request.
    :ivar reserved_bytes: the most bytes of records that the response may have.
    :ivar pause_ms: how long to wait before the next request if this one returns nothing.
    """

    message: FetchRequest
    max_version: int
    reserved_bytes: int
    pause_ms: int
    _states: Mapping[tuple[str, int], tuple[TopicPartitionState, int]]
    _names: Mapping[uuid.UUID, str]

    def state_of(self, topic: str, topic_id: uuid.UUID, partition: int) -> TopicPartitionState | None:
        """Return the state of a partition in the response; None if the response is of no use for it.

        That is so if it was not requested, or if its revision has changed since.
        """
        name = topic or self._names.get(topic_id, "")
        state, revision = self._states.get((name, partition), (None, 0))
        return state if state is not None and state.revision == revision else None

    def leader_hints(self, response: FetchResponse) -> LeaderHints | None:
        """Return the new leaders that the response names, if it names any."""
        return of_fetch(response, self._names)

    def states(self) -> list[TopicPartitionState]:
        """Return the requested partitions whose revision has not changed since."""
        return [state for state, revision in self._states.values() if state.revision == revision]


class FetchRequests:
    """Builds fetch requests from partition states, and stores fetched records in them.

    :ivar replica_changed: true once a response named another preferred read replica (KIP-392).
    :ivar validation_needed: true once a position has to be validated against its leader's log (KIP-320): the
        partition has a new leader, or a response reported a diverging epoch (KIP-595).
    """

    def __init__(
        self, settings: ClientSettings, buffer: FetchBuffer[TopicPartitionState], decoding: DecodeSettings
    ) -> None:
        self._buffer = buffer
        self._decoding = decoding
        self._max_wait_ms = settings[consumer.FETCH_MAX_WAIT_MS]
        self._min_bytes = settings[consumer.FETCH_MIN_BYTES]
        self._max_bytes = max(1, settings[consumer.FETCH_MAX_BYTES])
        self._committed = settings[consumer.ISOLATION_LEVEL] == "read_committed"
        self._rack_id = settings[common.CLIENT_RACK]
        self._reserved_bytes = 0
        self.replica_changed = self.validation_needed = False

    def build(self, states: list[TopicPartitionState], metadata: ClusterMetadata) -> InFlightFetch | None:
        """Return the request for partitions of one broker, in the given order; None if there is none to send.

        The caller calls :meth:`release` when the request is no longer in flight.
        """
        fetchable = [state for state in states if state.fetchable and self._validated(state, metadata)]
        share = self._buffer.share_bytes
        requested = [state for state in fetchable if state.buffered_bytes < share]
        if not requested:
            return None
        available = self._available_bytes(states)
        if not available:
            return None
        sizes = [max(share, state.needed_bytes) for state in requested]
        max_bytes = min(max(self._max_bytes, sizes[0]), sum(sizes), max(available, sizes[0]), MAX_FETCH_BYTES)
        # Partitions with enough buffered records are left out, so the broker must not wait for long: once
        # there is room for them again, they have to wait for this response.
        partial = len(requested) < len(fetchable)
        fetch = self._build(requested, sizes, max_bytes, partial, metadata)
        self._reserved_bytes += fetch.reserved_bytes
        return fetch

    def release(self, fetch: InFlightFetch) -> None:
        """Release the space reserved for a fetch that was answered or has failed."""
        self._reserved_bytes -= fetch.reserved_bytes

    def _validated(self, state: TopicPartitionState, metadata: ClusterMetadata) -> bool:
        if state.maybe_validate(leader_epoch(metadata, state.topic_partition)):
            self.validation_needed = True
            return False
        return True

    def _available_bytes(self, states: list[TopicPartitionState]) -> int:
        """Return how many bytes to fetch; drop the buffered records of paused partitions before that is 0."""
        available = self._buffer.available_bytes(self._reserved_bytes)
        if not available:
            for state in states:
                if state.paused and state.buffered_bytes:
                    state.drop_buffered()
            available = self._buffer.available_bytes(self._reserved_bytes)
        return available

    def _build(
        self,
        requested: list[TopicPartitionState],
        sizes: list[int],
        max_bytes: int,
        partial: bool,
        metadata: ClusterMetadata,
    ) -> InFlightFetch:
        by_topic: defaultdict[str, list[FetchPartition]] = defaultdict(list)
        for state, size in zip(requested, sizes, strict=True):
            topic, partition = state.topic_partition
            epoch = leader_epoch(metadata, state.topic_partition)
            if state.fetch_epoch < 0:
                state.validated_epoch = epoch
            by_topic[topic].append(
                FetchPartition(
                    partition,
                    epoch,
                    state.fetch_offset,
                    state.fetch_epoch,
                    partition_max_bytes=size,
                )
            )
        ids = {name: metadata.topics.get(name, TopicMetadata(name)).topic_id for name in by_topic}
        message = FetchRequest(
            max_wait_ms=0 if partial else self._max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=max_bytes,
            isolation_level=READ_COMMITTED if self._committed else 0,
            topics=[FetchTopic(name, ids[name], partitions) for name, partitions in by_topic.items()],
            rack_id=self._rack_id,
        )
        return InFlightFetch(
            message,
            LAST_VERSION_WITH_NAMES if NO_TOPIC_ID in ids.values() else LAST_VERSION,
            max_bytes,
            min(PARTIAL_RETRY_MS, self._max_wait_ms) if partial else 0,
            {state.topic_partition: (state, state.revision) for state in requested},
            {topic_id: name for name, topic_id in ids.items()},
        )

    # -- replies

    def handle_response(
        self, fetch: InFlightFetch, response: FetchResponse
    ) -> tuple[list[TopicPartitionState], list[FailedPartition]]:
        """Store a response; return the partitions that got records, and those that failed.

        :raises RequestError: the whole request failed.
        """
        check(response.error_code, "fetch")
        received: list[TopicPartitionState] = []
        failed: list[FailedPartition] = []
        shared = sum(map(_count_with_records, response.responses)) > 1
        for topic in response.responses:
            for answer in topic.partitions:
                state = fetch.state_of(topic.topic, topic.topic_id, answer.partition_index)
                if state is None:
                    continue
                if answer.error_code:
                    failed.append(FailedPartition(state, ErrorCode.of(answer.error_code)))
                else:
                    try:
                        if self._add(state, answer, shared):
                            received.append(state)
                    except RequestError as error:
                        failed.append(FailedPartition(state, error.code))
        return received, failed

    def _add(self, state: TopicPartitionState, answer: PartitionData, shared: bool) -> bool:
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset
        state.log_start_offset = answer.log_start_offset
        if answer.preferred_read_replica >= 0:
            state.preferred_read_replica = answer.preferred_read_replica
            self.replica_changed = True
        diverging = answer.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            state.validated_epoch = NO_LEADER_EPOCH
            self.validation_needed = True
            return False
        records: Any = answer.records
        if not records:
            return False
        # A slice would keep the whole response in memory, even when the other partitions are done with it.
        data = memoryview(bytes(records)) if shared else memoryview(records)
        aborted = AbortedTransactions(answer.aborted_transactions or ()) if self._committed else None
        try:
            completed = CompletedFetch(
                state.topic_partition, data, state.fetch_offset, aborted, self._decoding
            )
        except CorruptRecords as error:
            state.fail(error)
            return False
        if not completed:
            return self._grow(state, len(data))
        if completed.end_offset <= state.fetch_offset:
            raise RequestError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"the broker answered with records up to {completed.end_offset - 1} alone",
            )
        state.needed_bytes = 0
        state.add(completed)
        return True

    def _grow(self, state: TopicPartitionState, size: int) -> bool:
        """Request more bytes next time: before Fetch 3 a batch above the partition's limit is cut off."""
        if state.needed_bytes >= MAX_FETCH_BYTES:
            state.fail(
                RequestError(ErrorCode.MESSAGE_TOO_LARGE, f"{state.topic_partition}: a batch above 2 GiB")
            )
        state.needed_bytes = min(4 * max(state.needed_bytes, size), MAX_FETCH_BYTES)
        return False


def _count_with_records(topic: FetchableTopicResponse) -> int:
    return sum(1 for answer in topic.partitions if answer.records)


def _partition(metadata: ClusterMetadata, topic_partition: TopicPartition) -> PartitionMetadata:
    topic = metadata.topics.get(topic_partition.topic)
    return (
        topic.partitions.get(topic_partition.partition, _NO_PARTITION) if topic is not None else _NO_PARTITION
    )


def leader_epoch(metadata: ClusterMetadata, topic_partition: TopicPartition) -> int:
    """Return the epoch of a partition's current leader; -1 if unknown."""
    return _partition(metadata, topic_partition).leader_epoch


def group_by_node(
    states: Iterable[TopicPartitionState], metadata: ClusterMetadata
) -> dict[int, list[TopicPartitionState]]:
    """Group partitions by the broker to fetch from; ``NO_NODE`` if no broker is known."""
    found: defaultdict[int, list[TopicPartitionState]] = defaultdict(list)
    for state in states:
        node = state.preferred_read_replica
        if node not in metadata.brokers:
            node = _partition(metadata, state.topic_partition).leader
        found[node if node in metadata.brokers else NO_NODE].append(state)
    return found
