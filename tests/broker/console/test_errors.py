"""Errors of the console."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.errors import STATUS, ConsoleError, check_code, error_answer, found_error, of_code
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.registry.errors import RegistryError
from kafkatx.web.calls import WebError


class ErrorTests(SynchronousTestCase):
    def test_statuses(self) -> None:
        """Rights, names and conflicts have statuses of their own; what may succeed later is 503."""
        for code, status in (
            (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 403),
            (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 404),
            (ErrorCode.TOPIC_ALREADY_EXISTS, 409),
            (ErrorCode.NON_EMPTY_GROUP, 409),
            (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 503),
            (ErrorCode.INVALID_CONFIG, 400),
            (ErrorCode.UNKNOWN_SERVER_ERROR, 500),
        ):
            error = of_code(code, None, "topic t")
            self.assertEqual((error.status, error.code), (status, code.name))
            self.assertEqual("try again" in str(error), status == 503)
        self.assertTrue(all(name.endswith("AUTHORIZATION_FAILED") == (s == 403) for name, s in _named()))

    def test_codes(self) -> None:
        """A code is an error with what it is about, unless it is NONE."""
        check_code(0, "ignored", "topic t")
        error = self.assertRaises(ConsoleError, check_code, 17, "a bad name", "topic t")
        self.assertEqual(str(error), "topic t: a bad name")

    def test_found(self) -> None:
        """Errors of all kinds have a status and a code."""
        for error, status, code in (
            (ConsoleError(418, "TEA", "x"), 418, "TEA"),
            (RequestError(ErrorCode.INVALID_CONFIG, "x"), 400, "INVALID_CONFIG"),
            (WebError(404, "x"), 404, "NOT_FOUND"),
            (RegistryError(40401, "x"), 404, "SCHEMA_REGISTRY_40401"),
            (KafkaTXError("x"), 503, "BROKER_NOT_AVAILABLE"),
        ):
            found = found_error(error)
            self.assertEqual((found.status, found.code), (status, code))
            self.assertIn("x", str(found))

    def test_answer(self) -> None:
        """The body names the code and the message."""
        answer = error_answer(ConsoleError(404, "NOT_FOUND", "there is none"))
        assert isinstance(answer.body, bytes)
        expected = {"error": {"code": "NOT_FOUND", "message": "there is none"}}
        self.assertEqual((answer.status, json.loads(answer.body)), (404, expected))


def _named() -> list[tuple[str, int]]:
    return [(code.name, status) for code, status in STATUS.items()]
