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

from kafkatx.clientcore.consumer.aborted_transactions import Aborted
from kafkatx.clientcore.consumer.completed_fetch import Decoding, Fetched
from kafkatx.clientcore.consumer.fetch_buffer import Shelf
from kafkatx.clientcore.consumer.partition_state import NO_NODE, Position
from kafkatx.clientcore.errors import check
from kafkatx.clientcore.metadata import NO_TOPIC_ID, ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import CorruptRecords, ErrorCode, RequestError
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

NAMES_TOPICS_UNTIL = 12
"""The last version of Fetch that names topics; from 13 on it is their ids (KIP-516)."""

READ_COMMITTED = 1
NEVER_MORE = (1 << 31) - 1
LEFT_OUT_MS = 25
"""How long until a leader is asked again that had nothing, while partitions of it were left out."""

_NO_PARTITION = PartitionMetadata(-1, -1)


class Refusal(NamedTuple):
    """A partition that a leader gave nothing of, and why."""

    position: Position
    code: ErrorCode


@attrs.frozen(eq=False)
class Asked:
    """A request under way.

    :ivar at_most: the highest version that it can be sent in.
    :ivar reserved_bytes: how much its reply may hold.
    :ivar pause_ms: how long to wait before the next one if this one gives nothing.
    """

    message: FetchRequest
    at_most: int
    reserved_bytes: int
    pause_ms: int
    _positions: Mapping[tuple[str, int], tuple[Position, int]]
    _names: Mapping[uuid.UUID, str]

    def position(self, topic: str, topic_id: uuid.UUID, partition: int) -> Position | None:
        """Whom a part of the reply is for; None if it was not asked for, or is wanted no more."""
        name = topic or self._names.get(topic_id, "")
        position, turn = self._positions.get((name, partition), (None, 0))
        return position if position is not None and position.turn == turn else None

    def positions(self) -> list[Position]:
        """Whom it is for."""
        return [position for position, turn in self._positions.values() if position.turn == turn]


