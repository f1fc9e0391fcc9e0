"""Tests of the refusal of transactions, and of the warning of those that Apache Kafka has left."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.logger import Logger, LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.transactions import Transactions
from kafkatx.errors import ErrorCode
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Peer


class TransactionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make it with a log of ten lines a minute."""
        self.transactions = Transactions(LimitedLog(Logger(), Clock(), 10))

    def test_open(self) -> None:
        """There is a warning if the topic of transactions exists, and none without it."""
        with capturedLogs() as events:
            self.transactions.warn_of_open({"t", "__consumer_offsets"})
            self.assertEqual(events, [])
            self.transactions.warn_of_open({"t", "__transaction_state"})
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn])
        self.assertIn("read_committed", events[0]["log_format"])

    def test_refusal(self) -> None:
        """A client is refused each time, and the log has one line for it."""
        with capturedLogs() as events:
            errors = [self.transactions.refusal(Peer("h", 1, "l", 2), "c", "t") for _ in range(3)]
        self.assertEqual({one.code for one in errors}, {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED})
        self.assertEqual(len(events), 1)
