"""A source's notes in the target: the topic ``kafkatx-mirror.<alias>.internal``, and the maps of its streams.

What is written there was in the target's log before, so a note is never ahead of the truth. Notes that are
lost are found again in the log (:mod:`kafkatx.mirror.copy.recovery`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
from twisted.internet.defer import Deferred

from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.mirror.copy.gather import gather
from kafkatx.mirror.copy.target_log import TargetLog
from kafkatx.mirror.core.map_records import (
    Journal,
    Position,
    StreamRecords,
    position_record,
    runs_key,
    take,
    topic_name,
)
from kafkatx.mirror.core.offset_map import OffsetMap
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.records.conversion import batches, iter_any
from kafkatx.types import TopicPartition

Send = Callable[[str, "bytes", "bytes | None"], Deferred[object]]
"""Sends a record to a topic's partition 0: topic, key, value."""


@attrs.define(eq=False)
class StreamNotes:
    """Everything known of one stream.

    :ivar chunks: target offsets after the last run of each record in the topic, by its first.
    :ivar written: the position that the topic has.
    """

    offset_map: OffsetMap
    journal: Journal
    chunks: dict[int, int]
    written: Position | None


async def read_notes(log: TargetLog, alias: str) -> dict[StreamId, StreamRecords]:
    """Read everything that a source's topic has; nothing if there is no such topic.

    :raises KafkaTXError: it cannot be read.
    """
    place = TopicPartition(topic_name(alias), 0)
    found: dict[StreamId, StreamRecords] = {}
    try:
        at, end = await log.ends(place)
    except UnknownTopic:
        return found
    while at < end:
        before = at
        data = await log.read(place, at)
        for span in batches(data):
            for record in iter_any(data[span.position : span.position + span.size]):
                if record.offset >= before:
                    take(found, record.key, record.value)
            at = max(at, span.last_offset + 1)
        if at == before:
            break
    return found


class Notes:
    """The notes of one source."""

    def __init__(self, alias: str, log: TargetLog, send: Send, map_runs: int) -> None:
        """Make empty notes; :meth:`load` reads them.

        :param map_runs: the most runs of all maps in memory.
        """
        self.topic = topic_name(alias)
        self._alias = alias
        self._log = log
        self._send = send
        self._map_runs = map_runs
        self._streams: dict[StreamId, StreamNotes] = {}
        self._pending: list[tuple[bytes, bytes | None]] = []
        self._size = 0

    async def load(self) -> None:
        """Read what the topic has.

        :raises KafkaTXError: it cannot be read.
        """
        for stream, records in (await read_notes(self._log, self._alias)).items():
            chunks = {first: runs[-1].target_end for first, runs in records.chunks.items()}
            self._streams[stream] = StreamNotes(
                records.offset_map(), Journal(stream), chunks, records.position
            )
        self._bound()

    def of(self, stream: StreamId) -> StreamNotes:
        """Return the notes of a stream."""
        notes = self._streams.get(stream)
        if notes is None:
            notes = self._streams[stream] = StreamNotes(OffsetMap(), Journal(stream), {}, None)
        return notes

    def position(self, stream: StreamId) -> Position | None:
        """Return the position that the topic has."""
        return self.of(stream).written

    def lost(self, stream: StreamId, end: int) -> None:
        """Forget the copies from a target offset on: the log does not have them any more.

        The position goes, too. If a new leader's high watermark was only late, the next recovery reads the
        whole log, and finds the copies again.
        """
        notes = self.of(stream)
        notes.written = None
        notes.offset_map.forget_from(end)
        notes.journal = Journal(stream)
        gone = [first for first, chunk_end in notes.chunks.items() if chunk_end > end]
        kept = [run for run in notes.offset_map if any(run.target_end > first for first in gone)]
        for first in gone:
            del notes.chunks[first]
            self._pending.append((runs_key(stream, first), None))
        for run in kept:
            notes.journal.add_run(run)

    def copied(self, stream: StreamId, sources: Sequence[int], target: int) -> None:
        """Add copies, whose target offsets follow each other."""
        notes = self.of(stream)
        before = len(notes.offset_map)
        notes.offset_map.add_offsets(sources, target)
        notes.journal.add(sources, target)
        self._size += len(notes.offset_map) - before
        if self._size > self._map_runs:
            self._bound()

    def _bound(self) -> None:
        """Keep the maps within their share of memory."""
        self._size = sum(len(notes.offset_map) for notes in self._streams.values())
        if self._size > self._map_runs:
            share = self._map_runs // len(self._streams)
            for notes in self._streams.values():
                notes.offset_map.bound(share)
            self._size = sum(len(notes.offset_map) for notes in self._streams.values())

    async def note(self, stream: StreamId, position: Position) -> None:
        """Write a position at once.

        :raises KafkaTXError: it is not written.
        """
        key, value = position_record(stream, position)
        await self._send(self.topic, key, value)
        self.of(stream).written = position

    async def flush(self, positions: Mapping[StreamId, Position]) -> None:
        """Write all that is new; what fails is written again with the next call.

        :param positions: how far the streams are.
        :raises KafkaTXError: something is not written.
        """
        records = self._pending
        for stream in positions:
            notes = self.of(stream)
            for (key, value), first, end in notes.journal.take():
                notes.chunks[first] = end
                records.append((key, value))
        moved = {
            stream: position
            for stream, position in positions.items()
            if position.source >= 0 and position != self.of(stream).written
        }
        records += [position_record(stream, position) for stream, position in moved.items()]
        self._pending = list(dict(records).items())  # of one key the last one
        sending = self._pending
        if sending:
            await gather([self._send(self.topic, key, value) for key, value in sending])
        self._pending = []
        for stream, position in moved.items():
            self.of(stream).written = position

    def forget_deleted(self, streams: Iterable[StreamId], starts: Mapping[TopicPartition, int]) -> None:
        """Take back pairs of offsets whose copies the target has deleted, with the next :meth:`flush`.

        :param starts: the first offset of each of the target's logs.
        """
        for stream in streams:
            start = starts.get(TopicPartition(stream.target, stream.partition), 0)
            notes = self.of(stream)
            notes.offset_map.forget_before(start)
            for first in [first for first, end in notes.chunks.items() if end <= start]:
                del notes.chunks[first]
                self._pending.append((runs_key(stream, first), None))
