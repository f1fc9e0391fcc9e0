"""The changes of one request end with the first that is not made in time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests import serial_changes
from kafkatx.broker.requests.serial_changes import SerialChanges
from kafkatx.errors import ErrorCode, RequestError


class SerialChangesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make no change yet."""
        self.changes = SerialChanges()
        self.made: list[str] = []

    def make(self, name: str, code: ErrorCode = ErrorCode.NONE) -> ErrorCode:
        """Make a change that fails with a code; return the code of the outcome."""

        async def change() -> str:
            self.made.append(name)
            if code:
                raise RequestError(code)
            return name

        making = Deferred.fromCoroutine(self.changes.make(change))
        if making.called and not isinstance(making.result, str):
            error = self.failureResultOf(making, RequestError).value
            assert isinstance(error, RequestError)
            return error.code
        self.assertEqual(self.successResultOf(making), name)
        return ErrorCode.NONE

    def test_errors(self) -> None:
        """A change that is refused does not stop others."""
        self.assertEqual(self.make("a", ErrorCode.INVALID_CONFIG), ErrorCode.INVALID_CONFIG)
        self.assertEqual(self.make("b"), ErrorCode.NONE)
        self.assertEqual(self.made, ["a", "b"])

    def test_late(self) -> None:
        """After a change that was not made in time no other is tried."""
        self.assertEqual(self.make("a", ErrorCode.REQUEST_TIMED_OUT), ErrorCode.REQUEST_TIMED_OUT)
        self.assertEqual(self.make("b"), ErrorCode.REQUEST_TIMED_OUT)
        self.assertEqual(self.made, ["a"])

    def test_all(self) -> None:
        """Changes are begun in order, some at a time; each has its outcome, also one that is refused."""
        self.patch(serial_changes, "AT_ONCE", 2)
        waiting: dict[str, Deferred[str]] = {name: Deferred() for name in "abc"}
        begun: list[str] = []

        def change(name: str) -> Deferred[str]:
            begun.append(name)
            return waiting[name]

        pause: Callable[[], Deferred[None]] = lambda: succeed(None)  # noqa: E731
        making = Deferred.fromCoroutine(
            self.changes.make_all([partial(change, name) for name in "abc"], pause)
        )
        self.assertEqual(begun, ["a", "b"])
        refused = RequestError(ErrorCode.INVALID_CONFIG)
        waiting["b"].errback(refused)
        waiting["a"].callback("A")
        self.assertEqual(begun, ["a", "b", "c"])
        waiting["c"].callback("C")
        self.assertEqual(self.successResultOf(making), ["A", refused, "C"])
