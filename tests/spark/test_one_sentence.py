"""Errors of the data source, as Spark shows them."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import START_OR_NAME_A_BROKER, ConnectionFailed
from kafkatx.errors import SettingError
from kafkatx.spark.one_sentence import HIDE_TRACEBACK, one_sentence


class OneSentenceTests(SynchronousTestCase):
    def environment(self, **variables: str) -> dict[str, str]:
        """Give this process these environment variables for the length of the test."""
        environment = dict(variables)
        self.patch(os, "environ", environment)
        return environment

    def fail_with(self, error: Exception) -> Exception:
        """Raise an error inside; return the one that comes out."""
        with self.assertRaises(type(error)) as raised, one_sentence():
            raise error
        return raised.exception

    def test_worker(self) -> None:
        """In a worker an error of kafkatx hides the traceback."""
        for name in ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR"):
            environment = self.environment(**{name: "x"})
            error = SettingError("wrong")
            self.assertIs(self.fail_with(error), error)
            self.assertIn(HIDE_TRACEBACK, environment)

    def test_bug(self) -> None:
        """Any other error is a bug and keeps its traceback."""
        environment = self.environment(PYTHON_WORKER_FACTORY_SECRET="x")
        self.fail_with(ValueError("bug"))
        self.assertNotIn(HIDE_TRACEBACK, environment)

    def test_elsewhere(self) -> None:
        """A process that Spark has not started keeps its environment."""
        environment = self.environment()
        self.fail_with(SettingError("wrong"))
        self.assertEqual(environment, {})

    def test_advice(self) -> None:
        """The advice for an address without a broker names Spark's option, not the command's."""
        self.environment()
        error = self.fail_with(ConnectionFailed(f"no broker answers: {START_OR_NAME_A_BROKER}"))
        self.assertIn("in the option kafka.bootstrap.servers", str(error))
        self.assertNotIn("-b", str(error))

    def test_decorator(self) -> None:
        """A decorated function returns what it did, and its errors are the same."""

        @one_sentence()
        def double(number: int) -> int:
            return 2 * number

        self.assertEqual((double(2), double(3)), (4, 6))
