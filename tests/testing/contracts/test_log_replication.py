"""The contract of followers' logs notices bad logs."""

from __future__ import annotations

from typing import Any

from kafkatx.log.batch_log import BatchLog
from kafkatx.log.leader_epochs import LeaderEpochCache
from tests.testing.contracts.test_partition_log import LogCase


class ReplicationContractTests(LogCase):
    def test_epoch_at_the_first_record(self) -> None:
        """A log that notes no epoch before its first record is noticed."""
        self.patch(BatchLog, "begin_epoch", lambda log, leader_epoch: None)
        self.assertIn("test_begin_epoch", self.failed())

    def test_epoch_kept(self) -> None:
        """A log that keeps an epoch without records after a cut at its end is noticed."""
        self.patch(LeaderEpochCache, "cut_end", lambda cache, offset: None)
        self.assertIn("test_forget_begun_epoch", self.failed())

    def test_appends_anything(self) -> None:
        """A log that appends what a leader sends as if it were a producer is noticed."""

        def append(log: Any, records: bytes | memoryview, leader_epoch: int) -> int:
            log.append(memoryview(records), leader_epoch, 0, True)
            return len(records)

        self.patch(BatchLog, "append_as_follower", append)
        failed = self.failed()
        for name in ("test_copy", "test_follow_offsets", "test_follow_epochs", "test_follow_partial"):
            self.assertIn(name, failed)

    def test_deletes_all(self) -> None:
        """A log that deletes what is not committed is noticed."""
        self.patch(BatchLog, "_end_of", lambda log, number: 0)
        self.assertIn("test_deletable_end", self.failed())
