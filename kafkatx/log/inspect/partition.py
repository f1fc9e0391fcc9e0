"""The check of one partition: every segment, snapshot and checkpoint in its directory. Reads files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kafkatx.log.checkpoint import (
    LEADER_EPOCHS,
    PARTITION_METADATA,
    CheckpointDamaged,
    decode_epochs,
    decode_partition_metadata,
)
from kafkatx.log.files import Files
from kafkatx.log.inspect.batch_check import BatchCheck
from kafkatx.log.inspect.faults import Fault, Remedy, Tally
from kafkatx.log.inspect.paths import base_offsets, segment_path
from kafkatx.log.inspect.segment import Advance, SegmentCheck
from kafkatx.log.inspect.transactions import TransactionCheck
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import SnapshotDamaged, decode_snapshot

NEVER_SPARSE = -1
ALWAYS_SPARSE = 2**63 - 1


class PartitionCheck:
    """The check of a partition; :meth:`faults` runs it once and sets the attributes.

    :param in_use: a broker may be writing to the last segment, or replacing any segment.
    :param clean: the broker was shut down cleanly, so the last segment's time index is complete.
    :param sparse_below: see :class:`~kafkatx.log.inspect.batch_check.BatchCheck`.
    :param deep: decode every record.
    :param advance: called with the number of bytes that were checked.
    :ivar end_offset: the offset after the last complete batch.
    :ivar notes: remarks that are not faults.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        *,
        in_use: bool = False,
        clean: bool = False,
        sparse_below: int = NEVER_SPARSE,
        deep: bool = False,
        advance: Advance = lambda amount: None,
    ) -> None:
        self.directory = directory
        self.tally = Tally()
        self.bases = base_offsets(directory, "log")
        self.end_offset = self.bases[0] if self.bases else 0
        self.notes: list[str] = []
        self._files = files
        self._in_use = in_use
        self._clean = clean
        self._sparse_below = sparse_below
        self._deep = deep
        self._advance = advance
        exact = self.end_offset == 0 and sparse_below == NEVER_SPARSE
        self._transactions = None if in_use else TransactionCheck(files, directory, exact)

    def size(self) -> int:
        """Return the number of bytes to check."""
        return sum(self._files.size(segment_path(self.directory, base, "log")) for base in self.bases)

    def faults(self) -> Iterator[Fault]:
        """Check everything; yield each fault when it is found.

        :raises OSError: a file cannot be read.
        """
        epochs = self.read_epochs()
        if isinstance(epochs, Fault):
            yield epochs
            epochs = None
        batch_check = BatchCheck(epochs, self._sparse_below, self.end_offset)
        for base_offset in self.bases:
            yield from self._segment(base_offset, batch_check)
        self.end_offset = batch_check.next_offset
        if self._in_use:
            return
        if epochs is not None and epochs.entries and self._beyond(epochs.entries[-1][1]):
            epoch, start = epochs.entries[-1]
            yield self._epochs_fault(
                f"epoch {epoch} begins at offset {start}, the log ends at {self.end_offset}"
            )
        yield from self._orphans()
        yield from self._snapshots()
        yield from self._metadata()

    def _orphans(self) -> Iterator[Fault]:
        """Yield indexes without their ``.log``: if it is missing a broker does not serve the partition."""
        if self.bases:
            for kind in ("index", "timeindex", "txnindex"):
                for base_offset in base_offsets(self.directory, kind):
                    if self.bases[0] < base_offset and base_offset not in self.bases:
                        path = segment_path(self.directory, base_offset, kind)
                        yield Fault(path, None, f"{base_offset:020d}.log is missing", Remedy.REMOVE)

    def _beyond(self, offset: int) -> bool:
        """Return True if an offset is after the log's end. The end of a damaged log is not known."""
        return self.tally.cut is None and offset > self.end_offset

    def segment_faults(self, base_offset: int) -> Iterator[Fault]:
        """Check one segment alone."""
        epochs = self.read_epochs()
        batch_check = BatchCheck(
            None if isinstance(epochs, Fault) else epochs, self._sparse_below, base_offset
        )
        if self._transactions is not None:  # what was open where it begins is not known
            self._transactions = TransactionCheck(self._files, self.directory, exact=False)
        yield from self._segment(base_offset, batch_check)

    def _segment(self, base_offset: int, batch_check: BatchCheck) -> Iterator[Fault]:
        """Yield the faults of a segment, unless a broker has deleted or replaced it meanwhile."""
        path = segment_path(self.directory, base_offset, "log")
        active = base_offset == self.bases[-1]
        before, cut = self._identities(base_offset), self.tally.cut
        try:
            check = SegmentCheck(
                self._files,
                self.directory,
                base_offset,
                batch_check,
                self.tally,
                growing=active and self._in_use,
                closed=self._clean or not active,
                deep=self._deep,
                advance=self._advance,
                transactions=self._transactions,
            )
        except FileNotFoundError:
            if not self._in_use:
                raise
            self.notes.append(f"{path} went before it was looked at")
            batch_check.lose_track()
            return
        if not self._in_use:
            yield from check.faults()
            return
        found = list(check.faults())
        if check.being_written:
            self.notes.append(f"{path} ends within a batch that is being written")
        if found and self._identities(base_offset) != before:
            self.notes.append(f"{path} was replaced while it was looked at")
            batch_check.lose_track()
            self.tally.cut = cut
            return
        yield from found

    def _identities(self, base_offset: int) -> list[int]:
        paths = [segment_path(self.directory, base_offset, kind) for kind in ("log", "index", "timeindex")]
        return [os.stat(path).st_ino if os.path.exists(path) else 0 for path in paths]

    # --- the small files

    def read_epochs(self) -> LeaderEpochCache | Fault | None:
        """Return the content of ``leader-epoch-checkpoint``, or its fault; None if there is no such file."""
        data = self._files.read(os.path.join(self.directory, LEADER_EPOCHS))
        if not data:  # Apache Kafka makes it empty
            return None
        try:
            return LeaderEpochCache(decode_epochs(data))
        except CheckpointDamaged as error:
            return self._epochs_fault(f"it cannot be read: {error}")

    def _epochs_fault(self, problem: str) -> Fault:
        return Fault(os.path.join(self.directory, LEADER_EPOCHS), None, problem, Remedy.EPOCHS)

    def _snapshots(self) -> Iterator[Fault]:
        for offset in base_offsets(self.directory, "snapshot"):
            path = segment_path(self.directory, offset, "snapshot")
            problem = snapshot_problem(self._files.read(path) or b"", offset)
            if not problem and self._beyond(offset):
                problem = f"it is of offset {offset}, the log ends at {self.end_offset}"
            if problem:
                yield Fault(path, None, problem, Remedy.REMOVE)

    def _metadata(self) -> Iterator[Fault]:
        path = os.path.join(self.directory, PARTITION_METADATA)
        data = self._files.read(path)
        try:
            if data is not None:
                decode_partition_metadata(data)
        except CheckpointDamaged as error:
            yield Fault(path, None, f"it names no topic id: {error}", Remedy.REMOVE)


def snapshot_problem(data: bytes, offset: int) -> str:
    """Return the problem of a producer snapshot that was taken at *offset*, or an empty text."""
    try:
        states = decode_snapshot(data)
    except SnapshotDamaged as error:
        return f"it cannot be read: {error}"
    for producer_id, state in states.items():
        if state.batches and state.batches[-1].last_offset >= offset:
            return f"producer {producer_id} wrote offset {state.batches[-1].last_offset}, after the snapshot"
    return ""
