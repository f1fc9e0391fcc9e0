"""Errors: codes of Kafka, which of them are retriable, and what exceptions carry."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import (
    CorruptRecords,
    ErrorCode,
    KafkaTXError,
    ProtocolViolation,
    RequestError,
    SettingError,
    StateLost,
    UnsupportedCompression,
)


class ErrorCodeTests(SynchronousTestCase):
    def test_of(self) -> None:
        """A number that is not in the table is an unknown server error."""
        self.assertIs(ErrorCode.of(27), ErrorCode.REBALANCE_IN_PROGRESS)
        self.assertIs(ErrorCode.of(9999), ErrorCode.UNKNOWN_SERVER_ERROR)

    def test_none_is_false(self) -> None:
        """NONE is false, all other codes are true."""
        self.assertEqual([code for code in ErrorCode if not code], [ErrorCode.NONE])

    def test_retriable(self) -> None:
        """Errors that may pass are retriable; those of the request itself are not."""
        for code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.REQUEST_TIMED_OUT,
            ErrorCode.CORRUPT_MESSAGE,
        ):
            self.assertTrue(code.retriable, code.name)
        for code in (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.MESSAGE_TOO_LARGE):
            self.assertFalse(code.retriable, code.name)


class ExceptionTests(SynchronousTestCase):
    def test_families(self) -> None:
        """The three families are apart, and all are kafkatx's."""
        families = (ProtocolViolation, SettingError, RequestError)
        for one in families:
            self.assertTrue(issubclass(one, KafkaTXError))
            self.assertEqual([other for other in families if issubclass(one, other)], [one])

    def test_codes(self) -> None:
        """A request error has its code, whose name is the message if there is none."""
        self.assertEqual(str(RequestError(ErrorCode.INVALID_CONFIG)), "INVALID_CONFIG")
        self.assertEqual(CorruptRecords("bad").code, ErrorCode.CORRUPT_MESSAGE)
        self.assertEqual(UnsupportedCompression("bad").code, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

    def test_state_lost(self) -> None:
        """A lost state says how to rebuild it, with the log dirs to name."""
        message = str(StateLost("no state", ["/a", "/b"]))
        self.assertTrue(message.startswith("no state; no log was changed."))
        self.assertIn("kafkatx log adopt /a /b", message)
