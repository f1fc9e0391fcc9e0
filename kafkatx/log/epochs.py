"""Which leader epoch wrote which offsets (KIP-101, KIP-320). Pure.

``entries`` are ``(epoch, start offset)``, both rising strictly: an epoch ends where the next one starts,
the last one at the log's end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from kafkatx.types import NO_LEADER_EPOCH


class LeaderEpochs:
    """The epochs of one log. ``version`` counts changes, so that a writer knows what it has written."""

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
        """Note that *epoch* writes from *start_offset* on; an epoch that is not new changes nothing."""
        if epoch <= self.latest:
            return
        while self.entries and self.entries[-1][1] >= start_offset:
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self.version += 1

    def at(self, offset: int) -> int:
        """The epoch that wrote *offset*; -1 when it is from before the first."""
        slot = bisect_right(self.entries, offset, key=_start) - 1
        return self.entries[slot][0] if slot >= 0 else NO_LEADER_EPOCH

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, exclusive end offset) of the largest epoch not above *epoch*.

        Of one from before all that are known, what it wrote is gone: it is said to end where those begin,
        as Kafka's ``LeaderEpochFileCache`` does. (-1, -1) if none is known.
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
