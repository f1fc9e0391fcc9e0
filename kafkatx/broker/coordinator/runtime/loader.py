"""The loader of a partition of an internal topic: it reads from the start, in a worker, in pieces.

Only the last record of each key is kept, as compaction would do: so memory is bounded by the present state of
the coordinator, however long its history, and the reactor thread has the least work. The records of a
transaction count if its commit follows, from the place on where they were written; those of an open one are
replayed as pending. It touches the log and the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import CorruptRecords, ErrorCode, KafkaTXError, RequestError
from kafkatx.interfaces import Worker
from kafkatx.records import conversion
from kafkatx.records.batch import MAGIC, parse_header
from kafkatx.records.control import read_marker
from kafkatx.types import FileSlice, Records


class ReplayRecords(Protocol):
    """Takes the records that count."""

    def __call__(self, key: bytes, value: bytes | None) -> None:
        """Replay the last record of a key.

        :raises KafkaTXError: it cannot be read.
        """

    def pending(self, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Replay the last record of a key in an open transaction.

        :raises KafkaTXError: it cannot be read.
        """


READ_BYTES = 1 << 20
"""The size of one read."""

AT_ONCE = 1000
"""Records that are replayed in one turn of the reactor: a few milliseconds."""

_log = Logger()


class _Latest:
    """The last value of every key of one partition, and a count of unreadable records.

    :ivar values: those that count.
    :ivar opened: those of open transactions, by producer id, with their place in the order of the log.
    """

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self.opened: dict[int, dict[bytes, tuple[int, bytes | None]]] = {}
        self.faults = 0
        self.first_fault = ""

    def fault(self, what: str) -> None:
        """Count an unreadable record or batch."""
        self.faults += 1
        self.first_fault = self.first_fault or what

    def take(self, records: Records) -> int:
        """Add the records of whole batches; return the next offset. Called in the worker.

        :raises OSError: the records cannot be read from the disk.
        :raises CorruptRecords: the end of a batch cannot be found.
        """
        view = memoryview(records.tobytes() if isinstance(records, FileSlice) else records)
        next_offset = -1
        for span in conversion.batches(view):
            try:
                self._take_batch(view[span.position : span.position + span.size], span)
            except RequestError as error:  # the records, or a codec that is not installed
                self.fault(f"the batch at offset {span.base_offset}: {error}")
            next_offset = span.last_offset + 1
        return next_offset

    def _take_batch(self, batch: memoryview, span: conversion.Span) -> None:
        """Add the records of one batch.

        :raises RequestError: it cannot be read; the records before the fault are added.
        """
        header = parse_header(batch) if span.magic == MAGIC else None
        if header is not None and header.control:
            marker = read_marker(batch)
            if marker is not None:
                self._end(header.producer_id, marker.committed)
            return
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        try:
            conversion.read_columns(batch, [], [], keys, values)
        finally:
            records = [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
            if header is not None and header.transactional:
                opened = self.opened.setdefault(header.producer_id, {})
                opened.update((key, (span.base_offset, value)) for key, value in records)
            else:
                for key, value in records:
                    self._put(key, value, span.base_offset)

    def _put(self, key: bytes, value: bytes | None, at: int) -> None:
        """Set a value that counts; what open transactions have written before it never will."""
        self.values.pop(key, None)  # so that it moves to the end
        self.values[key] = value
        for records in self.opened.values():
            if key in records and records[key][0] < at:
                del records[key]

    def _end(self, producer_id: int, committed: bool) -> None:
        """End a transaction: its records count, or never did."""
        records = self.opened.pop(producer_id, {})
        if committed:
            for key, (at, value) in records.items():
                self._put(key, value, at)


async def load_partition(
    partition: Partition, end: int, worker: Worker, clock: IReactorTime, replay: ReplayRecords
) -> bool:
    """Replay one partition; return True if it could be read. Unreadable records are skipped.

    :param end: the offset to stop at, exclusive.
    """
    latest = _Latest()
    try:
        await _read(partition, end, worker, latest)
    except (OSError, RequestError) as error:
        _log.error("{partition} cannot be loaded: {error}", partition=partition.topic_partition, error=error)
        return False
    await _replay_all(latest, clock, replay)
    if latest.faults:
        _log.warn(
            "{count} unreadable records or batches of {partition} were skipped; the first: {fault}",
            count=latest.faults,
            partition=partition.topic_partition,
            fault=latest.first_fault,
        )
    return True


async def _read(partition: Partition, end: int, worker: Worker, latest: _Latest) -> None:
    log = partition.log
    if partition.offline:
        raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "its log dir is offline")
    offset = log.log_start_offset
    while offset < end:
        warming = log.warm(offset, READ_BYTES)
        if warming is not None:
            await warming
        records = log.read(offset, READ_BYTES, end, True)
        if not len(records):
            break  # compaction has removed the last offsets
        try:
            next_offset = await worker(partial(latest.take, records))
        except CorruptRecords as error:
            latest.fault(f"everything from offset {offset} on: {error}")
            break
        offset = max(next_offset, offset + 1)


async def _replay_all(latest: _Latest, clock: IReactorTime, replay: ReplayRecords) -> None:
    calls: Iterator[tuple[Callable[..., None], tuple[object, ...]]] = chain(
        ((replay, record) for record in latest.values.items()),
        ((replay.pending, record) for record in _pending_in_order(latest)),
    )
    while piece := list(islice(calls, AT_ONCE)):
        for call, arguments in piece:
            _replay_one(latest, call, *arguments)
        if len(piece) == AT_ONCE:
            await deferLater(clock, 0)


def _pending_in_order(latest: _Latest) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Yield producer id, key and value of the records of open transactions, in the order of the log."""
    found = [
        (at, producer_id, key, value)
        for producer_id, records in latest.opened.items()
        for key, (at, value) in records.items()
    ]
    found.sort(key=lambda one: one[0])
    return (one[1:] for one in found)


def _replay_one(latest: _Latest, replay: Callable[..., None], *arguments: object) -> None:
    try:
        replay(*arguments)
    except KafkaTXError as error:
        latest.fault(str(error))
    except Exception:
        latest.fault("see the traceback above")
        _log.failure("a record could not be replayed")
