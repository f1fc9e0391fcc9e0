"""Retries while brokers are away, and their limit."""

from __future__ import annotations

import threading

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import SettingError
from kafkatx.spark.ingest import retry
from kafkatx.spark.ingest.errors import IngestError
from kafkatx.spark.ingest.retry import RetryLimit, Stopped


class RetryLimitTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Allow ten seconds of a clock that the requests set."""
        self.patch(retry, "PAUSE_S", 0)
        self.now_s = 0.0
        self.stop = threading.Event()
        self.limit = RetryLimit(10.0, self.stop, lambda: self.now_s)
        self.answers: list[int | Exception] = []

    def request(self) -> int:
        """Answer, or fail, as planned; four seconds pass."""
        self.now_s += 4
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def call(self, *answers: int | Exception) -> int:
        """Make a call with these answers to its requests."""
        self.answers = list(answers)
        return self.limit.call(self.request)

    def test_first_contact(self) -> None:
        """Before the brokers have answered once a failure is final."""
        self.assertRaises(ConnectionFailed, self.call, ConnectionFailed("away"))

    def test_outage(self) -> None:
        """After the first answer a request is repeated until the brokers are back."""
        self.assertEqual(self.call(1), 1)
        self.assertEqual(self.call(ConnectionFailed("away"), ConnectionFailed("away"), 2), 2)

    def test_limit(self) -> None:
        """Brokers that stay away for longer than the limit end it, and the error says for how long."""
        self.call(1)
        away = [ConnectionFailed("away")] * 9
        self.assertRaisesRegex(IngestError, "away for 12 s: away", self.call, *away)

    def test_limit_begins_anew(self) -> None:
        """Each outage has the whole limit."""
        for number in range(5):
            self.limit.succeeded()
            self.assertEqual(self.call(*[ConnectionFailed("away")] * 2, number), number)

    def test_final(self) -> None:
        """An error that no retry would mend is raised at once."""
        self.call(1)
        self.assertRaises(SettingError, self.call, SettingError("wrong"), 2)

    def test_stopped(self) -> None:
        """An ingestion that is told to stop does not wait for the brokers."""
        self.call(1)
        self.stop.set()
        self.assertRaises(Stopped, self.call, ConnectionFailed("away"), 2)
