"""Tests of kafkatx.networkclient.waiters."""

from __future__ import annotations

from functools import partial

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.networkclient.waiters import Waiters


class WaitersTests(SynchronousTestCase):
    def test_fire(self) -> None:
        """All waiters get the result in their order; a later one waits for the next."""
        waiters: Waiters[int] = Waiters()
        self.assertFalse(waiters)
        order: list[int] = []

        def note(number: int, result: int) -> None:
            order.append(result + number)

        for number in range(3):
            waiters.wait().addCallback(partial(note, number))
        self.assertTrue(waiters)
        waiters.fire(10)
        self.assertEqual(order, [10, 11, 12])
        self.assertFalse(waiters)
        self.assertNoResult(waiters.wait())

    def test_fail(self) -> None:
        """All waiters fail; cancelled ones are left out."""
        waiters: Waiters[int] = Waiters()
        gone, there = waiters.wait(), waiters.wait()
        gone.cancel()
        self.failureResultOf(gone, CancelledError)
        self.assertEqual(len(waiters), 1)
        waiters.fail(ValueError())
        self.failureResultOf(there, ValueError)

    def test_one_cancels_another(self) -> None:
        """A waiter that fires may cancel another that has not fired."""
        waiters: Waiters[int] = Waiters()
        first, second = waiters.wait(), waiters.wait()
        first.addCallback(lambda _: second.cancel())
        waiters.fire(1)
        self.failureResultOf(second, CancelledError)
