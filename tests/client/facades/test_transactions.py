"""Tests of kafkatx.client.facades.transactions; the scenarios with a broker are in the integration tests."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.facades.transactions import BlockingTransaction
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.producer.transactions.errors import AbortRequired


class _Calls:
    """A producer that notes its calls; *errors* are raised by name."""

    def __init__(self, **errors: Exception) -> None:
        self.made: list[str] = []
        self.open = False
        self._errors = errors

    def begin(self) -> None:
        self.made.append("begin")
        self.open = True

    def in_transaction(self) -> bool:
        return self.open

    def commit(self) -> None:
        self._end("commit")

    def abort(self) -> None:
        self._end("abort")

    def _end(self, name: str) -> None:
        self.made.append(name)
        if name in self._errors:
            raise self._errors[name]
        self.open = False


class BlockTests(SynchronousTestCase):
    def run_block(self, calls: Any, error: Exception | None = None, end: str = "") -> list[str]:
        """Run a block; return the calls."""
        with BlockingTransaction(calls):
            if end:
                getattr(calls, end)()
            if error is not None:
                raise error
        made: list[str] = calls.made
        return made

    def test_ends(self) -> None:
        """A block commits once, or not at all if it was ended inside."""
        self.assertEqual(self.run_block(_Calls()), ["begin", "commit"])
        self.assertEqual(self.run_block(_Calls(), end="abort"), ["begin", "abort"])

    def test_exception(self) -> None:
        """An exception aborts and goes on, also if the abort fails."""
        for errors in ({}, {"abort": ConnectionFailed("x")}):
            calls = _Calls(**errors)
            self.assertRaises(ZeroDivisionError, self.run_block, calls, ZeroDivisionError())
            self.assertEqual(calls.made, ["begin", "abort"])
        self.assertEqual(len(self.flushLoggedErrors(ConnectionFailed)), 1)

    def test_failed_commit(self) -> None:
        """A transaction that has failed is aborted; one whose outcome is not known is not."""
        calls = _Calls(commit=AbortRequired("id", ValueError("x")))
        self.assertRaises(AbortRequired, self.run_block, calls)
        self.assertEqual(calls.made, ["begin", "commit", "abort"])
        calls = _Calls(commit=ConnectionFailed("x"))
        self.assertRaises(ConnectionFailed, self.run_block, calls)
        self.assertEqual(calls.made, ["begin", "commit"])
