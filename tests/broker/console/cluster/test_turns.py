"""Walks in turns, and values that are kept for a moment."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.cluster.turns import SHARE, STEP, Kept, Turns, chunks


class TurnsTests(SynchronousTestCase):
    def test_turns(self) -> None:
        """A walk lets others work when its turn has ended, and not before."""
        clock, seen = Clock(), []

        async def walk() -> None:
            turns = Turns(clock)
            for number in range(4 * STEP):
                seen.append(number)
                if number == 2 * STEP:
                    clock.rightNow += 1
                await turns.step()

        walking = Deferred.fromCoroutine(walk())
        self.assertEqual(len(seen), 3 * STEP)
        clock.advance(0)
        self.successResultOf(walking)
        self.assertEqual(len(seen), 4 * STEP)

    def test_chunks(self) -> None:
        """Chunks have all items in order."""
        self.assertEqual(list(chunks(range(5), 2)), [[0, 1], [2, 3], [4]])
        self.assertEqual(list(chunks([], 2)), [])


class KeptTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a value that takes as long as the test says."""
        self.clock, self.asked = Clock(), 0
        self.took_s = 0.0
        self.kept: Kept[int] = Kept(self.find, self.clock, 2.0)

    async def find(self) -> int:
        """Find the value out."""
        self.asked += 1
        self.clock.rightNow += self.took_s
        return self.asked

    def test_kept(self) -> None:
        """A value is found out once, and again when it is old."""
        self.assertEqual([self.successResultOf(self.kept.get()) for _ in range(3)], [1, 1, 1])
        self.clock.advance(2)
        self.assertEqual(self.successResultOf(self.kept.get()), 2)

    def test_slow(self) -> None:
        """A value that is slow to find out is kept for longer: it takes a small part of the time."""
        self.took_s = 1.0
        self.successResultOf(self.kept.get())
        self.clock.advance(1 / SHARE - 1)
        self.assertEqual(self.successResultOf(self.kept.get()), 1)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(self.kept.get()), 2)

    def test_shared(self) -> None:
        """All who ask at the same time share one run; one that leaves does not end it."""
        found: Deferred[int] = Deferred()

        async def find() -> int:
            self.asked += 1
            return await found

        kept: Kept[int] = Kept(find, self.clock, 2.0)
        first, second = kept.get(), kept.get()
        first.cancel()
        self.failureResultOf(first)
        found.callback(7)
        self.assertEqual((self.successResultOf(second), self.asked), (7, 1))

    def test_failure(self) -> None:
        """After a failure the next one tries again."""

        async def fail() -> int:
            self.asked += 1
            raise ValueError("x")

        kept: Kept[int] = Kept(fail, self.clock, 2.0)
        self.failureResultOf(kept.get(), ValueError)
        self.failureResultOf(kept.get(), ValueError)
        self.assertEqual(self.asked, 2)
