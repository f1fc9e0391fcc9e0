"""The map between the offsets of a source partition and those of its copies, both ways. Pure.

It consists of runs: ``(source, target, count)`` says that the records with the source offsets from *source*
on, *count* of them without a gap, have the target offsets from *target* on. A filter, a compacted log, a
transaction's marker and records of other sources begin a new run. So the map is exact, and a partition that
is copied whole has one run, however long it is.

Example: the runs (0, 10, 3) and (5, 13, 2) say::

    source   0  1  2  .  .  5  6
    target  10 11 12       13 14
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Run(NamedTuple):
    """Records without a gap at both sides."""

    source: int
    target: int
    length: int

    @property
    def source_end(self) -> int:
        """The source offset after the last record."""
        return self.source + self.length

    @property
    def target_end(self) -> int:
        """The target offset after the last record."""
        return self.target + self.length


class OffsetMap:
    """The runs of one source partition in one target partition, in the order of both logs.

    :ivar floor: the first run ever, if runs were dropped to save memory: offsets before those that are left
        are translated to it, which repeats records and never leaves any out.
    """

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs: list[Run] = []
        self._sources: list[int] = []
        self._targets: list[int] = []
        self.floor: Run | None = None
        for run in runs:
            self.add(*run)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def source_end(self) -> int:
        """The source offset after the last copied record; -1 if there is none."""
        return self._runs[-1].source_end if self._runs else -1

    @property
    def target_end(self) -> int:
        """The target offset after the last copy; -1 if there is none."""
        return self._runs[-1].target_end if self._runs else -1

    def add(self, source: int, target: int, length: int = 1) -> None:
        """Add records at the end of the target's log; what is known already is left out.

        If the source offset is not above the last one, the source's log was cut and has other records at
        these offsets now: the runs of the former ones are dropped.
        """
        if self._runs:
            known = self.target_end - target
            if known > 0:
                if known >= length:
                    return
                source, target, length = source + known, target + known, length - known
            if source < self.source_end:
                self._cut(source)
        if self._runs and self._runs[-1].source_end == source and self.target_end == target:
            last = self._runs[-1]
            self._runs[-1] = Run(last.source, last.target, last.length + length)
            return
        self._runs.append(Run(source, target, length))
        self._sources.append(source)
        self._targets.append(target)

    def add_offsets(self, sources: Iterable[int], target: int) -> None:
        """Add records whose copies follow each other from *target* on."""
        first = end = -1
        at = target
        for source in sources:
            if source != end:
                if end > first:
                    self.add(first, at - (end - first), end - first)
                first = source
            end = source + 1
            at += 1
        if end > first:
            self.add(first, at - (end - first), end - first)

    def _cut(self, source: int) -> None:
        """Drop what is at or after a source offset."""
        while self._runs and self._runs[-1].source_end > source:
            last = self._runs.pop()
            self._sources.pop()
            self._targets.pop()
            if last.source < source:
                self._append(Run(last.source, last.target, source - last.source))

    def _append(self, run: Run) -> None:
        self._runs.append(run)
        self._sources.append(run.source)
        self._targets.append(run.target)

    # -- translation

    def copy_of(self, source: int) -> int | None:
        """Return the target offset of the copy of one record; None if it was not copied, or is not known."""
        at = bisect_right(self._sources, source) - 1
        if at < 0 or source >= self._runs[at].source_end:
            return None
        return self._runs[at].target + source - self._runs[at].source

    def original_of(self, target: int) -> int | None:
        """Return the source offset of the record whose copy has this offset; None: it is none of these."""
        at = bisect_right(self._targets, target) - 1
        if at < 0 or target >= self._runs[at].target_end:
            return None
        return self._runs[at].source + target - self._runs[at].target

    def to_target(self, source: int) -> int | None:
        """Return where a consumer of the target continues that has read the source before *source*.

        It is the offset of the copy of the first record from *source* on; after the last copy, if none was
        copied yet. None if nothing was copied at all.
        """
        if not self._runs:
            return None
        at = bisect_right(self._sources, source) - 1
        if at < 0 and self.floor is not None:
            return self.floor.target
        if at >= 0 and source < self._runs[at].source_end:
            return self._runs[at].target + source - self._runs[at].source
        return self._targets[at + 1] if at + 1 < len(self._runs) else self.target_end

    def to_source(self, target: int) -> int | None:
        """Return where a consumer of the source continues that has read the target before *target*.

        It is the offset of the original of the first copy from *target* on; after the last one, if there is
        none. None if nothing was copied at all.
        """
        if not self._runs:
            return None
        at = bisect_right(self._targets, target) - 1
        if at < 0 and self.floor is not None:
            return self.floor.source
        if at >= 0 and target < self._runs[at].target_end:
            return self._runs[at].source + target - self._runs[at].target
        return self._sources[at + 1] if at + 1 < len(self._runs) else self.source_end

    # -- bounds

    def forget_before(self, target: int) -> int:
        """Drop runs whose copies the target has deleted: those before an offset; return how many."""
        keep = 0
        while keep < len(self._runs) and self._runs[keep].target_end <= target:
            keep += 1
        self._drop(keep)
        if keep or (self.floor is not None and self.floor.target_end <= target):
            self.floor = None
        return keep

    def forget_from(self, target: int) -> None:
        """Drop what is at or after a target offset: the target's log was cut there."""
        while self._runs and self._runs[-1].target_end > target:
            last = self._runs.pop()
            self._sources.pop()
            self._targets.pop()
            if last.target < target:
                self._append(Run(last.source, last.target, target - last.target))

    def bound(self, runs: int) -> None:
        """Drop the older half if there are more than *runs* runs."""
        if len(self._runs) > runs:
            self.floor = self.floor or self._runs[0]
            self._drop(len(self._runs) - runs // 2)

    def _drop(self, count: int) -> None:
        del self._runs[:count], self._sources[:count], self._targets[:count]
