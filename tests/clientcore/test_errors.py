"""Tests of kafkatx.clientcore.errors."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import (
    BufferExhausted,
    ClientClosed,
    CommitFailed,
    ConnectionFailed,
    NotAssigned,
    ProduceFailed,
    RequestTimedOut,
    UnknownTopic,
    check,
    describe,
    fatal,
    retriable,
)
from kafkatx.errors import ErrorCode, RequestError


class ErrorTests(SynchronousTestCase):
    def test_describe(self) -> None:
        """A code is described by its name, or by what it means where the name does not say it."""
        self.assertEqual(describe(ErrorCode.MESSAGE_TOO_LARGE), "message too large")
        self.assertIn("differs from another topic's", describe(ErrorCode.INVALID_TOPIC_EXCEPTION))

    def test_retriable(self) -> None:
        """Broken connections and retriable codes are retried, final errors are not."""
        self.assertTrue(retriable(ConnectionFailed("x")))
        self.assertTrue(retriable(RequestError(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        self.assertFalse(retriable(RequestError(ErrorCode.MESSAGE_TOO_LARGE)))
        self.assertFalse(retriable(ProduceFailed(ErrorCode.NOT_LEADER_OR_FOLLOWER, "t", 0)))
        self.assertFalse(retriable(UnknownTopic("t")))
        self.assertTrue(retriable(RequestTimedOut("x")))
        self.assertTrue(retriable(BufferExhausted("x")))
        self.assertFalse(retriable(CommitFailed(ErrorCode.NOT_COORDINATOR, "x")))
        self.assertFalse(retriable(ClientClosed("x")))
        self.assertFalse(retriable(NotAssigned("t", 0)))
        self.assertFalse(retriable(ValueError()))

    def test_fatal(self) -> None:
        """A client that was fenced or refused as a whole is unusable; after other errors it is not."""
        for code in (
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ):
            self.assertTrue(fatal(RequestError(code)))
        self.assertTrue(fatal(ClientClosed("x")))
        for error in (RequestError(ErrorCode.MESSAGE_TOO_LARGE), ConnectionFailed("x"), ValueError()):
            self.assertFalse(fatal(error))
        fatal_and_retriable = [code for code in ErrorCode if code.retriable and fatal(RequestError(code))]
        self.assertEqual(fatal_and_retriable, [])

    def test_check(self) -> None:
        """A code becomes an error with its context; 0 raises nothing."""
        check(0, "x")
        error = self.assertRaises(RequestError, check, 10, "topic 't'")
        self.assertEqual(str(error), "topic 't': message too large")
        self.assertEqual(
            str(self.assertRaises(RequestError, check, 40, "t", "no such key")), "t: no such key"
        )
        unknown = self.assertRaises(RequestError, check, 31000, "t")
        self.assertEqual(unknown.code, ErrorCode.UNKNOWN_SERVER_ERROR)
