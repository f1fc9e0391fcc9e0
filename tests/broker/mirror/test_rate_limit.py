"""The limit of what a link fetches per second."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror.rate_limit import LEAST_BYTES, RateLimit


class RateLimitTests(SynchronousTestCase):
    def test_pause(self) -> None:
        """Bytes take as long as the rate says; time that has passed is not saved up."""
        limit = RateLimit(1000)
        self.assertEqual(limit.pause_s(5.0), 0.0)
        limit.count(2000, 5.0)
        self.assertEqual((limit.pause_s(5.0), limit.pause_s(6.5), limit.pause_s(9.0)), (2.0, 0.5, 0.0))
        limit.count(500, 9.0)
        limit.count(500, 9.0)
        self.assertEqual(limit.pause_s(9.0), 1.0)

    def test_no_limit(self) -> None:
        """Without a rate there is no pause, and a fetch is as large as it may be."""
        limit = RateLimit(None)
        limit.count(1 << 40, 1.0)
        self.assertEqual((limit.pause_s(1.0), limit.most_bytes(1 << 30)), (0.0, 1 << 30))

    def test_sizes(self) -> None:
        """A fetch asks for what may come in a second, and not for too little."""
        self.assertEqual(RateLimit(1 << 20).most_bytes(10 << 20), 1 << 20)
        self.assertEqual(RateLimit(1).most_bytes(10 << 20), LEAST_BYTES)
        self.assertEqual(RateLimit(1 << 20).most_bytes(1000), 1000)
