"""The audit of the console."""

from __future__ import annotations

from twisted.internet.defer import CancelledError
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.actions import MOST, Actions
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.net.requests import Session
from kafkatx.web.calls import Call


class ActionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an audit, and a call."""
        self.actions = Actions(lambda: 5, False)
        self.call = Call("POST", "/", (), {}, session=Session("User:ann"), client="192.0.2.1")

    def test_results(self) -> None:
        """Each change is noted with its result, also if it fails or is given up."""
        for error in (None, RequestError(ErrorCode.INVALID_CONFIG, "no"), ValueError("x"), CancelledError()):
            try:
                with self.actions.change(self.call, "create topic", "t"):
                    if error is not None:
                        raise error
            except (RequestError, ValueError, CancelledError) as raised:
                self.assertIs(raised, error)
        found = self.actions.newest()
        self.assertEqual(
            [one.result for one in reversed(found)],
            ["done", "INVALID_CONFIG: no", "failed: ValueError", "given up before its end"],
        )
        one = found[0]
        told = (one.time_ms, one.principal, one.address, one.action, one.resource)
        self.assertEqual(told, (5, "User:ann", "192.0.2.1", "create topic", "t"))

    def test_part(self) -> None:
        """A change that is made in part says so itself."""
        with self.actions.change(self.call, "delete records", "t") as change:
            change.result = "1 of 2"
        self.assertEqual(self.actions.newest()[0].result, "1 of 2")

    def test_read_only(self) -> None:
        """A read-only console begins no change."""
        actions, done = Actions(lambda: 5, True), []
        with self.assertRaises(ConsoleError) as caught, actions.change(self.call, "create topic", "t"):
            done.append(1)
        self.assertEqual((caught.exception.status, caught.exception.code, done), (403, "READ_ONLY", []))

    def test_bounded(self) -> None:
        """The newest are kept, each cut."""
        for number in range(MOST + 1):
            with self.actions.change(self.call, "a", f"{number}" + "x" * 5000):
                pass
        found = self.actions.newest()
        self.assertEqual((len(found), found[0].resource[:5]), (MOST, f"{MOST}x"))
        self.assertLess(len(found[0].resource), 400)

    def test_logged(self) -> None:
        """A line of the log tells it, and no name breaks the line."""
        with capturedLogs() as events, self.actions.change(self.call, "create topic", "a\nb"):
            pass
        (line,) = map(formatEvent, events)
        self.assertNotIn("\n", line)
        self.assertIn("'User:ann' from 192.0.2.1: create topic 'a\\nb': 'done'", line)
