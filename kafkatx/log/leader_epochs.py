"""The leader epochs of a log and their start offsets (KIP-101, KIP-320). Pure.

``entries`` are ``(epoch, start offset)``, both rising strictly: an epoch ends where the next one starts,
the last one at the log's end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import attrs

from kafkatx.types import NO_LEADER_EPOCH

_NO_LIMIT = 1 << 31


class LeaderEpochCache:
    """The leader epochs of one log, as Kafka's ``LeaderEpochFileCache``.

    :ivar version: counts changes.
    """

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self.entries: list[tuple[int, int]] = []
        self.version = 0
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)
        self.version = 0

    @property
    def latest(self) -> int:
        """The latest epoch; -1 when there is none."""
        return self.entries[-1][0] if self.entries else NO_LEADER_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Add an epoch that begins at *start_offset*; one that is not newer than the latest is ignored."""
        if epoch <= self.latest:
            return
        while self.entries and self.entries[-1][1] >= start_offset:
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self.version += 1

    def at(self, offset: int) -> int:
        """Return the epoch that wrote *offset*; -1 if it is from before the first."""
        slot = bisect_right(self.entries, offset, key=_start) - 1
        return self.entries[slot][0] if slot >= 0 else NO_LEADER_EPOCH

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return (epoch, exclusive end offset) of the largest epoch not above *epoch*.

        The records of an epoch from before the first known one are gone: it ends where the first one begins,
        as in Kafka's ``LeaderEpochFileCache``. (-1, -1) if no epoch is known.
        """
        slot = bisect_right(self.entries, epoch, key=_epoch) - 1
        if slot < 0:
            known = self.entries and epoch != NO_LEADER_EPOCH
            return (epoch, self.entries[0][1]) if known else (NO_LEADER_EPOCH, -1)
        last = slot == len(self.entries) - 1
        return self.entries[slot][0], log_end_offset if last else self.entries[slot + 1][1]

    def cut_end(self, offset: int) -> None:
        """Forget the epochs that start at *offset* or beyond."""
        kept = [entry for entry in self.entries if entry[1] < offset]
        self._keep(kept)

    def cut_start(self, offset: int) -> None:
        """Forget the epochs that end at or below *offset*; the one that holds it starts there."""
        slot = bisect_right(self.entries, offset, key=_start) - 1
        if slot >= 0:
            self._keep([(self.entries[slot][0], offset), *self.entries[slot + 1 :]])

    def _keep(self, entries: list[tuple[int, int]]) -> None:
        if entries != self.entries:
            self.entries = entries
            self.version += 1


def _epoch(entry: tuple[int, int]) -> int:
    return entry[0]


def _start(entry: tuple[int, int]) -> int:
    return entry[1]


@attrs.define
class _Run:
    """Consecutive batches with the same epoch in their headers."""

    epoch: int
    start_offset: int
    batches: int = 1


class EpochEvidence:
    """The leader epochs in the batches of a log, compared with ``leader-epoch-checkpoint``.

    No checksum covers the epoch in a batch's header, nor the checkpoint. But epochs never decrease. No batch
    is cut off for its epoch; the worst effect of a wrong epoch is that the offsets of one batch count as
    another epoch's. *before* and *after* are the epochs of the batches around a batch, *checkpoint* is the
    epoch that a valid checkpoint has for its offset:

    ============================  ====================================  =====================
    a batch names                 and the checkpoint                    its offsets belong to
    ============================  ====================================  =====================
    the epoch of a neighbour      says anything, or is missing          what the batch names
    an epoch of its own, between  may be older than the batch           what the batch names
    an epoch of its own           before <= checkpoint <= after         the checkpoint's
    an epoch of its own, between  is missing, damaged, or does not fit  what the batch names
    an epoch of its own, beyond   is missing, damaged, or does not fit  *before*
    ============================  ====================================  =====================

    After a crash the checkpoint may be older than a batch: a power cut can lose what was written to it and
    spare the batch. It is not older than a batch if it has an epoch that begins there or later, and another
    batch names that epoch. (Were the batch's epoch lost, followers that have the batch would be told to cut
    it off, again and again.)

    So a single bit flip, in a batch or in the checkpoint, changes nothing if at least two batches were
    written in each epoch; but after a crash one in the last epoch's last batch does. Memory is bounded by
    the number of epochs, unless many are damaged.
    """

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def note(self, epoch: int, base_offset: int) -> None:
        """Add the next batch of the log; one without an epoch is ignored."""
        if epoch == NO_LEADER_EPOCH:
            return
        if self._runs and self._runs[-1].epoch == epoch:
            self._runs[-1].batches += 1
        else:
            self._runs.append(_Run(epoch, base_offset))

    def entries(
        self, checkpoint: LeaderEpochCache, latest: int = NO_LEADER_EPOCH, may_be_old: bool = False
    ) -> list[tuple[int, int]]:
        """Return the epochs and their start offsets, by the table above.

        :param checkpoint: a valid one, or an empty one.
        :param latest: the epoch before the first batch that was added.
        :param may_be_old: the checkpoint may be older than batches: the shutdown was not clean.
        """
        found: list[tuple[int, int]] = []
        known_to = self._known_to(checkpoint) if may_be_old else None
        for number, run in enumerate(self._runs):
            epoch = run.epoch
            if run.batches == 1 and epoch != latest:
                after = self._after(number)
                told = checkpoint.at(run.start_offset)
                newer = known_to is not None and run.start_offset > known_to and latest < epoch <= after
                if max(latest, 0) <= told <= after and not newer:
                    epoch = told
                elif epoch > after:
                    continue
            if epoch > latest:
                latest = epoch
                found.append((epoch, run.start_offset))
        return found

    def _known_to(self, checkpoint: LeaderEpochCache) -> int:
        """Return the offset up to which a checkpoint is not older than the batches; -1: nowhere."""
        starts = dict(checkpoint.entries)
        named = (run.epoch for run in self._runs if checkpoint.at(run.start_offset) == run.epoch)
        return max((starts[epoch] for epoch in named), default=-1)

    def _after(self, number: int) -> int:
        """Return the epoch that follows a run, skipping a single batch with a lower epoch."""
        epoch = self._runs[number].epoch
        following = self._runs[number + 1 : number + 3]
        if len(following) == 2 and following[0].batches == 1 and following[0].epoch < epoch:
            return following[1].epoch
        return following[0].epoch if following else _NO_LIMIT

    def contradicts(self, checkpoint: LeaderEpochCache) -> bool:
        """Return True if several consecutive batches have another epoch than the checkpoint."""
        first_known = checkpoint.entries[0][1] if checkpoint.entries else 0
        return any(
            run.batches > 1
            and run.start_offset >= first_known
            and checkpoint.at(run.start_offset) != run.epoch
            for run in self._runs
        )
