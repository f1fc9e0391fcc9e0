"""Tests of kafkatx.networkclient.forks: a client reports that it is used in a fork of its process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from twisted.python.failure import Failure

from kafkatx.client.facades.call_queue import CallQueue
from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.clientcore.errors import ForkedClient
from tests.client.producing import ProducerTestCase

PATIENCE_S = 30


def in_fork(body: Callable[[], Any]) -> Any:
    """Call a function in a fork of this process; return its result by JSON."""
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(PATIENCE_S)  # a call that never ends ends the child
        try:
            os.write(writable, json.dumps(body()).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with open(readable, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told or b'"nothing"')


def raised(call: Callable[[], Any]) -> str:
    """Return the error of a call, raised or in its Deferred."""
    try:
        outcome: list[Any] = []
        call().addBoth(outcome.append)
    except Exception as error:
        return type(error).__name__
    if not outcome:
        return "never"
    return type(outcome[0].value).__name__ if isinstance(outcome[0], Failure) else "success"


class ForksTests(ProducerTestCase):
    def test_producer(self) -> None:
        """Every call fails in the fork, nothing is closed there, and the parent goes on."""
        producer = self.producer(linger_ms=1000)
        self.result(producer.send("one", b"0"), 2)
        waiting = producer.send("one", b"1")

        def body() -> list[str]:
            calls: list[Callable[[], Any]] = [
                lambda: producer.send("one", b"2"),
                lambda: producer.send("new", b"2"),
                lambda: producer.send_batch("one", [b"2"]),
                lambda: producer.produce("one", b"2"),
                producer.ready,
                producer.flush,
                producer.close,
            ]
            return [raised(call) for call in calls] + [str(len(self.network.live()))]

        live = len(self.network.live())
        self.assertEqual(in_fork(body), ["ForkedClient"] * 7 + [str(live)])
        self.assertEqual(self.result(waiting, 2).offset, 1)
        self.assertEqual(self.log().values, [b"0", b"1"])

    def test_thread(self) -> None:
        """A reactor's thread does not exist in the fork: calls into it fail, and it stops at once."""
        thread = ReactorThread("test")
        self.addCleanup(thread.stop)
        queue = CallQueue(thread.reactor, lambda: self.fail("never"))

        def body() -> list[str]:
            calls: list[Callable[[], Any]] = [
                lambda: thread.do(lambda: None),
                lambda: queue.put(lambda: self.fail("never")),
                lambda: queue.tell(self.fail, (), None),
            ]
            found = [raised(call) for call in calls]
            thread.stop()
            return found

        self.assertEqual(in_fork(body), ["ForkedClient"] * 3)

    def test_words(self) -> None:
        """The message says what to do."""
        self.assertIn("make a client after the fork", str(ForkedClient(1, 2)))
