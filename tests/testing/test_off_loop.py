"""Blocking calls from coroutines of three kinds."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import TypeVar

from twisted.internet import threads
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing.off_loop import run_in_thread

T = TypeVar("T")


class FakeTrio:
    """The parts of trio that are used: a current task, and calls in a worker thread.

    :ivar ran: the calls.
    """

    def __init__(self, running: bool) -> None:
        self._running = running
        self.ran: list[Callable[[], object]] = []
        self.lowlevel = SimpleNamespace(current_task=self._current_task)
        self.to_thread = SimpleNamespace(run_sync=self._run_sync)

    def _current_task(self) -> None:
        if not self._running:
            raise RuntimeError("must be called from async context")

    async def _run_sync(self, call: Callable[[], T]) -> T:
        self.ran.append(call)
        return call()


class RunInThreadTests(SynchronousTestCase):
    def test_asyncio(self) -> None:
        """Under asyncio the loop goes on while the call blocks."""
        released = threading.Event()

        async def main() -> bool:
            asyncio.get_running_loop().call_soon(released.set)
            return await run_in_thread(lambda: released.wait(30))

        self.assertTrue(asyncio.run(main()))

    def test_error(self) -> None:
        """An error of the call is the coroutine's."""
        with self.assertRaises(ZeroDivisionError):
            asyncio.run(run_in_thread(lambda: 1 // 0))

    def test_trio(self) -> None:
        """Under trio the call runs in one of its worker threads."""
        trio = FakeTrio(running=True)
        self.patch(sys, "modules", {**sys.modules, "trio": trio})
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(run_in_thread(lambda: 7))), 7)
        self.assertEqual(len(trio.ran), 1)

    def test_twisted(self) -> None:
        """Otherwise the call is deferred to a thread of Twisted's, also where trio is imported."""
        deferred: list[Callable[[], int]] = []

        def defer_to_thread(call: Callable[[], int]) -> Deferred[int]:
            deferred.append(call)
            return succeed(call())

        self.patch(threads, "deferToThread", defer_to_thread)
        self.patch(sys, "modules", {**sys.modules, "trio": FakeTrio(running=False)})
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(run_in_thread(lambda: 7))), 7)
        self.assertEqual(len(deferred), 1)
