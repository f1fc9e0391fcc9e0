"""Tests of kafkatx.blocking.retry and the errors that it is about."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.errors import ConnectionFailed, ProduceFailed, UnknownTopic, check, retriable
from kafkatx.blocking.retry import Backoff, Patience
from kafkatx.errors import ErrorCode, RequestError


class RetryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A clock that only sleeping moves."""
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.now += seconds

    def test_pauses(self) -> None:
        """Pauses double up to the longest."""
        self.assertEqual(list(Backoff(6, 100, 1000).pauses_s()), [0.1, 0.2, 0.4, 0.8, 1.0, 1.0])

    def test_patience_ends(self) -> None:
        """Failures in a row are borne until the limit, and then the last one is raised."""
        patience = Patience(3.0, clock=lambda: self.now, sleep=self.sleep)
        error = ConnectionFailed("gone")

        def fail_for_ever() -> None:
            while True:
                patience.again(error)

        self.assertIs(self.assertRaises(ConnectionFailed, fail_for_ever), error)
        self.assertAlmostEqual(self.now, 2.5)  # 0.1 + 0.2 + 0.4 + 0.8 + 1; one more second is too long

    def test_progress(self) -> None:
        """A success between failures starts the count and the pauses anew."""
        patience = Patience(0.5, clock=lambda: self.now, sleep=self.sleep)
        for _ in range(10):
            patience.again(ConnectionFailed("gone"))
            patience.progress()
        self.assertAlmostEqual(self.now, 1.0)

    def test_retriable(self) -> None:
        """Broken connections and retriable codes are tried again, final judgements are not."""
        self.assertTrue(retriable(ConnectionFailed("x")))
        self.assertTrue(retriable(RequestError(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        self.assertFalse(retriable(RequestError(ErrorCode.MESSAGE_TOO_LARGE)))
        self.assertFalse(retriable(ProduceFailed(ErrorCode.NOT_LEADER_OR_FOLLOWER, "t", 0)))
        self.assertFalse(retriable(UnknownTopic("t")))
        self.assertFalse(retriable(ValueError()))

    def test_check(self) -> None:
        """A code becomes an error that says what it was about; 0 passes."""
        check(0, "x")
        error = self.assertRaises(RequestError, check, 10, "topic 't'")
        self.assertEqual(str(error), "topic 't': message too large")
        self.assertEqual(
            str(self.assertRaises(RequestError, check, 40, "t", "no such key")), "t: no such key"
        )
        unknown = self.assertRaises(RequestError, check, 31000, "t")
        self.assertEqual(unknown.code, ErrorCode.UNKNOWN_SERVER_ERROR)
