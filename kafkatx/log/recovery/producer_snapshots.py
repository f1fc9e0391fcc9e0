"""Recovery of the producers' state: the latest snapshot, and a replay of the batches after it. Blocks."""

from __future__ import annotations

import os
import re

from twisted.logger import Logger

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.producer_state import ProducerState, ProducerStateManager, SnapshotDamaged, decode_snapshot
from kafkatx.log.segment.files import LOG, SNAPSHOT, file_name
from kafkatx.log.segment.segment import LogSegment
from kafkatx.records.header import CONTROL, TRANSACTIONAL
from kafkatx.types import NO_PRODUCER_ID

_log = Logger()
_NAME = re.compile(r"(\d{20})\.snapshot")


def load_producers(
    files: Files, directory: str, segments: list[LogSegment], end_offset: int, now_ms: int
) -> ProducerStateManager:
    """Return the producers' state at *end_offset*.

    Snapshots beyond the end, invalid ones, and older ones without a segment are removed.
    """
    states: dict[int, ProducerState] | None = None
    start_offset = segments[0].base_offset
    bases = {segment.base_offset for segment in segments}
    for offset in sorted(_snapshots(files.names(directory)), reverse=True):
        path = os.path.join(directory, file_name(offset, SNAPSHOT))
        if states is None and offset <= end_offset:
            try:
                states, start_offset = decode_snapshot(files.read(path) or b""), offset
            except SnapshotDamaged:
                files.unlink(path)
        elif states is None or offset not in bases:
            files.unlink(path)
    if start_offset < segments[0].base_offset:
        # Records after the snapshot were deleted before the next snapshot was written: the sequences of
        # their producers would be wrong. Only producers of deleted records are forgotten.
        states, start_offset = None, segments[0].base_offset
    producers = ProducerStateManager(states)
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if start_offset < (end_offset if last else segments[number + 1].base_offset):
            try:
                _replay(segment, start_offset, producers, now_ms)
            except CorruptRecords as error:
                # At worst a producer meets a sequence gap; readers get CORRUPT_MESSAGE.
                _log.warn("{path}: {error}", path=segment.path(LOG), error=error)
    return producers


def _replay(segment: LogSegment, start_offset: int, producers: ProducerStateManager, now_ms: int) -> None:
    first = segment.find(max(start_offset, segment.base_offset))
    if first is None:
        return
    for batch in segment.walk(first.position):
        if batch.producer_id != NO_PRODUCER_ID and batch.base_sequence >= 0:
            producers.record(
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                batch.base_offset,
                batch.last_offset,
                now_ms,
            )
        if batch.attributes & TRANSACTIONAL:
            producers.note_transaction(batch.producer_id, batch.base_offset, batch.attributes & CONTROL != 0)


def _snapshots(names: list[str]) -> list[int]:
    """Return the offsets in the names of the snapshots."""
    return [int(match[1]) for match in map(_NAME.fullmatch, names) if match]
