"""The pauses before a broker is started again."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.supervisor.backoff import FIRST_S, MAX_S, STEADY_S, Backoff


class BackoffTests(SynchronousTestCase):
    def test_grows(self) -> None:
        """Pauses double up to a limit, and a broker that served for long begins anew."""
        backoff = Backoff()
        pauses = [backoff.pause_s(None) for _ in range(10)]
        self.assertEqual(pauses[:3], [FIRST_S, 2 * FIRST_S, 4 * FIRST_S])
        self.assertEqual(pauses[-1], MAX_S)
        self.assertEqual(backoff.pause_s(STEADY_S - 1), MAX_S)
        self.assertEqual(backoff.pause_s(STEADY_S), FIRST_S)
        self.assertEqual(backoff.pause_s(1.0), 2 * FIRST_S)
