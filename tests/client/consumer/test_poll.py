"""Tests of kafkatx.client.consumer.poll."""

from __future__ import annotations

from kafkatx.client.consumer.poll import MAX_BUSY_S
from kafkatx.errors import KafkaTXError
from tests.client.consumer.group.parts import RebalanceTestCase
from tests.clientcore.consumer.partitions import T0


class PollerTests(RebalanceTestCase):
    def test_alive(self) -> None:
        """The membership hears whether the application waits or works."""
        self.take()
        self.assertEqual(self.polls, [False])
        waiting = self.run_(self.poller.poll(1, 5))
        self.assertEqual(self.polls, [False, True])
        self.fill(T0, 1)
        self.poller.notify()
        self.successResultOf(waiting)
        self.assertEqual(self.polls, [False, True, False])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_breath(self) -> None:
        """The reactor gets a turn after a while, however many records are buffered."""
        self.fill(T0, *[1] * 10)
        for _ in range(3):
            self.assertTrue(self.run_(self.poller.poll(1, 0)).called)
        self.clock.rightNow += MAX_BUSY_S
        waiting = self.run_(self.poller.poll(1, 0))
        self.assertNoResult(waiting)
        self.clock.advance(0)
        self.successResultOf(waiting)
        self.assertTrue(self.run_(self.poller.poll(1, 0)).called)

    def test_woken_for_nothing(self) -> None:
        """A caller that is woken and finds nothing continues to wait."""
        waiting = self.run_(self.poller.poll(1, 5))
        self.poller.notify()
        self.assertNoResult(waiting)
        self.poller.wake()
        self.assertNoResult(waiting)
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(waiting), {})

    def test_failures(self) -> None:
        """A permanent error is raised to all callers, another one to the next; a waiting caller is woken."""
        waiting = self.run_(self.poller.poll(1, None))
        self.poller.fail(ValueError(), permanent=False)
        self.failureResultOf(waiting, ValueError)
        self.assertEqual(self.take(), {})
        self.poller.fail(KafkaTXError(), permanent=True)
        for _ in range(2):
            self.failureResultOf(self.run_(self.poller.next_delivery(1)), KafkaTXError)
