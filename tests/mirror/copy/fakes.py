"""A target and a source in memory for tests of streams: logs that check sequence numbers as brokers do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkatx.clientcore.consumer.record import Record
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.mirror.copy.appender import Conflict
from kafkatx.mirror.copy.ports import StreamPort
from kafkatx.mirror.copy.recovery import Recovered, read_back, recover
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.offset_map import OffsetMap
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.core.tail import Copied, source_offset
from kafkatx.records import batch as v2
from kafkatx.records.conversion import batches
from kafkatx.types import TopicPartition
from tests.mirror.batches import stamped

TARGET_ID = "T"


class MemoryLogs:
    """The target's logs; the interface of :class:`kafkatx.mirror.copy.target_log.TargetLog`.

    :ivar reads: the offsets that were read from.
    :ivar hidden: number of batches at the end that are above the high watermark.
    """

    def __init__(self) -> None:
        self.batches: defaultdict[TopicPartition, list[bytes]] = defaultdict(list)
        self.start: defaultdict[TopicPartition, int] = defaultdict(int)
        self.producers: defaultdict[TopicPartition, ProducerStateManager] = defaultdict(ProducerStateManager)
        self.reads: list[int] = []
        self.piece_bytes = 1 << 20
        self.hidden = 0

    def end(self, place: TopicPartition) -> int:
        """Return the end of a log."""
        held = self.batches[place]
        return v2.parse_header(held[-1]).next_offset if held else self.start[place]

    def append(self, place: TopicPartition, batch: bytes) -> int:
        """Append as a broker does: a repeated batch is answered with the offset that it has."""
        header = v2.parse_header(batch)
        state = self.producers[place]
        found = state.check(
            header.producer_id, header.producer_epoch, header.base_sequence, header.last_offset_delta + 1
        )
        if isinstance(found, ErrorCode):
            raise Conflict(found, "refused")
        if found is not None:
            return found.base_offset
        base = self.end(place)
        self.batches[place].append(stamped(batch, base))
        last = base + header.last_offset_delta
        state.record(header.producer_id, header.producer_epoch, header.base_sequence, base, last, 0)
        return base

    def copies(self, place: TopicPartition) -> list[tuple[int, int]]:
        """Return the target and source offset of each record."""
        found = []
        for batch in self.batches[place]:
            offsets: list[int] = []
            headers: list[bytes] = []
            v2.read_columns(batch, offsets, [], [], [], encoded_headers=headers)
            found += [(offset, source_offset(of)) for offset, of in zip(offsets, headers, strict=True)]
        return found

    async def ends(self, place: TopicPartition) -> tuple[int, int]:
        """Return start and high watermark."""
        visible = self.visible(place)
        end = v2.parse_header(visible[-1]).next_offset if visible else self.start[place]
        return self.start[place], end

    def visible(self, place: TopicPartition) -> list[bytes]:
        """Return the batches below the high watermark."""
        held = self.batches[place]
        return held[: max(0, len(held) - self.hidden)]

    async def starts(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the starts."""
        return {place: self.start[place] for place in places}

    async def read(self, place: TopicPartition, offset: int, max_bytes: int = 1 << 20) -> memoryview:
        """Return whole batches from an offset on, and perhaps a piece of one more."""
        self.reads.append(offset)
        _, end = await self.ends(place)
        if not self.start[place] <= offset <= end:
            raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset}")
        data = b"".join(one for one in self.visible(place) if v2.parse_header(one).last_offset >= offset)
        spans = list(batches(data))
        size = max(min(max_bytes, self.piece_bytes), spans[0].size if spans else 0)
        return memoryview(data[:size])


class MemoryTarget:
    """A process's view of the target; what it sends waits until the test delivers it.

    :ivar sent: requests that no broker has seen yet: the partition, the batch, and the Deferred.
    """

    cluster_id = TARGET_ID

    def __init__(self, logs: MemoryLogs, notes: dict[StreamId, Position], clock: Clock) -> None:
        self.logs: Any = logs
        self.notes = notes
        self.reactor: Any = clock
        self.sent: list[tuple[TopicPartition, bytes, Deferred[int]]] = []
        self.maps: defaultdict[StreamId, OffsetMap] = defaultdict(OffsetMap)
        self.admitted: list[int] = []
        self.counts: list[tuple[int, int, list[int]]] = []

    async def recover(self, stream: StreamPort) -> Recovered:
        """Read the log, as a mirror does."""
        found = await recover(
            self.logs,
            stream.target_place,
            {stream.producer_id: self.notes.get(stream.id)},
            {stream.producer_id: stream.topic_id},
            1 << 30,
        )
        return found[stream.producer_id]

    async def note(self, stream: StreamPort, position: Position) -> None:
        """Keep a position for all processes."""
        self.notes[stream.id] = position

    def copied(self, stream: StreamPort, sources: Sequence[int], target: int) -> None:
        """Keep pairs of offsets."""
        self.maps[stream.id].add_offsets(sources, target)

    def counted(self, stream: StreamPort, start: int, end: int, records: Sequence[Record]) -> None:
        """Keep what is counted."""
        self.counts.append((start, end, [record.offset for record in records]))

    async def admit(self, size: int) -> None:
        """Note the size."""
        self.admitted.append(size)

    def append(self, place: TopicPartition, batch: bytes) -> Deferred[int]:
        """Send a batch."""
        done: Deferred[int] = Deferred()
        self.sent.append((place, batch, done))
        return done

    async def read_back(self, stream: StreamPort, offset: int) -> list[Copied]:
        """Read the log."""
        return await read_back(self.logs, stream.target_place, stream.producer_id, offset)

    def deliver(self, answer: bool = True) -> None:
        """Pass the oldest request to the broker; without an answer the client repeats it."""
        place, batch, done = self.sent.pop(0)
        try:
            base: int | Conflict = self.logs.append(place, batch)
        except Conflict as error:
            base = error
        if not answer:
            self.sent.insert(0, (place, batch, done))
        elif not done.called:
            if isinstance(base, Conflict):
                done.errback(base)
            else:
                done.callback(base)

    def deliver_all(self) -> None:
        """Deliver until nothing is left."""
        while self.sent:
            self.deliver()


class MemorySource:
    """A source of one partition, which passes records when the test says so.

    :ivar cursor: the next offset to pass; None before the stream has begun.
    :ivar queued: bytes that the stream counts as queued.
    """

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.cursor: int | None = None
        self.paused = True
        self.queued = 0
        self.first = 0
        self.again: list[bool] = []
        self.feed: Callable[[list[Record]], int] = lambda records: 0

    async def first_offset(self, place: TopicPartition, again: bool) -> int:
        """Return the first offset."""
        self.again.append(again)
        return self.first

    def begin(self, place: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        self.cursor, self.paused = offset, False

    def pause(self, place: TopicPartition) -> None:
        """Pass nothing."""
        self.paused = True

    def resume(self, place: TopicPartition) -> None:
        """Pass records again."""
        self.paused = False

    def done(self, size: int) -> None:
        """Take back bytes."""
        self.queued -= size

    def passes(self, count: int) -> bool:
        """Pass the next records; return False if there is none to pass."""
        if self.paused or self.cursor is None:
            return False
        at = self.cursor
        some = [one for one in self.records if one.offset >= at][:count]
        if not some:
            return False
        self.cursor = some[-1].offset + 1
        added = self.feed(some)
        self.queued += added
        return True
