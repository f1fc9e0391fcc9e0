"""The log of the registry: it reads a partition from the start, and keeps a state of what is committed.

Records are read and decoded in a worker, and applied in the reactor's thread, some at a time. It touches the
log and the clock.
"""

from __future__ import annotations

from functools import partial

import attrs
from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import CorruptRecords, RequestError
from kafkatx.interfaces import Worker
from kafkatx.records import conversion
from kafkatx.registry.errors import store_error
from kafkatx.registry.records import Record, UnreadableRecord, decode
from kafkatx.registry.state import RegistryState
from kafkatx.types import FileSlice, Records

READ_BYTES = 1 << 20
"""The size of one read."""

AT_ONCE = 1000
"""Records that are applied in one turn of the reactor: a few milliseconds."""


@attrs.define
class _Decoded:
    """Records of one read.

    :ivar next_offset: the offset to go on from; -1: there was no whole batch.
    """

    records: list[Record] = attrs.Factory(list)
    next_offset: int = -1
    faults: int = 0
    first_fault: str = ""

    def fault(self, what: str) -> None:
        self.faults += 1
        self.first_fault = self.first_fault or what


def decode_records(records: Records) -> _Decoded:
    """Decode whole batches; what cannot be read is counted. Called in a worker.

    :raises OSError: the records cannot be read from the disk.
    :raises CorruptRecords: the end of a batch cannot be found.
    """
    decoded = _Decoded()
    view = memoryview(records.tobytes() if isinstance(records, FileSlice) else records)
    for span in conversion.batches(view):
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        try:
            conversion.read_columns(view[span.position : span.position + span.size], [], [], keys, values)
        except RequestError as error:  # the records, or a codec that is not installed
            decoded.fault(f"the batch at offset {span.base_offset}: {error}")
        for key, value in zip(keys, values, strict=True):
            try:
                decoded.records.append(decode(key or b"", value))
            except UnreadableRecord as error:
                decoded.fault(str(error))
        decoded.next_offset = span.last_offset + 1
    return decoded


class RegistryLog:
    """The committed records of a partition that this broker leads, in one leader epoch.

    :ivar state: the state, up to :attr:`applied`.
    :ivar applied: the offset after the last record that was applied.
    """

    _log = Logger()

    def __init__(self, partition: Partition, worker: Worker, clock: IReactorTime) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.state = RegistryState()
        self.applied = partition.log.log_start_offset
        self._worker = worker
        self._clock = clock
        self._reading = DeferredLock()

    @property
    def current(self) -> bool:
        """True if everything committed is applied, and this broker leads in the same epoch still."""
        return self.leads and self.applied >= self.partition.high_watermark

    @property
    def leads(self) -> bool:
        """True if this broker leads the partition in the same epoch still."""
        partition = self.partition
        return partition.leads and not partition.error and partition.leader_epoch == self.leader_epoch

    async def catch_up(self) -> None:
        """Apply everything that is committed by now.

        :raises RegistryError: the log cannot be read.
        """
        await self._reading.acquire()
        try:
            end = self.partition.high_watermark
            while self.leads and self.applied < end:
                await self._step(end)
        finally:
            self._reading.release()

    async def _step(self, end: int) -> None:
        log = self.partition.log
        if self.applied < log.log_start_offset:  # a client has deleted records
            self.state = RegistryState()
            self.applied = log.log_start_offset
        try:
            warming = log.warm(self.applied, READ_BYTES)
            if warming is not None:
                await warming
            records = log.read(self.applied, READ_BYTES, end, True)
            if not len(records):
                self.applied = end  # compaction has removed the last offsets
                return
            decoded = await self._worker(partial(decode_records, records))
        except (OSError, RequestError, CorruptRecords) as error:
            raise store_error(f"{self.partition.topic_partition} cannot be read: {error}") from None
        await self._apply(decoded.records)
        self.applied = max(decoded.next_offset, self.applied + 1)
        if decoded.faults:
            self._log.warn(
                "{count} records of {partition} are no schema registry's, or damaged, and were skipped;"
                " the first: {fault}",
                count=decoded.faults,
                partition=self.partition.topic_partition,
                fault=decoded.first_fault,
            )

    async def _apply(self, records: list[Record]) -> None:
        apply = self.state.apply
        for first in range(0, len(records), AT_ONCE):
            if first:
                await deferLater(self._clock, 0)
            for record in records[first : first + AT_ONCE]:
                apply(record)
