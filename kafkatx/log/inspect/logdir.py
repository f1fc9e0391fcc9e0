"""The check of whatever path a person names: a log dir with all its partitions, one of these, or one file."""

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
from kafkatx.types import TopicPartition

_NO_ADVANCE: Advance = lambda amount: None  # noqa: E731  # a default, not a function of its own


class Check:
    """The check of one path, gone over once by :meth:`faults`.

    :param compacted: any log's offsets may have gaps, whatever the cleaner's checkpoint says.
    :param deep: decode every record, too.
    :param ours: the caller has locked the log dir itself: no broker has it.
    :raises NotALog: the path holds nothing that a log has.
    :raises OSError: it cannot be read.
    :ivar held_by: the process id of the broker that has the log dir, None if none has.
    :ivar tally: what was gone over, of all partitions.
    :ivar notes: what was seen and is no fault.
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
        self._clean = self.held_by is None and files.exists(os.path.join(self.log_dir, CLEAN_SHUTDOWN))
        self._checkpoints = {name: self._read_offsets(name) for name in OFFSET_CHECKPOINTS}

    def _read_offsets(self, name: str) -> dict[TopicPartition, int] | Fault:
        path = os.path.join(self.log_dir, name)
        try:
            return decode_offsets(self._files.read(path) or b"0\n0\n")
        except CheckpointDamaged as error:
            return Fault(path, None, f"it cannot be read: {error}", Remedy.OFFSETS)

    def offsets(self, name: str) -> dict[TopicPartition, int]:
        """What an offset checkpoint says; nothing if it is missing or damaged."""
        found = self._checkpoints[name]
        return {} if isinstance(found, Fault) else found

    def checkpoint_fault(self, name: str) -> Fault | None:
        """What is wrong with an offset checkpoint; None if it can be read."""
        found = self._checkpoints[name]
        return found if isinstance(found, Fault) else None

    def directories(self) -> list[str]:
        """The partitions' directories that are to be gone over."""
        if self.kind is Kind.LOG_DIR:
            return partitions(self.path)
        if self.kind is Kind.PARTITION:
            return [self.path]
        return []

    def size(self) -> int:
        """How many bytes of logs there are to go over."""
        if self.kind is Kind.LOG:
            return self._files.size(self.path)
        return sum(self.partition(directory).size() for directory in self.directories())

    def partition(self, directory: str, advance: Advance = _NO_ADVANCE) -> PartitionCheck:
        """The check of one partition, with all that its log dir knows of it."""
        whose = partition_of(os.path.realpath(directory))
        sparse_below = ALWAYS_SPARSE if self._compacted else NEVER_SPARSE
        if whose is not None and not self._compacted:
            sparse_below = self.offsets(CLEANED_OFFSETS).get(whose, NEVER_SPARSE)
        return PartitionCheck(
            self._files,
            directory,
            in_use=self.held_by is not None,
            clean=self._clean,
            sparse_below=sparse_below,
            deep=self._deep,
            advance=advance,
        )

    def faults(self, advance: Advance = _NO_ADVANCE) -> Iterator[Fault]:
        """Every fault, as it is found."""
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
        """Checkpoints that say more of a partition than it has: what is synced cannot be missing."""
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
        """The faults of the one file that was named; a segment's are those of log and indexes together."""
        path, kind = self.path, self.kind
        if kind in (Kind.LOG, Kind.INDEX, Kind.TIME_INDEX):
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
