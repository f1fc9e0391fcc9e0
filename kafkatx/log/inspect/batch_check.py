"""Checks that each batch follows the previous one: offsets, leader epochs, counts. Pure.

The rules are those of :mod:`kafkatx.log.recovery.loader` and a few more, with error messages.
"""

from __future__ import annotations

from kafkatx.log.inspect.batch_scan import ScannedBatch
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.records.compression import Codec
from kafkatx.records.header import COUNT_AT, LAST_OFFSET_DELTA_AT, MAGIC
from kafkatx.types import NO_LEADER_EPOCH

_CODEC = 7


class BatchCheck:
    """The check of a partition's batches, one after the other.

    :param epochs: the content of ``leader-epoch-checkpoint``; None if it is missing or damaged.
    :param sparse_below: batches up to this offset may follow a gap, which compaction leaves.
    :ivar next_offset: the expected first offset of the next batch.
    """

    def __init__(self, epochs: LeaderEpochCache | None, sparse_below: int, next_offset: int) -> None:
        self.next_offset = next_offset
        self._epochs = epochs
        self._sparse_below = sparse_below
        self._latest_epoch = NO_LEADER_EPOCH
        self._lost = False

    def count(self, seen: ScannedBatch) -> int:
        """Return the number of records in a batch, by its offsets for a wrapper. Call it first."""
        batch = seen.batch
        if batch.magic == MAGIC:
            return int.from_bytes(seen.head[COUNT_AT : COUNT_AT + 4], "big", signed=True)
        return max(batch.last_offset - self.next_offset + 1, 1) if batch.attributes & _CODEC else 1

    def first_offset(self, seen: ScannedBatch) -> int:
        """Return a batch's first offset; for a wrapper of magic 0 or 1 the smallest possible one."""
        batch = seen.batch
        if batch.magic < MAGIC and batch.attributes & _CODEC:
            return min(self.next_offset, batch.last_offset)
        return batch.base_offset

    def take(self, seen: ScannedBatch, first_offset: int) -> str:
        """Check a batch; return its problem, or an empty text."""
        problem = self.begin(first_offset) or self._content(seen)
        self.next_offset = seen.batch.last_offset + 1
        self._lost = False
        return problem

    def restart(self, offset: int) -> None:
        """Continue at *offset* after a segment with a wrong first offset."""
        self.next_offset = offset
        self._lost = True

    def lose_track(self) -> None:
        """Continue after damage: the next offset is not known."""
        self._lost = True

    def begin(self, first: int) -> str:
        """Return the problem if *first* is the next offset, or an empty text."""
        expected = self.next_offset
        if first < expected:
            return f"offset {first} comes where {expected} was expected"
        if first > expected and first > self._sparse_below and not self._lost:
            missing = str(expected) if first == expected + 1 else f"{expected} to {first - 1}"
            return f"offsets {missing} are missing before {first}; right only if the topic is compacted"
        return ""

    def _content(self, seen: ScannedBatch) -> str:
        batch = seen.batch
        if batch.attributes & _CODEC > max(Codec):
            return f"no codec has the number {batch.attributes & _CODEC}"
        if batch.magic < MAGIC:
            return ""
        count = self.count(seen)
        delta = int.from_bytes(seen.head[LAST_OFFSET_DELTA_AT : LAST_OFFSET_DELTA_AT + 4], "big")
        if not 0 <= count <= delta + 1:
            return f"{count} records for {delta + 1} offsets"
        return ""

    def epoch_problem(self, seen: ScannedBatch) -> str:
        """Return the problem of a batch's leader epoch; the batch need not be cut off for it."""
        batch = seen.batch
        if batch.magic < MAGIC:
            return ""
        return self._epoch(batch.base_offset, batch.last_offset, batch.leader_epoch)

    def _epoch(self, first: int, last: int, epoch: int) -> str:
        if self._contradicts(first, last, epoch):
            return f"leader epoch {epoch} at offsets {first} to {last} is not the checkpoint's"
        latest, self._latest_epoch = self._latest_epoch, max(epoch, self._latest_epoch)
        return f"leader epoch {epoch} at offset {first} after {latest}" if epoch < latest else ""

    def _contradicts(self, first: int, last: int, epoch: int) -> bool:
        epochs = self._epochs
        if epochs is None or not epochs.entries:
            return False
        first_epoch, first_offset = epochs.entries[0]
        if first < first_offset:
            # Epochs below the log start were removed.
            return epoch > first_epoch
        return epoch != epochs.at(first) or epoch != epochs.at(last)
