"""The end of a target partition's log, and what it tells about a mirror's progress. Pure.

A mirror keeps no state beside the target: the log has the producer id, the epoch and the last sequence number
of each stream in its batch headers, and the source offset of each record in its provenance. So a restart goes
on exactly where the log ends, also after ``kill -9`` between the write of a batch and any note about it.

Of a compacted log the last records of a stream may be gone while the header of their batch is still there.
Then the sequence number says how many copied records followed the last one that is left: so many records that
pass the filter are skipped in the source.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kafkatx.mirror.core.map_records import NO_TARGET, Position
from kafkatx.mirror.core.provenance import HEADER, parse
from kafkatx.records import batch as v2
from kafkatx.records.batch import BatchHeader
from kafkatx.records.conversion import batches

SEQUENCES = 1 << 31
"""Sequence numbers run from 0 up to this, exclusive, and then from 0 again."""

NO_SOURCE = -1


@attrs.define
class StreamTail:
    """The last batches of one stream.

    :ivar producer_epoch: of its last batch.
    :ivar next_sequence: the sequence number after its last batch.
    :ivar target: the offset after its last batch.
    :ivar source: the source offset of its last record that is left; -1: none is left.
    :ivar skip: number of copied records that followed it and are not left.
    """

    producer_epoch: int = 0
    next_sequence: int = 0
    target: int = NO_TARGET
    source: int = NO_SOURCE
    skip: int = 0
    _last_sequence: int = -1

    def take(self, header: BatchHeader, sources: list[int], last_index: int) -> None:
        """Take the next batch of the stream.

        :param sources: the source offsets of its records that are left.
        :param last_index: offset delta of the last of them.
        """
        end = (header.base_sequence + header.last_offset_delta + 1) % SEQUENCES
        if header.producer_epoch != self.producer_epoch or self.target == NO_TARGET:
            self.skip = 0
        if sources:
            self.source = sources[-1]
            self._last_sequence = (header.base_sequence + last_index) % SEQUENCES
            self.skip = (end - 1 - self._last_sequence) % SEQUENCES
        elif self.source != NO_SOURCE:
            self.skip += (header.last_offset_delta + 1) % SEQUENCES
        self.producer_epoch = header.producer_epoch
        self.next_sequence = end
        self.target = header.next_offset


@attrs.frozen
class Copied:
    """Copies that were found: source offsets of records whose target offsets follow each other."""

    sources: list[int]
    target: int


class TailScan:
    """Reads a part of a target partition's log, in order, for the streams that write to it.

    :ivar tails: by producer id; only of streams that have batches there.
    :ivar copied: the copies that were found, by producer id, in order of the log.
    :ivar next_offset: the offset to read next.
    """

    def __init__(self, producers: Iterable[int], start: int) -> None:
        """Start at an offset.

        :param producers: producer ids of the streams.
        """
        self._producers = frozenset(producers)
        self.tails: dict[int, StreamTail] = {}
        self.copied: dict[int, list[Copied]] = {}
        self.next_offset = start

    def feed(self, data: memoryview) -> int:
        """Take a fetched piece of the log; return the number of bytes in whole batches.

        :raises CorruptRecords: a batch of a stream is damaged.
        """
        used = 0
        for span in batches(data):
            used = span.position + span.size
            if span.last_offset < self.next_offset:
                continue
            if span.magic == v2.MAGIC:
                header = v2.parse_header(data, span.position)
                if header.producer_id in self._producers and not header.control:
                    self._take(header, data[span.position : used])
            self.next_offset = max(self.next_offset, span.last_offset + 1)
        return used

    def _take(self, header: BatchHeader, raw: memoryview) -> None:
        v2.check(raw, 0, header)
        offsets: list[int] = []
        encoded: list[bytes] = []
        v2.read_columns(raw, offsets, [], [], [], encoded_headers=encoded, header=header)
        sources = list(map(source_offset, encoded))
        tail = self.tails.setdefault(header.producer_id, StreamTail())
        tail.take(header, sources, offsets[-1] - header.base_offset if offsets else -1)
        found = self.copied.setdefault(header.producer_id, [])
        first = 0
        for at in range(1, len(offsets) + 1):
            if at == len(offsets) or offsets[at] != offsets[at - 1] + 1:
                found.append(Copied(sources[first:at], offsets[first]))
                first = at


def source_offset(encoded_headers: bytes) -> int:
    """Return the source offset that a copy's last provenance header names; -1 if it has none."""
    for name, value in reversed(v2.decode_headers(encoded_headers)):
        if name == HEADER:
            place = parse(value)
            return NO_SOURCE if place is None else place.offset
    return NO_SOURCE


@attrs.frozen
class Resumption:
    """The place where a stream goes on.

    :ivar position: the next source offset (-1: nothing was ever copied), and the producer's next number.
    :ivar skip: number of records that pass the filter and are copied already.
    """

    position: Position
    skip: int = 0


def resume(known: Position | None, tail: StreamTail | None, producer_id: int, topic_id: str) -> Resumption:
    """Decide where a stream goes on.

    :param known: the position that the mirror's topic has; None: none, or the log is no longer the one that
        it is about.
    :param tail: what was found in the log from that position on.
    """
    if tail is None:
        if known is None:
            return Resumption(Position(NO_SOURCE, producer_id=producer_id, topic_id=topic_id))
        return Resumption(attrs.evolve(known, topic_id=topic_id))
    if tail.source != NO_SOURCE:
        source, skip = tail.source + 1, tail.skip
    elif known is not None:  # of all that was written since, only the headers are left
        source, skip = known.source, (tail.next_sequence - known.sequence) % SEQUENCES
    else:
        source, skip = NO_SOURCE, tail.next_sequence
    position = Position(
        source, tail.target, producer_id, tail.producer_epoch, tail.next_sequence, topic_id or ""
    )
    return Resumption(position, skip)
