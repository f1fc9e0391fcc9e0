"""Checks the indexes of aborted transactions against the log; see :mod:`kafkatx.log.transactions.aborted`.

Compaction may remove the records of a transaction and leave its entry, and the log may begin within one. So
an entry needs the marker that it names, but its first offset may be before the first one that is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.log.files import Files
from kafkatx.log.inspect.faults import Fault, Remedy
from kafkatx.log.inspect.paths import base_offsets, segment_path
from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.segment.scan import Shallow
from kafkatx.log.transactions.aborted import AbortedTransaction, decode_aborted
from kafkatx.records.batch import Record
from kafkatx.records.control import ABORT, kind_of_marker
from kafkatx.records.header import CONTROL, TRANSACTIONAL


class TransactionCheck:
    """The check of a partition's indexes of transactions; its batches are passed in their order.

    :param exact: the log begins at offset 0 and was never compacted: all values must be right.
    """

    def __init__(self, files: Files, directory: str, exact: bool) -> None:
        self._files = files
        self._directory = directory
        self._exact = exact
        self._open: dict[int, int] = {}
        self._markers: set[tuple[int, int]] = set()
        self._aborted: list[AbortedTransaction] = []

    def feed(self, batch: Shallow, records: Callable[[Shallow], Iterable[Record]]) -> None:
        """Note a batch.

        :param records: returns the records of one.
        """
        producer_id, offset = batch.producer_id, batch.base_offset
        if producer_id < 0 or not batch.attributes & TRANSACTIONAL:
            return
        if not batch.attributes & CONTROL:
            self._open.setdefault(producer_id, offset)
            return
        try:
            kinds = [kind_of_marker(record) for record in records(batch)]
        except (CorruptRecords, UnsupportedCompression):
            return  # the log treats it as no marker, too
        if kinds and kinds[0] is not None:
            first = self._open.pop(producer_id, -1)
            if kinds[0] == ABORT:
                self._markers.add((producer_id, offset))
            if kinds[0] == ABORT and first >= 0:
                stable = next(iter(self._open.values()), offset + 1)
                self._aborted.append(AbortedTransaction(producer_id, first, offset, stable))

    def fault(self, base_offset: int) -> Fault | None:
        """Return the fault of the index of a segment, all of whose batches were passed."""
        path = segment_path(self._directory, base_offset, "txnindex")
        aborted, markers = self._aborted, self._markers
        self._aborted, self._markers = [], set()
        try:
            entries = decode_aborted(self._files.read(path) or b"")
        except IndexDamaged as error:
            return Fault(path, None, str(error), Remedy.TRANSACTIONS)
        problem = self._problem(entries, aborted, markers)
        return Fault(path, None, problem, Remedy.TRANSACTIONS) if problem else None

    def _problem(
        self,
        entries: list[AbortedTransaction],
        aborted: list[AbortedTransaction],
        markers: set[tuple[int, int]],
    ) -> str:
        found = {(one.producer_id, one.last_offset): one for one in aborted}
        for entry in entries:
            name = entry.producer_id, entry.last_offset
            whose = f"of producer {entry.producer_id}, with the marker at offset {entry.last_offset}"
            expected = found.pop(name, None)
            if name not in markers:
                return f"the log has no aborted transaction {whose}"
            if expected is None:
                continue
            if entry.first_offset > expected.first_offset or (self._exact and entry != expected):
                return f"it has {entry[1::2]} of the transaction {whose}, which are {expected[1::2]}"
        if found:
            producer_id, offset = next(iter(found))
            return f"the aborted transaction of producer {producer_id} is missing, which ends at {offset}"
        return ""


def rebuild(files: Files, directory: str) -> None:
    """Write the indexes of transactions of a partition by the batches of its log."""
    from kafkatx.log.recovery.producer_snapshots import replayed
    from kafkatx.log.recovery.transactions import AbortedRecovery
    from kafkatx.log.segment.segment import LogSegment

    segments = [
        LogSegment(files, directory, base, files.size(segment_path(directory, base, "log")), 0)
        for base in base_offsets(directory, "log")
    ]
    if segments:
        start, end = segments[0].base_offset, segments[-1].next_offset()
        loaded = replayed(segments, None, start, end, 0)
        AbortedRecovery(files, directory, segments, end, start, loaded, 0).aborted()
