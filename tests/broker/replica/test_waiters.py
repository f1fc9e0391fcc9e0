"""The operations that wait for a partition, and what wakes them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.waiters import Awaited
from kafkatx.errors import ErrorCode


class Waiting:
    """Counts how often it was woken."""

    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        """Count."""
        self.woken += 1


class AwaitedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a fetch of a consumer, one of a follower and a deletion wait."""
        self.awaited = Awaited()
        self.consumer, self.follower, self.deletion = Waiting(), Waiting(), Waiting()
        self.awaited.delayed_fetches.add(self.consumer)
        self.awaited.replica_fetches.add(self.follower)
        self.awaited.delayed_deletes.add(self.deletion)

    @property
    def woken(self) -> tuple[int, int, int]:
        """The number of times that each was woken."""
        return self.consumer.woken, self.follower.woken, self.deletion.woken

    def test_all(self) -> None:
        """A change of the partition wakes all."""
        self.awaited.wake()
        self.assertEqual(self.woken, (1, 1, 1))

    def test_written(self) -> None:
        """A write wakes the consumers of a sole replica; else followers, and consumers after the commit."""
        self.awaited.wake_written()
        self.assertEqual(self.woken, (1, 0, 0))
        self.awaited.replicated = True
        self.awaited.wake_written()
        self.assertEqual(self.woken, (1, 1, 0))
        self.awaited.high_watermark = 5
        self.awaited.wake_written()
        self.assertEqual(self.woken, (2, 2, 0))

    def test_fail(self) -> None:
        """Writers that wait for the commit are told that it cannot be."""
        told: list[ErrorCode] = []
        self.awaited.commit_waiters.add(5, 0, 100.0, told.append)
        self.awaited.fail_commits(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(told, [ErrorCode.NOT_LEADER_OR_FOLLOWER])
