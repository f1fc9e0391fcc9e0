"""The loader of a partition of an internal topic: it reads from the start, in a worker, in pieces.

Only the last record of each key is kept, as compaction would do: so memory is bounded by the present state of
the coordinator, however long its history, and the reactor thread has the least work. It touches the log and
the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import CorruptRecords, ErrorCode, KafkaTXError, RequestError
from kafkatx.interfaces import Worker
from kafkatx.records import conversion
from kafkatx.types import FileSlice, Records

ReplayRecord = Callable[[bytes, "bytes | None"], None]
"""Takes a key and a value; raises KafkaTXError for a record that it cannot read."""

READ_BYTES = 1 << 20
"""The size of one read."""

AT_ONCE = 1000
"""Records that are replayed in one turn of the reactor: a few milliseconds."""

_log = Logger()


class _Latest:
    """The last value of every key of one partition, and a count of unreadable records."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
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
            keys: list[bytes | None] = []
            values: list[bytes | None] = []
            try:
                conversion.read_columns(view[span.position : span.position + span.size], [], [], keys, values)
            except RequestError as error:  # the records, or a codec that is not installed
                self.fault(f"the batch at offset {span.base_offset}: {error}")
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    self.values.pop(key, None)  # so that it moves to the end
                    self.values[key] = value
            next_offset = span.last_offset + 1
        return next_offset


async def load_partition(
    partition: Partition, end: int, worker: Worker, clock: IReactorTime, replay: ReplayRecord
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


async def _replay_all(latest: _Latest, clock: IReactorTime, replay: ReplayRecord) -> None:
    values = iter(latest.values.items())
    while piece := list(islice(values, AT_ONCE)):
        for key, value in piece:
            _replay_one(latest, replay, key, value)
        if len(piece) == AT_ONCE:
            await deferLater(clock, 0)


def _replay_one(latest: _Latest, replay: ReplayRecord, key: bytes, value: bytes | None) -> None:
    try:
        replay(key, value)
    except KafkaTXError as error:
        latest.fault(str(error))
    except Exception:
        latest.fault("see the traceback above")
        _log.failure("a record could not be replayed")
