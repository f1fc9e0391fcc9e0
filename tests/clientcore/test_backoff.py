"""Tests of kafkatx.clientcore.backoff."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.backoff import JITTER, Backoff


class BackoffTests(SynchronousTestCase):
    def test_pauses(self) -> None:
        """Pauses double up to the longest."""
        self.assertEqual(list(Backoff(6, 100, 1000).pauses_s()), [0.1, 0.2, 0.4, 0.8, 1.0, 1.0])

    def test_for_ever(self) -> None:
        """A pause after very many attempts is still the longest."""
        self.assertEqual(Backoff(first_ms=100, longest_ms=1000).pause_s(10_000), 1.0)
        self.assertEqual(Backoff(first_ms=0).pause_s(10_000), 0.0)

    def test_first_is_longest(self) -> None:
        """A first pause above the longest stays as it is."""
        self.assertEqual(list(Backoff(2, 500, 100).pauses_s()), [0.5, 0.5])

    def test_jitter(self) -> None:
        """Jitter changes a pause by up to a fifth, but not above the longest."""
        low = Backoff(first_ms=100, jitter=JITTER, draw=lambda least, most: least)
        high = Backoff(first_ms=100, jitter=JITTER, draw=lambda least, most: most)
        self.assertAlmostEqual(low.pause_s(0), 0.08)
        self.assertAlmostEqual(high.pause_s(0), 0.12)
        self.assertAlmostEqual(low.pause_s(9), 0.8)
        self.assertAlmostEqual(high.pause_s(9), 1.0)
        drawn = {Backoff(jitter=JITTER).pause_s(0) for _ in range(20)}
        self.assertGreater(len(drawn), 1)