class Fetches:
    """Makes requests of positions, and gives replies to them.

    :ivar moved: whether a reply named another broker to be asked (KIP-392).
    :ivar doubtful: whether a position has to be compared with its leader's log first (KIP-320): there is
        another leader than the one that it was read from, or a reply said that the log is another (KIP-595).
    """

    def __init__(self, settings: ClientSettings, shelf: Shelf, decoding: Decoding) -> None:
        self._shelf = shelf
        self._decoding = decoding
        self._max_wait_ms = settings[consumer.FETCH_MAX_WAIT_MS]
        self._min_bytes = settings[consumer.FETCH_MIN_BYTES]
        self._max_bytes = max(1, settings[consumer.FETCH_MAX_BYTES])
        self._committed = settings[consumer.ISOLATION_LEVEL] == "read_committed"
        self._rack_id = settings[common.CLIENT_RACK]
        self._reserved_bytes = 0
        self.moved = self.doubtful = False

    def ask(self, positions: list[Position], metadata: ClusterMetadata) -> Asked | None:
        """The request for the partitions of one leader, those first that come first; None: nothing is wanted.

        :meth:`done` is to be called when it is not under way any more.
        """
        open_ = [position for position in positions if position.wanted and self._sure(position, metadata)]
        share = self._shelf.share_bytes
        wanted = [position for position in open_ if position.queued_bytes < share]
        if not wanted:
            return None
        room = self._room(positions)
        if not room:
            return None
        sizes = [max(share, position.grown_bytes) for position in wanted]
        max_bytes = min(max(self._max_bytes, sizes[0]), sum(sizes), max(room, sizes[0]), NEVER_MORE)
        # Those left out have enough for now. They would have to wait until the broker answers.
        left_out = len(wanted) < len(open_)
        asked = self._asked(wanted, sizes, max_bytes, left_out, metadata)
        self._reserved_bytes += asked.reserved_bytes
        return asked

    def done(self, asked: Asked) -> None:
        """A request has been answered or has failed."""
        self._reserved_bytes -= asked.reserved_bytes

    def _sure(self, position: Position, metadata: ClusterMetadata) -> bool:
        if position.doubt(leader_epoch(metadata, position.place)):
            self.doubtful = True
            return False
        return True

    def _room(self, positions: list[Position]) -> int:
        """How much may be asked for. Before it is nothing, what is at hand of paused partitions goes."""
        room = self._shelf.room(self._reserved_bytes)
        if not room:
            for position in positions:
                if position.paused and position.queued_bytes:
                    position.drop()
            room = self._shelf.room(self._reserved_bytes)
        return room

    def _asked(
        self,
        wanted: list[Position],
        sizes: list[int],
        max_bytes: int,
        left_out: bool,
        metadata: ClusterMetadata,
    ) -> Asked:
        by_topic: defaultdict[str, list[FetchPartition]] = defaultdict(list)
        for position, size in zip(wanted, sizes, strict=True):
            topic, partition = position.place
            epoch = leader_epoch(metadata, position.place)
            if position.fetch_epoch < 0:
                position.checked_epoch = epoch
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
        return Asked(
            message,
            NAMES_TOPICS_UNTIL if NO_TOPIC_ID in ids.values() else NAMES_TOPICS_UNTIL + 1,
            max_bytes,
            min(LEFT_OUT_MS, self._max_wait_ms) if left_out else 0,
            {position.place: (position, position.turn) for position in wanted},
            {topic_id: name for name, topic_id in ids.items()},
        )

    # -- replies

    def take(self, asked: Asked, response: Any) -> tuple[list[Position], list[Refusal]]:
        """Give a reply to the positions; return those that got something, and those that were refused.

        :raises RequestError: the whole request was refused.
        """
        check(response.error_code, "fetch")
        got: list[Position] = []
        refused: list[Refusal] = []
        shared = sum(map(_has_records, response.responses)) > 1
        for topic in response.responses:
            for answer in topic.partitions:
                position = asked.position(topic.topic, topic.topic_id, answer.partition_index)
                if position is None:
                    continue
                if answer.error_code:
                    refused.append(Refusal(position, ErrorCode.of(answer.error_code)))
                else:
                    try:
                        if self._add(position, answer, shared):
                            got.append(position)
                    except RequestError as error:
                        refused.append(Refusal(position, error.code))
        return got, refused

    def _add(self, position: Position, answer: PartitionData, shared: bool) -> bool:
        position.high_watermark = answer.high_watermark
        position.last_stable_offset = answer.last_stable_offset
        position.log_start_offset = answer.log_start_offset
        if answer.preferred_read_replica >= 0:
            position.replica = answer.preferred_read_replica
            self.moved = True
        diverging = answer.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            position.checked_epoch = NO_LEADER_EPOCH
            self.doubtful = True
            return False
        records: Any = answer.records
        if not records:
            return False
        # A slice keeps the whole reply in memory, and what other partitions had in it may be gone for long.
        data = memoryview(bytes(records)) if shared else memoryview(records)
        aborted = Aborted(answer.aborted_transactions or ()) if self._committed else None
        try:
            fetched = Fetched(position.place, data, position.fetch_offset, aborted, self._decoding)
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
        position.grown_bytes = 0
        position.add(fetched)
        return True

    def _grow(self, position: Position, size: int) -> bool:
        """Before Fetch 3 a batch above the partition's limit comes cut off: ask for more of it."""
        if position.grown_bytes >= NEVER_MORE:
            position.fail(RequestError(ErrorCode.MESSAGE_TOO_LARGE, f"{position.place}: a batch above 2 GiB"))
        position.grown_bytes = min(4 * max(position.grown_bytes, size), NEVER_MORE)
        return False


def _has_records(topic: Any) -> int:
    return sum(1 for answer in topic.partitions if answer.records)


def _partition(metadata: ClusterMetadata, place: TopicPartition) -> PartitionMetadata:
    topic = metadata.topics.get(place.topic)
    return topic.partitions.get(place.partition, _NO_PARTITION) if topic is not None else _NO_PARTITION


def leader_epoch(metadata: ClusterMetadata, place: TopicPartition) -> int:
    """Of the leader that a partition has, as far as is known; -1: it is not."""
    return _partition(metadata, place).leader_epoch


def by_node(positions: Iterable[Position], metadata: ClusterMetadata) -> dict[int, list[Position]]:
    """The positions by who is to be asked for their records; ``NO_NODE`` where nobody is known."""
    found: defaultdict[int, list[Position]] = defaultdict(list)
    for position in positions:
        node = position.replica
        if node not in metadata.brokers:
            node = _partition(metadata, position.place).leader
        found[node if node in metadata.brokers else NO_NODE].append(position)
    return found
