"""Truncation: the offset at which a follower's log agrees with its leader's."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.fetcher.truncation import truncation_offset
from kafkatx.log.leader_epochs import LeaderEpochCache


class EpochLog:
    """The part of a log that truncation reads: epochs with their start offsets, and the end."""

    def __init__(self, entries: list[tuple[int, int]], end_offset: int) -> None:
        self.epochs = LeaderEpochCache(entries)
        self.log_end_offset = end_offset

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """Return as IPartitionLog."""
        return self.epochs.end_of(leader_epoch, self.log_end_offset)


class TruncationTests(SynchronousTestCase):
    def check(self, entries: list[tuple[int, int]], end: int, epoch: int, told: int, wanted: int) -> None:
        """Compare the offset for one answer."""
        log: Any = EpochLog(entries, end)
        self.assertEqual(truncation_offset(log, epoch, told), wanted, (entries, end, epoch, told))

    def test_same_epoch(self) -> None:
        """The shorter of the two ends counts if both know the epoch."""
        self.check([(1, 0), (3, 10)], 20, 1, 7, 7)
        self.check([(1, 0), (3, 10)], 20, 1, 15, 10)
        self.check([(1, 0), (3, 10)], 20, 3, 15, 15)
        self.check([(1, 0), (3, 10)], 20, 3, 25, 20)

    def test_earlier_epoch(self) -> None:
        """An epoch that the follower does not know takes it back to the end of its own one before."""
        self.check([(1, 0), (3, 10)], 20, 2, 15, 10)
        self.check([(1, 0), (2, 4), (5, 10)], 20, 4, 18, 10)
        self.check([(1, 0), (2, 4), (5, 10)], 20, 4, 3, 10)

    def test_all_later(self) -> None:
        """Nothing stays above the end of the leader if all that the follower has is later."""
        self.check([(4, 10)], 20, 2, 8, 8)
        self.check([(4, 10)], 20, 2, 15, 10)

    def test_no_epochs(self) -> None:
        """The end of the leader counts if one of them knows no epoch."""
        self.check([], 20, 2, 15, 15)
        self.check([], 20, 2, 25, 20)
        self.check([(1, 0)], 20, -1, 15, 15)
