"""Responses are changed in whatever form a handler gives them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.guards.calls import CompletedStaging, completed
from kafkatx.broker.requests.pending_answers import ExclusiveResponse, Staging


class Staged(Staging[Any]):
    """A staged answer whose response is a list."""

    alone = True

    def __init__(self, response: Any) -> None:
        self.response = response
        self.throttled = 0

    def throttle(self, throttle_time_ms: int) -> None:
        """Note the time."""
        self.throttled = throttle_time_ms

    def respond(self, failed: dict[object, OSError]) -> Any:
        """Return the response."""
        return self.response


def add(response: list[str]) -> None:
    """Change a response."""
    response.append("added")


class CompletedTests(SynchronousTestCase):
    def test_now(self) -> None:
        """A response that is there is changed at once."""
        found: Any = completed([], add)
        self.assertEqual(found, ["added"])

    def test_later(self) -> None:
        """A response to come is changed when it is there; its failure is passed on."""
        later: Deferred[Any] = Deferred()
        found: Any = completed(later, add)
        self.assertNoResult(found)
        later.callback([])
        self.assertEqual(self.successResultOf(found), ["added"])
        failing: Deferred[Any] = Deferred()
        found = completed(failing, add)
        failing.errback(KeyError())
        self.failureResultOf(found, KeyError)

    def test_exclusive(self) -> None:
        """A response in parts stays one."""
        exclusive: ExclusiveResponse[Any] = ExclusiveResponse(Deferred())
        self.assertIs(completed(exclusive, add), exclusive)
        exclusive.response.callback([])
        self.assertEqual(self.successResultOf(exclusive.response), ["added"])

    def test_staged(self) -> None:
        """A staged answer stays staged, alone if it was, and is throttled."""
        responses: tuple[Any, ...] = ([], Deferred())
        for response in responses:
            staged = Staged(response)
            found = completed(staged, add)
            assert isinstance(found, CompletedStaging)
            self.assertTrue(found.alone)
            found.throttle(7)
            self.assertEqual(staged.throttled, 7)
            told = found.respond({})
            if isinstance(response, Deferred):
                response.callback([])
                told = self.successResultOf(told)
            self.assertEqual(told, ["added"])
