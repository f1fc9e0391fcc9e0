"""Tests of kafkatx.log.append.result."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.log.append.follower import FollowedBatches
from kafkatx.log.append.result import StagedChanges, failed


class ResultTests(SynchronousTestCase):
    def test_failed(self) -> None:
        """A refused append has the error and no offsets."""
        result = failed(ErrorCode.CORRUPT_MESSAGE, "why", [(3, "this one")])
        self.assertEqual((result.error, result.message), (ErrorCode.CORRUPT_MESSAGE, "why"))
        self.assertEqual(
            (result.base_offset, result.last_offset, result.record_errors), (-1, -1, [(3, "this one")])
        )

    def test_changes(self) -> None:
        """Changes add up; what is forgotten is what was added before."""
        changes = StagedChanges(5)
        changes.add(FollowedBatches(6, 2, epoch_starts=[(2, 5)], gap_end=5))
        changes.add(FollowedBatches(7, 3, epoch_starts=[(3, 6)]))
        self.assertEqual(changes, StagedChanges(5, [(2, 5), (3, 6)], False, 5))
        changes.add(FollowedBatches(9, 4, epoch_starts=[(4, 8)], forgets_epochs=True, gap_end=8))
        self.assertEqual(changes, StagedChanges(5, [(4, 8)], True, 8))
