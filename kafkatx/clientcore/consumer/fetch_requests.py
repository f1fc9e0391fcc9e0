"""Fetch requests of a consumer, and what it makes of the replies.

A request goes to one leader and names every partition that is wanted there. The leader fills its reply in the
order of the request, so those that got something are the last in the next one, as in the Java client.
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
from kafkatx.clientcore.metadata import NO_TOPIC_ID, ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

LAST_VERSION_WITH_NAMES = 12
"""The last version of Fetch that names topics; from 13 on it is their ids (KIP-516)."""

READ_COMMITTED = 1
MAX_FETCH_BYTES = (1 << 31) - 1
PARTIAL_RETRY_MS = 25
"""How long until a leader is asked again that had nothing, while partitions of it were left out."""

_NO_PARTITION = PartitionMetadata(-1, -1)


class FailedPartition(NamedTuple):
    """A partition that a leader gave nothing of, and why."""

    state: TopicPartitionState
    code: ErrorCode


@attrs.frozen(eq=False)
class InFlightFetch:
    """A request under way.

    :ivar max_version: the highest version that it can be sent in.
    :ivar reserved_bytes: how much its reply may hold.
    :ivar pause_ms: how long to wait before the next one if this one gives nothing.
    """

    message: FetchRequest
    max_version: int
    reserved_bytes: int
    pause_ms: int
    _states: Mapping[tuple[str, int], tuple[TopicPartitionState, int]]
    _names: Mapping[uuid.UUID, str]

    def state_of(self, topic: str, topic_id: uuid.UUID, partition: int) -> TopicPartitionState | None:
        """Whom a part of the reply is for; None if it was not asked for, or is wanted no more."""
        name = topic or self._names.get(topic_id, "")
        position, turn = self._states.get((name, partition), (None, 0))
        return position if position is not None and position.revision == turn else None

    def states(self) -> list[TopicPartitionState]:
        """Whom it is for."""
        return [position for position, turn in self._states.values() if position.revision == turn]


class FetchRequests:
    """Makes requests of positions, and gives replies to them.

    :ivar replica_changed: true once a response named another preferred read replica (KIP-392).
    :ivar validation_needed: true once a position has to be validated against its leader's log (KIP-320): the
        partition has a new leader, or a response reported a diverging epoch (KIP-595).
    """

    def __init__(self, settings: ClientSettings, shelf: FetchBuffer, decoding: DecodeSettings) -> None:
        self._shelf = shelf
        self._decoding = decoding
        self._max_wait_ms = settings[consumer.FETCH_MAX_WAIT_MS]
        self._min_bytes = settings[consumer.FETCH_MIN_BYTES]
        self._max_bytes = max(1, settings[consumer.FETCH_MAX_BYTES])
        self._committed = settings[consumer.ISOLATION_LEVEL] == "read_committed"
        self._rack_id = settings[common.CLIENT_RACK]
        self._reserved_bytes = 0
        self.replica_changed = self.validation_needed = False

    def build(self, positions: list[TopicPartitionState], metadata: ClusterMetadata) -> InFlightFetch | None:
        """The request for the partitions of one leader, those first that come first; None: nothing is wanted.

        :meth:`release` is to be called when it is not under way any more.
        """
        open_ = [position for position in positions if position.fetchable and self._sure(position, metadata)]
        share = self._shelf.share_bytes
        wanted = [position for position in open_ if position.buffered_bytes < share]
        if not wanted:
            return None
        room = self._room(positions)
        if not room:
            return None
        sizes = [max(share, position.needed_bytes) for position in wanted]
        max_bytes = min(max(self._max_bytes, sizes[0]), sum(sizes), max(room, sizes[0]), MAX_FETCH_BYTES)
        # Those left out have enough for now. They would have to wait until the broker answers.
        left_out = len(wanted) < len(open_)
        asked = self._asked(wanted, sizes, max_bytes, left_out, metadata)
        self._reserved_bytes += asked.reserved_bytes
        return asked

    def release(self, asked: InFlightFetch) -> None:
        """A request has been answered or has failed."""
        self._reserved_bytes -= asked.reserved_bytes

    def _sure(self, position: TopicPartitionState, metadata: ClusterMetadata) -> bool:
        if position.maybe_validate(leader_epoch(metadata, position.topic_partition)):
            self.validation_needed = True
            return False
        return True

    def _room(self, positions: list[TopicPartitionState]) -> int:
        """How much may be asked for. Before it is nothing, what is at hand of paused partitions goes."""
        room = self._shelf.available_bytes(self._reserved_bytes)
        if not room:
            for position in positions:
                if position.paused and position.buffered_bytes:
                    position.drop_buffered()
            room = self._shelf.available_bytes(self._reserved_bytes)
        return room

    def _asked(
        self,
        wanted: list[TopicPartitionState],
        sizes: list[int],
        max_bytes: int,
        left_out: bool,
        metadata: ClusterMetadata,
    ) -> InFlightFetch:
        by_topic: defaultdict[str, list[FetchPartition]] = defaultdict(list)
        for position, size in zip(wanted, sizes, strict=True):
            topic, partition = position.topic_partition
            epoch = leader_epoch(metadata, position.topic_partition)
            if position.fetch_epoch < 0:
                position.validated_epoch = epoch
            by_topic[topic].append(
                FetchPartition(
                    partition,
                    epoch,
                    position.fetch_offset,
                    position.fetch_epoch,
                    partition_max_bytes=size,
                )
            )
        ids = {name: metadata.topics.get(name, TopicMetadata(name)).topic_id for name in by_topic}
        message = FetchRequest(
            max_wait_ms=0 if left_out else self._max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=max_bytes,
            isolation_level=READ_COMMITTED if self._committed else 0,
            topics=[FetchTopic(name, ids[name], partitions) for name, partitions in by_topic.items()],
            rack_id=self._rack_id,
        )
        return InFlightFetch(
            message,
            LAST_VERSION_WITH_NAMES if NO_TOPIC_ID in ids.values() else LAST_VERSION_WITH_NAMES + 1,
            max_bytes,
            min(PARTIAL_RETRY_MS, self._max_wait_ms) if left_out else 0,
            {position.topic_partition: (position, position.revision) for position in wanted},
            {topic_id: name for name, topic_id in ids.items()},
        )

    # -- replies

    def handle_response(
        self, asked: InFlightFetch, response: Any
    ) -> tuple[list[TopicPartitionState], list[FailedPartition]]:
        """Give a reply to the positions; return those that got something, and those that were refused.

        :raises RequestError: the whole request was refused.
        """
        check(response.error_code, "fetch")
        got: list[TopicPartitionState] = []
        refused: list[FailedPartition] = []
        shared = sum(map(_has_records, response.responses)) > 1
        for topic in response.responses:
            for answer in topic.partitions:
                position = asked.state_of(topic.topic, topic.topic_id, answer.partition_index)
                if position is None:
                    continue
                if answer.error_code:
                    refused.append(FailedPartition(position, ErrorCode.of(answer.error_code)))
                else:
                    try:
                        if self._add(position, answer, shared):
                            got.append(position)
                    except RequestError as error:
                        refused.append(FailedPartition(position, error.code))
        return got, refused

    def _add(self, position: TopicPartitionState, answer: PartitionData, shared: bool) -> bool:
        position.high_watermark = answer.high_watermark
        position.last_stable_offset = answer.last_stable_offset
        position.log_start_offset = answer.log_start_offset
        if answer.preferred_read_replica >= 0:
            position.preferred_read_replica = answer.preferred_read_replica
            self.replica_changed = True
        diverging = answer.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            position.validated_epoch = NO_LEADER_EPOCH
            self.validation_needed = True
            return False
        records: Any = answer.records
        if not records:
            return False
        # A slice keeps the whole reply in memory, and what other partitions had in it may be gone for long.
        data = memoryview(bytes(records)) if shared else memoryview(records)
        aborted = AbortedTransactions(answer.aborted_transactions or ()) if self._committed else None
        try:
            fetched = CompletedFetch(
                position.topic_partition, data, position.fetch_offset, aborted, self._decoding
            )
        except CorruptRecords as error:
            position.fail(error)
            return False
        if not fetched:
            return self._grow(position, len(data))
        if fetched.end_offset <= position.fetch_offset:
            raise RequestError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"the broker answered with records up to {fetched.end_offset - 1} alone",
            )
        position.needed_bytes = 0
        position.add(fetched)
        return True

    def _grow(self, position: TopicPartitionState, size: int) -> bool:
        """Before Fetch 3 a batch above the partition's limit comes cut off: ask for more of it."""
        if position.needed_bytes >= MAX_FETCH_BYTES:
            position.fail(
                RequestError(ErrorCode.MESSAGE_TOO_LARGE, f"{position.topic_partition}: a batch above 2 GiB")
            )
        position.needed_bytes = min(4 * max(position.needed_bytes, size), MAX_FETCH_BYTES)
        return False


def _has_records(topic: Any) -> int:
    return sum(1 for answer in topic.partitions if answer.records)


def _partition(metadata: ClusterMetadata, place: TopicPartition) -> PartitionMetadata:
    topic = metadata.topics.get(place.topic)
    return topic.partitions.get(place.partition, _NO_PARTITION) if topic is not None else _NO_PARTITION


def leader_epoch(metadata: ClusterMetadata, place: TopicPartition) -> int:
    """Of the leader that a partition has, as far as is known; -1: it is not."""
    return _partition(metadata, place).leader_epoch


def group_by_node(
    positions: Iterable[TopicPartitionState], metadata: ClusterMetadata
) -> dict[int, list[TopicPartitionState]]:
    """The positions by who is to be asked for their records; ``NO_NODE`` where nobody is known."""
    found: defaultdict[int, list[TopicPartitionState]] = defaultdict(list)
    for position in positions:
        node = position.preferred_read_replica
        if node not in metadata.brokers:
            node = _partition(metadata, position.topic_partition).leader
        found[node if node in metadata.brokers else NO_NODE].append(position)
    return found
