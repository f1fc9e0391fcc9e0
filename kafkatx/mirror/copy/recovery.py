"""The recovery of streams from the log of their target partition: where each of them goes on.

The log decides; the positions in the mirror's own topic only say from where on it has to be read. A position
that the log contradicts (its topic was made anew, or an unclean election cut it) does not count.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kafkatx.errors import KafkaTXError
from kafkatx.mirror.copy.target_log import READ_BYTES, TargetLog
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.tail import Copied, Resumption, TailScan, resume
from kafkatx.records import batch as v2
from kafkatx.records.conversion import batches
from kafkatx.types import TopicPartition

MAX_BATCH_BYTES = 1 << 30


class TooMuchToRead(KafkaTXError):
    """More of a log would have to be read than ``recovery.max.bytes`` allows."""

    def __init__(self, place: TopicPartition, max_bytes: int) -> None:
        super().__init__(
            f"{place}: the last copies were not found within recovery.max.bytes={max_bytes} of the target's "
            "log; increase that setting, or delete the topic in the target to copy it again"
        )


@attrs.frozen
class Recovered:
    """The result for one stream.

    :ivar copied: copies that the mirror's topic may not have pairs of offsets for.
    :ivar lost: true if the mirror's topic told of copies that the log does not have any more.
    :ivar end: the target log's end, up to which it was read.
    :ivar topic_id: of the source's topic when it was copied last; empty if that is not known.
    """

    resumption: Resumption
    copied: list[Copied]
    lost: bool
    end: int
    topic_id: str = ""


async def recover(
    log: TargetLog,
    place: TopicPartition,
    known: Mapping[int, Position | None],
    topic_ids: Mapping[int, str],
    max_bytes: int,
) -> dict[int, Recovered]:
    """Find out where the streams of a target partition go on.

    :param known: the positions of the streams, by producer id; None: none is known.
    :param topic_ids: ids of the source topics, likewise.
    :raises TooMuchToRead: see there.
    :raises KafkaTXError: the log cannot be read.
    """
    start, end = await log.ends(place)
    valid: dict[int, Position | None] = {}
    for producer, position in known.items():
        holds = position is not None and await _holds(log, place, producer, position, start, end)
        valid[producer] = position if holds else None
    first = min((start if at is None else max(start, at.target) for at in valid.values()), default=end)
    scan = await _scan(log, place, valid, first, end, max_bytes)
    found = {}
    for producer, position in valid.items():
        tail = scan.tails.get(producer)
        found[producer] = Recovered(
            resume(position, tail, producer, topic_ids[producer]),
            scan.copied.get(producer, []),
            known[producer] is not None and position is None,
            end,
            "" if position is None else position.topic_id,
        )
    return found


async def _holds(
    log: TargetLog, place: TopicPartition, producer: int, position: Position, start: int, end: int
) -> bool:
    """Return True if the log is still the one that a position is about."""
    if not 0 <= position.target <= end:
        return False
    last = position.target - 1
    if not position.sequence or last < start:
        return True
    for span in batches(data := await _whole(log, place, last)):
        if span.base_offset > last:
            return True  # compacted away
        if span.last_offset < last:
            continue
        if span.magic != v2.MAGIC:
            return False
        header = v2.parse_header(data, span.position)
        ends_here = span.last_offset == last
        number = (header.base_sequence + header.last_offset_delta + 1) & 0x7FFFFFFF
        return ends_here and header.producer_id == producer and number == position.sequence
    return False


async def _whole(log: TargetLog, place: TopicPartition, offset: int) -> memoryview:
    """Return at least one whole batch."""
    size = READ_BYTES
    while True:
        data = await log.read(place, offset, size)
        if not data or any(True for _ in batches(data)) or size >= MAX_BATCH_BYTES:
            return data
        size *= 4  # a broker before Fetch 3 cuts off a batch above the limit


async def _scan(
    log: TargetLog,
    place: TopicPartition,
    producers: Mapping[int, object],
    first: int,
    end: int,
    max_bytes: int,
) -> TailScan:
    scan = TailScan(producers, first)
    read = 0
    while scan.next_offset < end:
        before = scan.next_offset
        data = await _whole(log, place, before)
        read += scan.feed(data)
        if scan.next_offset == before:
            if data:
                raise KafkaTXError(f"{place}: the batch at offset {before} cannot be read whole")
            break  # the rest was compacted away, or the log was cut meanwhile
        if read > max_bytes and scan.next_offset < end:
            raise TooMuchToRead(place, max_bytes)
    return scan


async def read_back(log: TargetLog, place: TopicPartition, producer: int, offset: int) -> list[Copied]:
    """Return the copies of a stream in the batch at an offset, and perhaps in the following ones."""
    scan = TailScan([producer], offset)
    scan.feed(await _whole(log, place, offset))
    return scan.copied.get(producer, [])
