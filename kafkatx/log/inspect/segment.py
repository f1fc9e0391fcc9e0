"""The check of one segment: its batches one after the other, and its two indexes in parallel. Reads files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.log.files import Files
from kafkatx.log.inspect.batch_check import BatchCheck
from kafkatx.log.inspect.batch_scan import BatchScan, Damage, ScannedBatch
from kafkatx.log.inspect.faults import Cut, Fault, Remedy, Tally
from kafkatx.log.inspect.indexes import OffsetIndexCheck, TimeIndexCheck
from kafkatx.log.inspect.paths import segment_path
from kafkatx.log.inspect.transactions import TransactionCheck
from kafkatx.types import SharedFile

Advance = Callable[[float], None]

_REPORT_BYTES = 1 << 20


class SegmentCheck:
    """The check of a segment; :meth:`faults` runs it once.

    :param batch_check: the check of batch sequence; shared by the segments of a log, as *tally* is.
    :param growing: a broker may be writing to it: an incomplete batch at the end is not a fault.
    :param closed: the segment is not appended to any more.
    :param deep: decode every record.
    :param advance: called with the number of bytes that were checked.
    :param transactions: the check of transactions; shared by the segments of a log.
    :ivar being_written: the file ended within a batch that a broker may be writing.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        base_offset: int,
        batch_check: BatchCheck,
        tally: Tally,
        *,
        growing: bool,
        closed: bool,
        deep: bool,
        advance: Advance,
        transactions: TransactionCheck | None = None,
    ) -> None:
        self._transactions = transactions
        self.base_offset = base_offset
        self.being_written = False
        self._path = segment_path(directory, base_offset, "log")
        self._batch_check = batch_check
        self._tally = tally
        self._growing = growing
        self._deep = deep
        self._advance = advance
        self._file: SharedFile = files.open(self._path, os.O_RDONLY)
        self._size = os.fstat(self._file.fileno()).st_size
        self._survey = BatchScan(files, self._file, base_offset, self._size)
        paths = [segment_path(directory, base_offset, suffix) for suffix in ("index", "timeindex")]
        self._index = OffsetIndexCheck(files, paths[0], base_offset, growing)
        self._time_index = TimeIndexCheck(files, paths[1], base_offset, growing, closed)

    def faults(self) -> Iterator[Fault]:
        """Yield every fault of the log, and the first fault of each index unless the log is damaged."""
        self._tally.segments += 1
        if problem := self._batch_check.begin(self.base_offset):
            yield self._fault(0, f"the segment begins wrongly: {problem}", self._batch_check.next_offset)
            self._batch_check.restart(self.base_offset)
        reported, whole = 0, True
        for item in self._survey:
            if isinstance(item, ScannedBatch):
                yield from self._batch(item)
                position = item.batch.position
            else:
                position = item.position
                if self._growing and item.cut_off:
                    self.being_written = True
                    break
                whole = False
                yield self._damage(item)
            if position - reported > _REPORT_BYTES:
                self._advance(position - reported)
                reported = position
        self._advance(self._size - reported)
        self._count_bytes()
        if whole and self._size:
            yield from self._index_faults()

    def _batch(self, seen: ScannedBatch) -> Iterator[Fault]:
        batch_check, batch = self._batch_check, seen.batch
        if self._transactions is not None:
            self._transactions.feed(batch, self._survey.records)
        first_offset = batch_check.first_offset(seen)
        self._index.feed(batch, first_offset)
        self._time_index.feed(batch)
        records, expected = batch_check.count(seen), batch_check.next_offset
        problem = batch_check.take(seen, first_offset)
        if not problem and self._deep:
            problem = self._undecodable(seen)
        if problem:
            yield self._fault(batch.position, problem, expected)
        elif problem := batch_check.epoch_problem(seen):
            yield Fault(self._path, batch.position, problem, Remedy.EPOCHS)
        amount = self._tally.lost if self._tally.cut else self._tally.sound
        amount.batches += 1
        amount.records += records

    def _undecodable(self, seen: ScannedBatch) -> str:
        try:
            for _ in self._survey.records(seen.batch):
                pass
        except (CorruptRecords, UnsupportedCompression) as error:
            return f"the records of the batch cannot be decoded: {error}"
        return ""

    def _damage(self, damage: Damage) -> Fault:
        self._batch_check.lose_track()
        problem = f"{damage.problem}; {damage.size} bytes are passed over"
        return self._fault(damage.position, problem, self._batch_check.next_offset)

    def _fault(self, position: int, problem: str, end_offset: int) -> Fault:
        """Return a fault of the log; a repair cuts at the first one, so that the log ends at *end_offset*."""
        if self._tally.cut is None:
            self._tally.cut = Cut(self.base_offset, position, end_offset)
        return Fault(self._path, position, problem, Remedy.CUT)

    def _count_bytes(self) -> None:
        cut = self._tally.cut
        sound = self._size
        if cut is not None:
            sound = cut.position if cut.base_offset == self.base_offset else 0
        self._tally.sound.bytes += sound
        self._tally.lost.bytes += self._size - sound

    def _index_faults(self) -> Iterator[Fault]:
        self._index.finish(self._size)
        self._time_index.finish()
        transactions = None if self._transactions is None else self._transactions.fault(self.base_offset)
        for fault in (self._index.fault, self._time_index.fault, transactions):
            if fault is not None:
                yield fault
