"""Tests of kafkatx.mirror.core.rate."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.core.rate import RateLimit


class RateLimitTests(SynchronousTestCase):
    def test_rate(self) -> None:
        """Over any time the rate is kept; after a pause a second's worth goes at once."""
        limit = RateLimit(100)
        self.assertEqual(limit.reserve(100, 10.0), 0.0)
        self.assertEqual(limit.reserve(100, 10.0), 1.0)
        self.assertEqual(limit.reserve(50, 10.0), 1.5)
        self.assertEqual(limit.reserve(50, 12.5), 0.0)
        self.assertEqual(limit.reserve(200, 1000.0), 1.0)

    def test_none(self) -> None:
        """0 is no limit."""
        self.assertEqual(RateLimit(0).reserve(1 << 40, 0.0), 0.0)
