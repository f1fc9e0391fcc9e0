"""Tests of kafkatx.clientcore.producer.transactions.errors."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed, ProduceFailed, fatal, retriable
from kafkatx.clientcore.producer.transactions.errors import (
    AbortRequired,
    ProducerFenced,
    TransactionsEnded,
    fatal_error,
)
from kafkatx.errors import ErrorCode, RequestError


class FatalTests(SynchronousTestCase):
    def test_coordinator(self) -> None:
        """Fencing, a forgotten id and a wrong state end the producer; a group's error does not."""
        for code in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"):
            error = fatal_error("t", RequestError(ErrorCode[code], "x"))
            assert isinstance(error, ProducerFenced)
            self.assertIn("the producer 't' was fenced", str(error))
            self.assertIn(code, str(error))
            self.assertFalse(retriable(error))
        error = fatal_error("t", RequestError(ErrorCode.INVALID_TXN_STATE, "x"))
        self.assertIs(type(error), TransactionsEnded)
        for code in ("TRANSACTION_ABORTABLE", "ILLEGAL_GENERATION", "TOPIC_AUTHORIZATION_FAILED"):
            self.assertIsNone(fatal_error("t", RequestError(ErrorCode[code], "x")))
        self.assertIsNone(fatal_error("t", ConnectionFailed("x")))

    def test_leader(self) -> None:
        """An old epoch or a wrong state that a leader tells may be the end of this transaction only."""
        for code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE):
            self.assertIsNone(fatal_error("t", ProduceFailed(code, "a", 0)))
        self.assertIsNotNone(fatal_error("t", ProduceFailed(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "a", 0)))

    def test_fenced_is_fatal(self) -> None:
        """Programs that ask the client's own question get the same answer."""
        fenced = fatal_error("t", RequestError(ErrorCode.PRODUCER_FENCED, "x"))
        assert fenced is not None
        self.assertTrue(fatal(fenced))
        self.assertIs(fatal_error("t", fenced), fenced)

    def test_first_error(self) -> None:
        """An abort that is needed says why."""
        first = ConnectionFailed("no broker")
        error = AbortRequired("t", first)
        self.assertIs(error.__cause__, first)
        self.assertIn("call abort(): no broker", str(error))
