"""Tests of kafkatx.blocking.retry."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.retry import RetryDeadline, retry_until_deadline
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode, RequestError
from tests.blocking.fakes import FakeCluster


class RetryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A clock that only sleeping moves."""
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.now += seconds

    def test_patience_ends(self) -> None:
        """Failures in a row are borne until the limit, and then the last one is raised."""
        patience = RetryDeadline(3.0, clock=lambda: self.now, sleep=self.sleep)
        error = ConnectionFailed("gone")

        def fail_for_ever() -> None:
            while True:
                patience.wait_or_raise(error)

        self.assertIs(self.assertRaises(ConnectionFailed, fail_for_ever), error)
        self.assertAlmostEqual(self.now, 2.5)  # 0.1 + 0.2 + 0.4 + 0.8 + 1; one more second is too long

    def test_progress(self) -> None:
        """A success between failures starts the count and the pauses anew."""
        patience = RetryDeadline(0.5, clock=lambda: self.now, sleep=self.sleep)
        for _ in range(10):
            patience.wait_or_raise(ConnectionFailed("gone"))
            patience.reset()
        self.assertAlmostEqual(self.now, 1.0)

    def test_until_deadline(self) -> None:
        """A call is repeated until it succeeds, fails for good, or the time is over."""
        cluster = FakeCluster().client()
        errors: list[Exception] = [ConnectionFailed("away"), ConnectionFailed("away")]

        def call() -> str:
            if errors:
                raise errors.pop()
            return "done"

        self.assertEqual(retry_until_deadline(cluster, 3.0, call), "done")
        errors.append(RequestError(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        self.assertRaises(RequestError, retry_until_deadline, cluster, 3.0, call)
        errors += [ConnectionFailed("away")] * 100
        self.assertRaises(ConnectionFailed, retry_until_deadline, cluster, 3.0, call)
