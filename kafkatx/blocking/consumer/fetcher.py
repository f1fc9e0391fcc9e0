"""Fetches from several partitions of a topic: one request in flight per leader, one response read ahead.

It yields the log's own bytes; :mod:`kafkatx.blocking.consumer.reader` decodes them.
"""

from __future__ import annotations

import selectors
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.connection import Channel
from kafkatx.blocking.consumer.read_replicas import MAX_AGE_S, ReadReplicas
from kafkatx.blocking.retry import RetryDeadline
from kafkatx.clientcore.consumer.aborted_transactions import committed_batches
from kafkatx.clientcore.errors import OffsetOutOfRange, check, retriable
from kafkatx.clientcore.leader_hints import of_fetch
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.metadata import NO_TOPIC_ID
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.records.conversion import batches
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

MAX_BYTES = 8 << 20
MIN_PARTITION_BYTES = 1 << 20
MAX_FETCH_BYTES = (1 << 31) - 1
READ_COMMITTED = 1

LAST_VERSION_WITH_NAMES = 12
"""The last version of Fetch with topic names; later ones have topic ids."""

LAST_VERSION = 16
"""The last version that is spoken; it names new leaders (KIP-951)."""


class Chunk(NamedTuple):
    """Whole stored batches of one partition.

    The first batch may begin before the fetch offset, and the last may end after the requested end: batches
    are not cut. ``high_watermark`` is that of the response.
    """

    partition: int
    data: memoryview
    next_offset: int
    high_watermark: int


@attrs.define(eq=False)
class _Cursor:
    """The read position in one partition; ``end`` is exclusive, None without end.

    :ivar at_follower: True if its last fetch was sent to a follower (KIP-392).
    """

    partition: int
    offset: int
    end: int | None
    max_bytes: int
    moved_at: float
    empty_replies: int = 0
    at_follower: bool = False

    @property
    def done(self) -> bool:
        return self.end is not None and self.offset >= self.end


@attrs.define(eq=False)
class _LeaderConnection:
    """A connection to one leader, or to a follower that it has named, and the fetch in flight on it."""

    channel: Channel
    ticket: int | None = None
    requested: list[_Cursor] = attrs.Factory(list)


def first_readable(channels: Sequence[Channel], timeout_s: float) -> int:
    """Return the index of a channel with data to read; 0 if there is none after the timeout."""
    with selectors.DefaultSelector() as selector:
        for index, channel in enumerate(channels):
            selector.register(channel, selectors.EVENT_READ, index)
        ready = selector.select(timeout_s)
    return int(ready[0][0].data) if ready else 0


