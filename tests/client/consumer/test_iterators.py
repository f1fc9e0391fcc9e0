"""Tests of kafkatx.client.consumer.iterators in a thread; test_consumer has those in a coroutine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.client.consumer import iterators
from kafkatx.clientcore.errors import NoOffset
from tests.client.consumers import T0, ConsumerTestCase

DEADLINE_S = 10.0


class InTurn:
    """A thread that iterates; the test's thread plays the reactor and makes the calls."""

    def __init__(self, case: ConsumerTestCase, stream: Any) -> None:
        self.seen: list[int] = []
        self.failure: BaseException | None = None
        self._case = case
        self._stream = stream
        self._calls: queue.Queue[tuple[Callable[[], Deferred[Any]], queue.Queue[Any]]] = queue.Queue()
        self.thread = threading.Thread(target=self._run, daemon=True)
        case.patch(iterators, "blockingCallFromThread", self._call)

    def _run(self) -> None:
        try:
            for record in self._stream:
                self.seen.append(record.offset)
        except BaseException as error:
            self.failure = error

    def _call(self, reactor: Any, function: Callable[[], Deferred[Any]]) -> Any:
        answer: queue.Queue[Any] = queue.Queue()
        self._calls.put((function, answer))
        got = answer.get(timeout=DEADLINE_S)
        if isinstance(got, Failure):
            got.raiseException()
        return got

    def serve(self, calls: int) -> Deferred[Any]:
        """Make this many calls of the thread; return the last one's Deferred."""
        for _ in range(calls):
            function, answer = self._calls.get(timeout=DEADLINE_S)
            waiting = function()
            waiting.addBoth(answer.put)
            self._case.network.run(0.5)
        return waiting


class BlockingStreamTests(ConsumerTestCase):
    def test_endless(self) -> None:
        """The iterator yields records, waits for more, and ends when the consumer is closed."""
        self.make_topic("t", 1)
        self.fill(b"a", b"b")
        consumer = self.consumer(T0)
        turn = InTurn(self, consumer.stream())
        turn.thread.start()
        last = turn.serve(2)
        self.assertEqual(turn.seen, [0, 1])
        self.network.run(1)
        self.assertNoResult(last)
        self.assertEqual(self.wait(consumer.position(T0)), 2)
        self.fill(b"c")
        self.network.run(1)
        turn.serve(1)
        self.assertEqual(turn.seen, [0, 1, 2])
        self.wait(consumer.close())
        turn.thread.join(DEADLINE_S)
        self.assertIsNone(turn.failure)

    def test_errors(self) -> None:
        """The error in place of a record is raised in the thread."""
        self.make_topic("t", 1)
        consumer = self.consumer(T0, auto_offset_reset="none")
        turn = InTurn(self, consumer.stream())
        turn.thread.start()
        turn.serve(1)
        turn.thread.join(DEADLINE_S)
        self.assertIsInstance(turn.failure, NoOffset)
