"""Tests of kafkatx.log.stoppable: work in a worker that ends when it is cancelled."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred, execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.stoppable import Stop, run_stoppable
from tests.broker.running import Held


class StoppableTests(SynchronousTestCase):
    def test_result(self) -> None:
        """The result is returned if the work is not cancelled."""
        self.assertEqual(self.successResultOf(run_stoppable(execute, lambda _: 5)), 5)

    def test_failure(self) -> None:
        """The caller gets the error of the work."""
        self.failureResultOf(run_stoppable(execute, lambda _: 1 // 0), ZeroDivisionError)

    def test_not_begun(self) -> None:
        """Work that was cancelled does not begin."""
        held = Held()
        begun: list[Stop] = []
        done = run_stoppable(held("any"), begun.append)
        done.cancel()
        self.failureResultOf(done, CancelledError)
        held.work()
        self.assertEqual(begun, [])

    def test_ends_at_its_next_step(self) -> None:
        """Work under way ends at its next step, without an unhandled failure."""
        steps: list[int] = []
        waiting: list[Deferred[None]] = []

        def work(stop: Stop) -> None:
            for step in range(10):
                stop.check()
                steps.append(step)
                if step == 3:
                    waiting[0].cancel()

        held = Held()
        waiting.append(run_stoppable(held("any"), work))
        held.work()
        self.failureResultOf(waiting[0], CancelledError)
        self.assertEqual(steps, [0, 1, 2, 3])