class Fetcher:
    """Reads ranges of offsets; reconnects and continues after retriable errors.

    :param ranges: for each partition the first offset and the exclusive end (None: follow without end).
    :param max_bytes: limit of a response of one leader, except for a single larger batch; up to two responses
        are held at a time.
    :param isolation_level: 1: read committed records only (read_committed), up to the last stable offset.
    :param retry_timeout_s: time limit for errors in a row, and for reaching an end beyond the log; the
        cluster's ``timeout_s`` if None.
    :param rack: ``client.rack``: leaders may name a follower in that rack, which is read then (KIP-392).
    :param max_age_s: time after which a leader is asked again.
    :param idle_s: stop after this long without a record, although brokers answer; None: never.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        ranges: Mapping[int, tuple[int, int | None]],
        *,
        max_bytes: int = MAX_BYTES,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        isolation_level: int = 0,
        retry_timeout_s: float | None = None,
        idle_s: float | None = None,
        rack: str = "",
        max_age_s: float = MAX_AGE_S,
        wait: Callable[[Sequence[Channel], float], int] = first_readable,
    ) -> None:
        self.topic = topic
        self._cluster = cluster
        self._max_bytes = max_bytes
        self._max_wait_ms = max_wait_ms
        self._min_bytes = min_bytes
        self._isolation_level = isolation_level
        self._idle_s = idle_s
        if idle_s is not None:
            self._max_wait_ms = min(max_wait_ms, max(1, int(idle_s * 1000)))
        self._limit_s = cluster.timeout_s if retry_timeout_s is None else retry_timeout_s
        self._retry_deadline = RetryDeadline(self._limit_s, cluster.backoff, cluster.clock, cluster.sleep)
        self._first_readable = wait
        self._replicas = ReadReplicas(cluster, topic, rack, max_age_s)
        self._leaders: dict[tuple[str, int], _LeaderConnection] = {}
        share = min(max_bytes, max(MIN_PARTITION_BYTES, max_bytes // max(1, len(ranges))))
        cursors = [_Cursor(p, start, end, share, cluster.clock()) for p, (start, end) in ranges.items()]
        self._cursors = [cursor for cursor in cursors if not cursor.done]

    def chunks(self) -> Iterator[Chunk]:
        """Yield fetched batches, in order per partition, until all ends are reached.

        The next fetch is in flight while a chunk is processed.

        :raises OffsetOutOfRange: the log does not have a partition's next offset.
        :raises RequestError: a leader answered with an error, or an end was not reached in time.
        :raises ConnectionFailed: no broker could be reached for ``retry_timeout_s``.
        """
        try:
            moved_at = self._cluster.clock()
            while self._cursors:
                got, error = self._round()
                yield from got
                if error is not None:
                    self._recover(error)
                elif got:
                    moved_at = self._cluster.clock()
                elif self._idle_s is not None and self._cluster.clock() - moved_at >= self._idle_s:
                    return
        finally:
            self.close()

    def close(self) -> None:
        """Close the connections and drop the fetches in flight."""
        for leader in self._leaders.values():
            leader.channel.close()
        self._leaders.clear()

    def _round(self) -> tuple[list[Chunk], KafkaTXError | None]:
        """Wait for one response; unless it had an error, send the next fetch before yielding its chunks."""
        got: list[Chunk] = []
        try:
            self._send_fetches()
            error = self._take_reply(self._ready(), got)
            if error is None:
                self._retry_deadline.reset()
                self._send_fetches()
        except KafkaTXError as failure:
            error = failure
        return got, error

    def _recover(self, error: KafkaTXError) -> None:
        if not retriable(error):
            raise error
        self.close()
        self._replicas.avoid_all()
        self._cluster.forget_metadata()
        self._retry_deadline.wait_or_raise(error)

    # -- requests

    def _send_fetches(self) -> None:
        """Send a fetch to every broker that has none in flight, for partitions that are in none."""
        self._cursors = [cursor for cursor in self._cursors if not cursor.done]
        by_leader: dict[tuple[str, int], list[_Cursor]] = {}
        in_flight = {
            cursor.partition
            for leader in self._leaders.values()
            if leader.ticket is not None
            for cursor in leader.requested
        }
        for cursor in self._cursors:
            if cursor.partition in in_flight:
                continue
            follower = self._replicas.follower(cursor.partition)
            cursor.at_follower = follower is not None
            node = follower or self._cluster.leader_node(self.topic, cursor.partition)
            address = (node.host, node.port)
            leader = self._leaders.get(address)
            if leader is None:
                leader = self._leaders[address] = _LeaderConnection(self._cluster.new_connection(node))
            if leader.ticket is None:
                by_leader.setdefault(address, []).append(cursor)
        topic_id = self._cluster.topic(self.topic).topic_id
        at_most = LAST_VERSION_WITH_NAMES if topic_id == NO_TOPIC_ID else LAST_VERSION
        for address, cursors in by_leader.items():
            leader = self._leaders[address]
            leader.requested = cursors
            version = leader.channel.version_for(FetchRequest, at_most)
            leader.ticket = leader.channel.send(self._request(cursors, topic_id), version)
        # The broker fills a response in the request's order: start with another partition next time.
        self._cursors = self._cursors[1:] + self._cursors[:1]

    def _request(self, cursors: list[_Cursor], topic_id: uuid.UUID) -> FetchRequest:
        partitions = [
            FetchPartition(partition=c.partition, fetch_offset=c.offset, partition_max_bytes=c.max_bytes)
            for c in cursors
        ]
        return FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=max(self._max_bytes, cursors[0].max_bytes),
            isolation_level=self._isolation_level,
            topics=[FetchTopic(self.topic, topic_id, partitions)],
            rack_id=self._replicas.rack_for(c.partition for c in cursors),
        )

    def _ready(self) -> _LeaderConnection:
        leaders = [leader for leader in self._leaders.values() if leader.ticket is not None]
        if len(leaders) == 1:
            return leaders[0]
        return leaders[self._first_readable([leader.channel for leader in leaders], self._cluster.timeout_s)]

    # -- responses

    def _take_reply(self, leader: _LeaderConnection, got: list[Chunk]) -> KafkaTXError | None:
        """Append a response's chunks to *got* and advance the cursors; return a partition's error.

        A partition whose new leader is known by the response has no error: it is fetched there next.
        """
        assert leader.ticket is not None
        ticket, leader.ticket = leader.ticket, None
        response: FetchResponse = leader.channel.receive(ticket)
        check(response.error_code, f"fetch from {self.topic}")
        requested = {cursor.partition: cursor for cursor in leader.requested}
        failed: list[tuple[_Cursor, KafkaTXError]] = []
        for topic in response.responses:
            for answer in topic.partitions:
                cursor = requested.pop(answer.partition_index, None)
                if cursor is None:
                    continue
                try:
                    self._take_partition(cursor, answer, cursor is leader.requested[0], got)
                except KafkaTXError as error:
                    if cursor.at_follower:  # its leader is asked instead, and may say the same
                        self._replicas.avoid(cursor.partition)
                    else:
                        failed.append((cursor, error))
        if failed:
            names = {topic.topic_id: self.topic for topic in response.responses}
            self._cluster.take_leaders(of_fetch(response, names))
        left = [error for cursor, error in failed if not self._has_moved(cursor, error, leader.channel)]
        return left[-1] if left else None

    def _has_moved(self, cursor: _Cursor, error: KafkaTXError, channel: Channel) -> bool:
        return retriable(error) and self._cluster.has_moved(self.topic, cursor.partition, channel)

    def _take_partition(
        self, cursor: _Cursor, answer: PartitionData, was_first: bool, got: list[Chunk]
    ) -> None:
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and not cursor.at_follower:
            raise self._out_of_range(cursor)
        check(answer.error_code, f"fetch from {self.topic} [{cursor.partition}]")
        records = memoryview(answer.records or b"")  # type: ignore[arg-type]  # decoded: never a FileSlice
        if answer.preferred_read_replica >= 0:
            if cursor.at_follower:  # replicas that name each other would never return records
                self._replicas.avoid(cursor.partition)
            else:
                self._replicas.name(cursor.partition, answer.preferred_read_replica)
            if not len(records):
                return  # it tells nothing about the log: the records are at the replica
        size = 0
        for position, batch_size, _magic, _base_offset, last_offset, _max_timestamp in batches(records):
            size = position + batch_size
            # A response may begin before the fetch offset; never go backwards.
            cursor.offset = max(cursor.offset, last_offset + 1)
            if cursor.done:
                break
        if size:
            cursor.moved_at, cursor.empty_replies = self._cluster.clock(), 0
            found = records[:size]
            if self._isolation_level == READ_COMMITTED and answer.aborted_transactions:
                found = committed_batches(found, answer.aborted_transactions)
            if len(found):
                got.append(Chunk(cursor.partition, found, cursor.offset, answer.high_watermark))
        elif len(records):
            # Before Fetch 3 a batch above max_bytes is cut off: request more bytes next time.
            if cursor.max_bytes >= MAX_FETCH_BYTES:
                raise RequestError(ErrorCode.MESSAGE_TOO_LARGE, f"{self.topic} [{cursor.partition}]")
            cursor.max_bytes = min(cursor.max_bytes * 4, MAX_FETCH_BYTES)
        elif cursor.end is not None:
            self._check_empty_reply(cursor, answer, was_first)

    def _check_empty_reply(self, cursor: _Cursor, answer: PartitionData, was_first: bool) -> None:
        """Handle an empty response before the end: an offset gap, or the end is not written yet.

        The first partition of a request gets at least one batch if there is one below the high watermark. So
        if the high watermark has reached our end, all remaining offsets are without records (compaction,
        aborted transactions). It must be so twice, because an append may have happened after the response.
        """
        assert cursor.end is not None
        readable = answer.high_watermark
        if self._isolation_level == READ_COMMITTED and answer.last_stable_offset >= 0:
            readable = answer.last_stable_offset
        if was_first and readable >= cursor.end:
            cursor.empty_replies += 1
            if cursor.empty_replies > 1:
                cursor.offset = cursor.end
        elif cursor.at_follower and readable < cursor.end:
            self._replicas.avoid(cursor.partition)  # it lags behind its leader
        elif self._cluster.clock() - cursor.moved_at > self._limit_s:
            raise RequestError(
                ErrorCode.OFFSET_NOT_AVAILABLE if readable < 0 else ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.topic} [{cursor.partition}] ends at offset {readable}, "
                f"and {cursor.end} was not reached within {self._limit_s:g} s",
            )

    def _out_of_range(self, cursor: _Cursor) -> OffsetOutOfRange:
        earliest = self._cluster.offsets(self.topic, {cursor.partition: EARLIEST})[cursor.partition][0]
        latest = self._cluster.offsets(self.topic, {cursor.partition: LATEST})[cursor.partition][0]
        return OffsetOutOfRange(self.topic, cursor.partition, cursor.offset, earliest, latest)
