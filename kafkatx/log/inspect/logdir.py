"""The check of a path: a log dir with all its partitions, one partition, or one file. Reads files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kafkatx.log.checkpoint import (
    CLEAN_SHUTDOWN,
    CLEANED_OFFSETS,
    LOG_STARTS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    CheckpointDamaged,
    decode_offsets,
    decode_partition_metadata,
)
from kafkatx.log.files import Files
from kafkatx.log.inspect.faults import Fault, Remedy, Tally
from kafkatx.log.inspect.partition import ALWAYS_SPARSE, NEVER_SPARSE, PartitionCheck, snapshot_problem
from kafkatx.log.inspect.paths import (
    OFFSET_CHECKPOINTS,
    Kind,
    base_offset_of,
    kind_of,
    lock_owner,
    log_dir_of,
    partition_of,
    partitions,
)
from kafkatx.log.inspect.segment import Advance
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.types import TopicPartition

_NO_ADVANCE: Advance = lambda amount: None  # noqa: E731  # a default value


class Check:
    """The check of one path; :meth:`faults` runs it once.

    :param compacted: allow gaps between offsets in all logs, regardless of the cleaner's checkpoint; those of
        ``__consumer_offsets``, which is compacted, may always have them.
    :param deep: decode every record.
    :param ours: the caller has locked the log dir, so no broker is using it.
    :raises NotALog: the path is not part of a log.
    :raises OSError: it cannot be read.
    :ivar held_by: the process id of the broker that is using the log dir, or None.
    :ivar clean: the last broker was shut down cleanly, and none has used the log dir since.
    :ivar tally: the checked data of all partitions.
    :ivar notes: remarks that are not faults.
    """

    def __init__(
        self, files: Files, path: str, *, compacted: bool = False, deep: bool = False, ours: bool = False
    ) -> None:
        self.path = path
        self.kind = kind_of(path)
        self.log_dir = log_dir_of(path, self.kind)
        self.held_by = None if ours else lock_owner(self.log_dir)
        self.tally = Tally()
        self.partitions = 0
        self.notes: list[str] = []
        self._files = files
        self._deep = deep
        self._compacted = compacted
        self.clean = self.held_by is None and files.exists(os.path.join(self.log_dir, CLEAN_SHUTDOWN))
        self._checkpoints = {name: self._read_offsets(name) for name in OFFSET_CHECKPOINTS}

    def _read_offsets(self, name: str) -> dict[TopicPartition, int] | Fault:
        path = os.path.join(self.log_dir, name)
        try:
            return decode_offsets(self._files.read(path) or b"0\n0\n")
        except CheckpointDamaged as error:
            return Fault(path, None, f"it cannot be read: {error}", Remedy.OFFSETS)

    def offsets(self, name: str) -> dict[TopicPartition, int]:
        """Return the offsets in a checkpoint; none if it is missing or damaged."""
        found = self._checkpoints[name]
        return {} if isinstance(found, Fault) else found

    def checkpoint_fault(self, name: str) -> Fault | None:
        """Return the fault of an offset checkpoint; None if it can be read."""
        found = self._checkpoints[name]
        return found if isinstance(found, Fault) else None

    def directories(self) -> list[str]:
        """Return the directories of the partitions to check."""
        if self.kind is Kind.LOG_DIR:
            return partitions(self.path)
        if self.kind is Kind.PARTITION:
            return [self.path]
        return []

    def size(self) -> int:
        """Return the size of the logs to check."""
        if self.kind is Kind.LOG:
            return self._files.size(self.path)
        return sum(self.partition(directory).size() for directory in self.directories())

    def partition(self, directory: str, advance: Advance = _NO_ADVANCE) -> PartitionCheck:
        """Return the check of one partition, with the values of its log dir's checkpoints."""
        whose = partition_of(os.path.realpath(directory))
        compacted = self._compacted or (whose is not None and whose.topic == CONSUMER_OFFSETS)
        sparse_below = ALWAYS_SPARSE if compacted else NEVER_SPARSE
        if whose is not None and not compacted:
            sparse_below = self.offsets(CLEANED_OFFSETS).get(whose, NEVER_SPARSE)
        return PartitionCheck(
            self._files,
            directory,
            in_use=self.held_by is not None,
            clean=self.clean,
            sparse_below=sparse_below,
            deep=self._deep,
            advance=advance,
        )

    def faults(self, advance: Advance = _NO_ADVANCE) -> Iterator[Fault]:
        """Yield every fault when it is found."""
        if self.kind is Kind.LOG_DIR:
            yield from filter(None, map(self.checkpoint_fault, OFFSET_CHECKPOINTS))
        elif self.kind is not Kind.PARTITION:
            yield from self._file(advance)
        for directory in self.directories():
            check = self.partition(directory, advance)
            yield from check.faults()
            self.partitions += 1
            self._take(check)
            yield from self.beyond(check)

    def _take(self, check: PartitionCheck) -> None:
        self.notes += check.notes
        self.tally.segments += check.tally.segments
        self.tally.sound.add(check.tally.sound)
        self.tally.lost.add(check.tally.lost)

    def beyond(self, check: PartitionCheck) -> Iterator[Fault]:
        """Yield checkpoints with offsets after the partition's end: synced records cannot be missing."""
        whose = partition_of(os.path.realpath(check.directory))
        if whose is None or self.held_by is not None or check.tally.cut is not None:
            return
        end_offset = check.end_offset
        for name in (RECOVERY_POINTS, LOG_STARTS):
            offset = self.offsets(name).get(whose, 0)
            if offset > end_offset:
                problem = f"it says {offset} for {whose}, whose log ends at {end_offset}"
                yield Fault(os.path.join(self.log_dir, name), None, problem, Remedy.OFFSETS)

    def _file(self, advance: Advance) -> Iterator[Fault]:
        """Yield the faults of a single file; those of a segment are the faults of its log and indexes."""
        path, kind = self.path, self.kind
        if kind in (Kind.LOG, Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX):
            check = self.partition(os.path.dirname(path) or os.curdir, advance)
            for fault in check.segment_faults(base_offset_of(path)):
                if kind is Kind.LOG or os.path.basename(fault.path) == os.path.basename(path):
                    yield fault
            self._take(check)
            return
        data = self._files.read(path) or b""
        try:
            if kind is Kind.SNAPSHOT:
                if problem := snapshot_problem(data, base_offset_of(path)):
                    yield Fault(path, None, problem, Remedy.REMOVE)
            elif kind is Kind.OFFSETS:
                decode_offsets(data)
            elif kind is Kind.EPOCHS:
                epochs = self.partition(os.path.dirname(path) or os.curdir).read_epochs()
                yield from [epochs] if isinstance(epochs, Fault) else []
            elif os.path.basename(path) == PARTITION_METADATA:
                decode_partition_metadata(data)
        except CheckpointDamaged as error:
            yield Fault(path, None, f"it cannot be read: {error}", Remedy.OFFSETS)
