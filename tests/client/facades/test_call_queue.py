"""Tests of kafkatx.client.facades.call_queue: calls from threads, made in the reactor's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorFromThreads
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.client.facades import call_queue
from kafkatx.client.facades.call_queue import CallQueue
from kafkatx.clientcore.errors import BufferExhausted, ClientClosed, RecordsLost


@implementer(IReactorFromThreads)
class Turns:
    """A reactor whose turns the test makes."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], Any]] = []

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        """Call it in the next turn."""
        self.calls.append(lambda: callable(*args, **kwargs))

    def turn(self) -> int:
        """Make one turn; return the number of calls in it."""
        calls, self.calls = self.calls, []
        for call in calls:
            call()
        return len(calls)


class CallQueueTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a queue of calls to a producer that has memory."""
        self.reactor = Turns()
        self.room: Deferred[None] = succeed(None)
        self.made: list[int] = []
        self.calls = CallQueue(self.reactor, self.ready)

    def ready(self) -> Deferred[None]:
        """Return the producer's Deferred."""
        waiting: Deferred[None] = Deferred()
        self.room.addCallbacks(waiting.callback, waiting.errback)
        return waiting

    def put(self, number: int) -> Future[int]:
        """Queue a call that returns its number."""

        def call() -> Deferred[int]:
            self.made.append(number)
            return succeed(number)

        return self.calls.put(call)

    def test_order(self) -> None:
        """Calls are made in order, with one waking for all of them, and their results come."""
        outcomes = [self.put(number) for number in range(3)]
        self.assertEqual(self.reactor.turn(), 1)
        self.assertEqual([outcome.result(0) for outcome in outcomes], [0, 1, 2])
        self.put(3)
        self.assertEqual(self.reactor.turn(), 1)
        self.assertEqual(self.made, [0, 1, 2, 3])

    def test_failure(self) -> None:
        """A call that fails fails its own future."""
        outcome = self.calls.put(lambda: fail(ZeroDivisionError()))
        other = self.put(1)
        self.reactor.turn()
        self.assertRaises(ZeroDivisionError, outcome.result, 0)
        self.assertEqual(other.result(0), 1)

    def test_tell(self) -> None:
        """Calls without results keep the order; their errors reach a callback or the check."""
        heard: list[Any] = []

        def raising(what: str) -> None:
            raise ZeroDivisionError(what)

        def on_delivery(error: Any, metadata: Any) -> None:
            heard.append((str(error), metadata))

        self.put(0)
        self.calls.tell(self.made.append, (1,), None)
        self.calls.tell(raising, ("heard",), on_delivery)
        self.calls.tell(raising, ("counted",), None)
        self.put(2)
        self.reactor.turn()
        self.assertEqual((self.made, heard), ([0, 1, 2], [("heard", None)]))
        self.room = fail(BufferExhausted("full"))
        self.calls.tell(self.made.append, (3,), on_delivery)
        self.reactor.turn()
        self.assertEqual(heard[1:], [("full", None)])
        error = self.assertRaises(RecordsLost, self.calls.check)
        self.assertEqual((error.count, str(error.first)), (1, "counted"))
        self.calls.check()

    def test_no_room(self) -> None:
        """While there is no room no call is made, and those that come meanwhile follow."""
        self.room = Deferred()
        outcomes = [self.put(0), self.put(1)]
        self.reactor.turn()
        outcomes.append(self.put(2))
        self.reactor.turn()
        self.assertEqual(self.made, [])
        self.room.callback(None)
        self.assertEqual(self.made, [0, 1, 2])
        self.assertEqual([outcome.result(0) for outcome in outcomes], [0, 1, 2])

    def test_room_never_comes(self) -> None:
        """All that have waited fail with the same error, and the next are tried again."""
        self.room = fail(BufferExhausted("full"))
        outcomes = [self.put(0), self.put(1)]
        self.reactor.turn()
        for outcome in outcomes:
            self.assertRaises(BufferExhausted, outcome.result, 0)
        self.room = succeed(None)
        after = self.put(2)
        self.reactor.turn()
        self.assertEqual((after.result(0), self.made), (2, [2]))

    def test_cancelled(self) -> None:
        """A call whose future is cancelled in time is not made."""
        self.assertTrue(self.put(0).cancel())
        self.put(1)
        self.reactor.turn()
        self.assertEqual(self.made, [1])

    def test_rest(self) -> None:
        """Rest comes when all is made; at once if nothing was handed over."""
        self.successResultOf(self.calls.wait_until_empty())
        self.put(0)
        waiting = self.calls.wait_until_empty()
        self.assertNoResult(waiting)
        self.reactor.turn()
        self.successResultOf(waiting)

    def test_too_many(self) -> None:
        """A thread that queues too many calls waits until some of them are made."""
        self.patch(call_queue, "CALLS", 2)
        self.put(0)
        self.put(1)
        passed = threading.Event()

        def third() -> None:
            self.put(2)
            passed.set()

        thread = threading.Thread(target=third, daemon=True)
        thread.start()
        self.assertFalse(passed.wait(0.05))
        self.reactor.turn()
        self.assertTrue(passed.wait(10))
        thread.join()

    def test_closed(self) -> None:
        """A closed queue takes no calls; callers that wait for memory fail, too."""
        self.patch(call_queue, "CALLS", 1)
        self.put(0)
        told: Future[None] = Future()

        def second() -> None:
            try:
                self.put(1)
            except ClientClosed:
                told.set_result(None)

        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        self.calls.close()
        told.result(10)
        thread.join()
        self.assertRaises(ClientClosed, self.put, 2)
        self.reactor.turn()
        self.assertEqual(self.made, [0])
