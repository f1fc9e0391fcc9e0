"""Tests of kafkatx.clientcore.group.membership.timers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.membership import NEVER_MS
from kafkatx.clientcore.group.membership.timers import HeartbeatTimer, PollTimer


class HeartbeatTimerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make timers with a heartbeat every 10 ms and a session of 100 ms, which has started at 1000."""
        self.timer = HeartbeatTimer(10, 100)
        self.timer.start(1000)

    def test_before_start(self) -> None:
        """No timer is due before the member has joined."""
        self.assertEqual(HeartbeatTimer(10, 100).deadline_ms, NEVER_MS)

    def test_first_heartbeat(self) -> None:
        """The first heartbeat is due an interval after the start."""
        self.assertEqual((self.timer.deadline_ms, self.timer.session_deadline_ms), (1010, 1100))

    def test_interval_counts_from_sending(self) -> None:
        """The next heartbeat is due an interval after the last was sent; a response extends the session."""
        self.timer.sent(7, 1010)
        self.assertEqual((self.timer.token, self.timer.deadline_ms), (7, 1100))
        self.timer.answered(1018)
        self.assertEqual((self.timer.token, self.timer.deadline_ms), (None, 1020))
        self.assertEqual(self.timer.session_deadline_ms, 1118)

    def test_failed_heartbeat(self) -> None:
        """A failed heartbeat is retried when told, and does not extend the session."""
        self.timer.sent(7, 1010)
        self.timer.retry_at(1055)
        self.assertEqual((self.timer.token, self.timer.deadline_ms), (None, 1055))
        self.assertEqual(self.timer.session_deadline_ms, 1100)

    def test_stop(self) -> None:
        """A stopped timer has no deadline, even with a heartbeat in flight."""
        self.timer.sent(7, 1010)
        self.timer.stop()
        self.assertEqual((self.timer.token, self.timer.deadline_ms), (None, NEVER_MS))


class PollTimerTests(SynchronousTestCase):
    def test_poll_restarts(self) -> None:
        """The timer starts with the first poll, and again with each poll; it stands still while waiting."""
        timer = PollTimer(300)
        self.assertEqual(timer.deadline_ms, NEVER_MS)
        for waiting, now_ms, deadline_ms in ((False, 10, 310), (False, 20, 320), (True, 30, NEVER_MS)):
            self.assertFalse(timer.polled(waiting, now_ms))
            self.assertEqual(timer.deadline_ms, deadline_ms)

    def test_expired(self) -> None:
        """The first poll after the timer has expired reports it, and only that one."""
        timer = PollTimer(300)
        timer.polled(False, 10)
        timer.expire()
        self.assertEqual((timer.expired, timer.deadline_ms), (True, NEVER_MS))
        self.assertEqual([timer.polled(False, 400), timer.polled(False, 410)], [True, False])
        self.assertEqual((timer.expired, timer.deadline_ms), (False, 710))
