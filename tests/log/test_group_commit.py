"""Group commit: the number of commits, and the callers that each of them answers."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.group_commit import GroupCommit


class GroupCommitTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make commits that end when the test says so."""
        self.begun: list[Deferred[int]] = []
        self.commit = GroupCommit(self._begin)

    def _begin(self) -> Deferred[int]:
        self.begun.append(Deferred())
        return self.begun[-1]

    def test_alone(self) -> None:
        """A single caller gets a commit of its own."""
        waiting = self.commit.join()
        self.assertTrue(self.commit.is_running)
        self.begun[0].callback(7)
        self.assertEqual((self.successResultOf(waiting), len(self.begun)), (7, 1))
        self.assertFalse(self.commit.is_running)

    def test_shared(self) -> None:
        """All callers during a commit are answered by one more commit, when that has ended."""
        first = self.commit.join()
        later = [self.commit.join() for _ in range(5)]
        self.begun[0].callback(1)
        self.successResultOf(first)
        for waiting in later:
            self.assertNoResult(waiting)
        self.begun[1].callback(2)
        self.assertEqual([self.successResultOf(waiting) for waiting in later], [2] * 5)
        self.assertEqual(len(self.begun), 2)

    def test_covered(self) -> None:
        """A caller whose records the commit in progress covers waits for that one."""
        both = [self.commit.join(), self.commit.join(covered=True)]
        self.begun[0].callback(1)
        self.assertEqual([self.successResultOf(waiting) for waiting in both], [1, 1])
        self.assertEqual(len(self.begun), 1)

    def test_failure(self) -> None:
        """A failed commit fails for its own waiters; later ones have their own commit."""
        first, second = self.commit.join(), self.commit.join()
        self.begun[0].errback(OSError())
        self.failureResultOf(first, OSError)
        self.assertNoResult(second)
        self.begun[1].callback(2)
        self.assertEqual(self.successResultOf(second), 2)

    def test_asked_again_when_told(self) -> None:
        """A callback may request a commit at once, and gets a later one than callers that waited before."""
        first, second = self.commit.join(), self.commit.join()
        again = first.addCallback(lambda _: self.commit.join())
        self.begun[0].callback(1)
        self.begun[1].callback(2)
        self.assertEqual(self.successResultOf(second), 2)
        self.assertNoResult(again)
        self.begun[2].callback(3)
        self.assertEqual(self.successResultOf(again), 3)

    def test_at_once(self) -> None:
        """A commit that ends where it begins is over when join() returns; so is one that cannot begin."""
        self.assertEqual(self.successResultOf(GroupCommit(lambda: succeed(1)).join()), 1)
        failing = GroupCommit[int](lambda: fail(OSError()))
        raising = GroupCommit[int](_raise)
        for commit in (failing, raising):
            for _ in range(2):
                self.failureResultOf(commit.join(), OSError)
                self.assertFalse(commit.is_running)


def _raise() -> Deferred[int]:
    raise OSError
