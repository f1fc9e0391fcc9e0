"""Reads the log of a topic's partitions: of the replicas that are here, or from their leaders.

It reads logs, and connections of :class:`~kafkatx.broker.peers.Peers`. A topic that was deleted and made
again is another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.peers import Peers
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.types import BrokerNode, FileSlice, Records, Topic
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

T = TypeVar("T")

MOST_ABORTED: Final = 1000
"""Aborted transactions that are looked at with one read: with more, it has fewer records."""

AGAIN_S: Final = 0.5
ATTEMPTS: Final = 10
"""Attempts at a read while no leader answers."""

READ_COMMITTED, EARLIEST, LATEST = 1, -2, -1


@attrs.frozen
class Bounds:
    """The offsets that can be read, the last one exclusive."""

    start: int
    end: int


@attrs.frozen(eq=False)
class Chunk:
    """Some batches of a partition.

    :ivar position: the offset that is read from: later than asked for if the log begins later now.
    :ivar end: the end of the log for readers; *stable*: that for readers of committed records.
    :ivar aborted: producer id and first offset of the aborted transactions that a reader must know.
    """

    position: int
    end: int
    stable: int
    records: Records
    aborted: tuple[tuple[int, int], ...] = ()

    def load(self) -> bytes:
        """Return the bytes. Called in a worker.

        :raises OSError: the file cannot be read.
        """
        records = self.records
        return records.tobytes() if isinstance(records, FileSlice) else bytes(records)


class TopicReader:
    """The reader of one topic.

    :ivar name: its name.
    :ivar count: the number of its partitions when it was opened.
    :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION: there is no such topic.
    """

    def __init__(
        self, name: str, metadata: IMetadataStore, topics: Topics, peers: Peers, clock: IReactorTime
    ) -> None:
        self.name = name
        self._metadata = metadata
        self._topics = topics
        self._peers = peers
        self._clock = clock
        topic: Topic | None = metadata.state.topics.get(name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name[:249]}")
        self._topic_id = topic.topic_id
        self.count = len(topic.partitions)

    def check(self) -> Topic:
        """Return the topic.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION: it was deleted.
        """
        topic: Topic | None = self._metadata.state.topics.get(self.name)
        if topic is None or topic.topic_id != self._topic_id:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"the topic {self.name} was deleted")
        return topic

    def local(self, number: int) -> Partition | None:
        """Return the replica that is here, and can be read; None if there is none.

        :raises RequestError: the topic was deleted.
        """
        self.check()
        partition = self._topics.find(self.name, number)
        return None if partition is None or partition.offline else partition

    # --- questions

    async def bounds(self, number: int) -> Bounds:
        """Return the offsets that can be read.

        :raises RequestError: the topic was deleted, or no leader answers.
        """
        here = self.local(number)
        if here is not None:
            start = here.log.log_start_offset
            return Bounds(start, max(start, here.high_watermark))
        start = await self._again(partial(self._ask_offset, number, EARLIEST))
        return Bounds(start, max(start, await self.end(number)))

    async def end(self, number: int) -> int:
        """Return the end of a partition for readers; see :meth:`bounds`."""
        here = self.local(number)
        if here is not None:
            return here.high_watermark
        return await self._again(partial(self._ask_offset, number, LATEST))

    def size(self, number: int, start: int, until: int) -> int | None:
        """Return the approximate size of a range; None if no replica is here.

        :raises RequestError: the topic was deleted.
        """
        here = self.local(number)
        return None if here is None else here.log.readable_bytes(start, until)

    async def offset_at(self, number: int, timestamp_ms: int) -> int | None:
        """Return the first offset with this timestamp or a later one; None if there is none.

        :raises RequestError: as :meth:`bounds`. OSError: the log cannot be read.
        """
        here = self.local(number)
        if here is None:
            offset = await self._again(partial(self._ask_offset, number, timestamp_ms))
            return None if offset < 0 else offset
        found: tuple[int, int, int] | None = await here.log.offset_for_timestamp(timestamp_ms)
        return None if found is None else found[0]

    async def read(self, number: int, position: int, max_bytes: int) -> Chunk:
        """Return batches, beginning with the one that holds *position*; empty at the end of the log.

        :param max_bytes: the first batch may be larger.
        :raises RequestError: as :meth:`bounds`. OSError: the log cannot be read.
        """
        here = self.local(number)
        if here is None:
            return await self._again(partial(self._fetch, number, position, max_bytes))
        warming = here.log.warm(max(position, here.log.log_start_offset), max_bytes)
        if warming is not None:
            await warming
            here = self.local(number)
            if here is None:
                return await self._again(partial(self._fetch, number, position, max_bytes))
        return read_local(here, position, max_bytes)

    # --- other brokers

    def _leader(self, number: int) -> BrokerNode:
        topic = self.check()
        leader = topic.partitions[number].leader
        node: BrokerNode | None = self._metadata.state.brokers.get(leader)
        if node is None:
            raise RequestError(
                ErrorCode.LEADER_NOT_AVAILABLE,
                f"the partition {self.name}-{number} has no leader: start a broker that has an in-sync"
                " replica",
            )
        return node

    async def _again(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the result of an attempt; try again while a new leader is elected, or a broker starts."""
        for _ in range(ATTEMPTS - 1):
            try:
                return await attempt()
            except RequestError as error:
                if not error.code.retriable:
                    raise
            except KafkaTXError:
                pass  # no connection, or no answer
            await deferLater(self._clock, AGAIN_S)
            self.check()
        return await attempt()

    async def _ask_offset(self, number: int, timestamp: int) -> int:
        asked = ListOffsetsPartition(partition_index=number, timestamp=timestamp)
        topics = [ListOffsetsTopic(self.name, [asked])]
        request = ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)
        response: Any = await self._peers.request(self._leader(number), request)
        found = response.topics[0].partitions[0]
        self._raise(found.error_code, number)
        offset: int = found.offset
        return offset

    async def _fetch(self, number: int, position: int, max_bytes: int) -> Chunk:
        found = await self._fetch_once(number, position, max_bytes, READ_COMMITTED)
        if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            bounds = await self.bounds(number)
            position = min(max(position, bounds.start), bounds.end)
            found = await self._fetch_once(number, position, max_bytes, READ_COMMITTED)
        aborted = tuple((one.producer_id, one.first_offset) for one in found.aborted_transactions or ())
        if not found.records and position < found.high_watermark:  # an open transaction, or compaction
            found = await self._fetch_once(number, position, max_bytes, 0)
        self._raise(found.error_code, number)
        return Chunk(position, found.high_watermark, found.last_stable_offset, found.records or b"", aborted)

    async def _fetch_once(self, number: int, position: int, max_bytes: int, isolation: int) -> PartitionData:
        asked = FetchPartition(partition=number, fetch_offset=position, partition_max_bytes=max_bytes)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=max_bytes,
            isolation_level=isolation,
            topics=[FetchTopic(topic=self.name, topic_id=self._topic_id, partitions=[asked])],
        )
        response: Any = await self._peers.request(self._leader(number), request)
        self._raise(response.error_code, number)
        if not response.responses:
            raise RequestError(ErrorCode.REQUEST_TIMED_OUT, "the leader holds this broker back by a quota")
        found: PartitionData = response.responses[0].partitions[0]
        if found.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            self._raise(found.error_code, number)
        return found

    def _raise(self, code: int, number: int) -> None:
        if code:
            known = ErrorCode.of(code)
            why = known.name.replace("_", " ").lower()
            raise RequestError(known, f"the leader of {self.name}-{number} says: {why}")


def read_local(partition: Partition, position: int, max_bytes: int) -> Chunk:
    """Read a replica that is here, up to its high watermark.

    :raises OSError: the log cannot be read.
    """
    log, start = partition.log, partition.log.log_start_offset
    end = max(start, partition.high_watermark)
    position = min(max(position, start), end)
    stable = min(max(partition.last_stable_offset, start), end)
    if position >= end:
        return Chunk(position, end, stable, b"")
    if position >= stable:
        return Chunk(position, end, stable, log.read(position, max_bytes, end, True))
    until, aborted = log.aborted_transactions(position, stable, MOST_ABORTED)
    records = log.read(position, max_bytes, until, True)
    if not records:  # compaction has left nothing of the shorter range
        _, aborted = log.aborted_transactions(position, stable, NO_LIMIT)
        records = log.read(position, max_bytes, end, True)
    return Chunk(position, end, stable, records, tuple(aborted))
