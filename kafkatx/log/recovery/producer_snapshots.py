"""Recovery of the producers' state: the latest snapshot, and a replay of the batches after it. Blocks."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from twisted.logger import Logger

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.producer_state import ProducerState, ProducerStateManager, SnapshotDamaged, decode_snapshot
from kafkatx.log.segment.files import LOG, SNAPSHOT, file_name
from kafkatx.log.segment.scan import Shallow
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.transactions.ended import EndedTransaction, replay

_log = Logger()
_NAME = re.compile(r"(\d{20})\.snapshot")


class LoadedProducers(NamedTuple):
    """The state of a log's producers.

    :ivar start_offset: the snapshot's; the batches from here on were replayed.
    :ivar ended: the transactions that ended among these.
    """

    producers: ProducerStateManager
    start_offset: int
    ended: list[EndedTransaction]


def load_producers(
    files: Files, directory: str, segments: Sequence[LogSegment], end_offset: int, now_ms: int
) -> LoadedProducers:
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
    return replayed(segments, states, start_offset, end_offset, now_ms)


def load_earlier_producers(
    files: Files, directory: str, segments: Sequence[LogSegment], offset: int, end_offset: int, now_ms: int
) -> LoadedProducers:
    """Return the producers' state at *end_offset*, after a replay that begins at *offset* or before it."""
    for start_offset in sorted(_snapshots(files.names(directory)), reverse=True):
        if segments[0].base_offset <= start_offset <= offset:
            path = os.path.join(directory, file_name(start_offset, SNAPSHOT))
            try:
                states = decode_snapshot(files.read(path) or b"")
            except SnapshotDamaged:
                continue
            return replayed(segments, states, start_offset, end_offset, now_ms)
    return replayed(segments, None, segments[0].base_offset, end_offset, now_ms)


def replayed(
    segments: Sequence[LogSegment],
    states: dict[int, ProducerState] | None,
    start_offset: int,
    end_offset: int,
    now_ms: int,
) -> LoadedProducers:
    """Replay the batches from *start_offset* on."""
    loaded = LoadedProducers(ProducerStateManager(states), start_offset, [])
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if start_offset < (end_offset if last else segments[number + 1].base_offset):
            try:
                _replay(segment, loaded, now_ms)
            except CorruptRecords as error:
                # At worst a producer meets a sequence gap; readers get CORRUPT_MESSAGE.
                _log.warn("{path}: {error}", path=segment.path(LOG), error=error)
    return loaded


def _replay(segment: LogSegment, loaded: LoadedProducers, now_ms: int) -> None:
    first = segment.find(max(loaded.start_offset, segment.base_offset))
    if first is None:
        return
    for batch in segment.walk(first.position):
        ended = _replay_batch(segment, batch, loaded.producers, now_ms)
        if ended is not None:
            loaded.ended.append(ended)


def _replay_batch(
    segment: LogSegment, batch: Shallow, producers: ProducerStateManager, now_ms: int
) -> EndedTransaction | None:
    try:
        return replay(producers, batch, lambda: segment.read_batch(batch), now_ms)
    except CorruptRecords as error:
        _log.warn(
            "{path}: the control batch at offset {offset} ends no transaction: {error}",
            path=segment.path(LOG),
            offset=batch.base_offset,
            error=error,
        )
        return None


def _snapshots(names: list[str]) -> list[int]:
    """Return the offsets in the names of the snapshots."""
    return [int(match[1]) for match in map(_NAME.fullmatch, names) if match]
