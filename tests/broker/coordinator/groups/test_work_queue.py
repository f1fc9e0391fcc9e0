"""GroupWorkQueue: work of groups that is deferred under load."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.groups.work_queue import TURN_S, GroupWorkQueue
from kafkatx.errors import ErrorCode, RequestError


class FakeReactor:
    """A reactor that keeps the calls for its next turn."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.calls: list[Any] = []

    def seconds(self) -> float:
        """Return the time, which only work moves."""
        return self.now_s

    def callLater(self, delay: float, function: Any) -> Any:
        """Keep the call for the next turn; return it, so that it can be cancelled."""
        self.calls.append(function)
        return SimpleNamespace(cancel=lambda: self.calls.remove(function))


class TurnsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a queue and a reactor whose time work moves."""
        self.reactor = FakeReactor()
        clock: Any = self.reactor
        self.queue = GroupWorkQueue(clock)
        self.done: list[str] = []

    def work(self, name: str, seconds: float = TURN_S / 2, result: Any = None) -> Any:
        """Do a piece of work that takes a given time."""

        def do() -> Any:
            self.done.append(name)
            self.reactor.now_s += seconds
            if isinstance(result, Exception):
                raise result
            return name if result is None else result

        return self.queue.run(do)

    def turn(self) -> None:
        """Run one turn of the reactor."""
        calls, self.reactor.calls = self.reactor.calls, []
        for call in calls:
            call()

    def test_little(self) -> None:
        """A small amount of work is done at once, without a timer."""
        for number in range(10):
            self.assertEqual(self.work(str(number)), str(number))
            self.reactor.now_s += TURN_S
        self.assertEqual(self.reactor.calls, [])

    def test_much(self) -> None:
        """A large amount of work is spread over turns of the reactor, in order."""
        waiting = [self.work(name) for name in "abcdefg"]
        self.assertEqual((waiting[:2], self.done), (["a", "b"], ["a", "b"]))
        for done in ("abcd", "abcdef", "abcdefg"):
            self.turn()
            self.assertEqual("".join(self.done), done)
        self.assertEqual([self.successResultOf(one) for one in waiting[2:]], list("cdefg"))
        self.assertEqual(self.reactor.calls, [])

    def test_order(self) -> None:
        """New work is queued behind work that waits, however little was done recently."""
        self.work("a", TURN_S)
        late = self.work("b")
        self.reactor.now_s += 10
        later = self.work("c", 0)
        self.assertEqual(self.done, ["a"])
        self.turn()
        self.assertEqual([self.successResultOf(one) for one in (late, later)], ["b", "c"])

    def test_fails(self) -> None:
        """Work that fails at once or later fails only its own Deferred."""
        error = RequestError(ErrorCode.INVALID_REQUEST)
        self.assertRaises(RequestError, self.work, "a", TURN_S, error)
        failing, following = self.work("b", 0, error), self.work("c", 0)
        self.turn()
        self.assertIs(self.failureResultOf(failing).value, error)
        self.assertEqual(self.successResultOf(following), "c")

    def test_answer_later(self) -> None:
        """Work may return a Deferred; cancelling the queue's Deferred cancels it."""
        self.work("a", TURN_S)
        cancelled: list[Any] = []
        first: Deferred[str] = Deferred()
        second: Deferred[str] = Deferred(cancelled.append)
        one, other = self.work("b", 0, first), self.work("c", 0, second)
        self.turn()
        self.assertNoResult(one)
        first.callback("done")
        self.assertEqual(self.successResultOf(one), "done")
        other.cancel()
        self.assertEqual(cancelled, [second])
        self.failureResultOf(other, CancelledError)

    def test_cancelled_before(self) -> None:
        """Cancelled work is not done."""
        self.work("a", TURN_S)
        gone, stays = self.work("b"), self.work("c")
        gone.cancel()
        self.failureResultOf(gone, CancelledError)
        self.turn()
        self.assertEqual((self.done, self.successResultOf(stays)), (["a", "c"], "c"))

    def test_stop(self) -> None:
        """No work is begun after a stop, and no timer is left."""
        self.work("a", TURN_S)
        self.assertNoResult(self.work("b"))
        self.queue.stop()
        self.assertEqual(self.reactor.calls, [])
        self.queue.stop()
