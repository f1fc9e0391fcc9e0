"""Worker threads: their names, the order of their calls, and their end."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from kafkatx.net.workers import ThreadWorkers
from tests.until import until


class ThreadWorkersTests(TestCase):
    """Tests that need the reactor, since results return to its thread."""

    timeout = 10

    def setUp(self) -> None:
        """Make workers that end with the test."""
        self.workers = ThreadWorkers(reactor)  # type: ignore[arg-type]  # the module is the reactor
        self.addCleanup(self.workers.stop)

    async def test_result(self) -> None:
        """The function runs in a thread of its own, and its result returns to the reactor's thread."""
        ran_in = await self.workers("a")(threading.get_ident)
        self.assertNotEqual(ran_in, threading.get_ident())

    async def test_failure(self) -> None:
        """The Deferred fails with the exception that the function raises."""

        def fails() -> None:
            raise OSError("disk")

        with self.assertRaisesRegex(OSError, "disk"):
            await self.workers("a")(fails)

    async def test_one_at_a_time_in_order(self) -> None:
        """Calls of one name run one after the other, in order, however the worker was obtained."""
        order: list[int] = []
        release = threading.Event()
        first: Deferred[Any] = self.workers("a")(lambda: release.wait(5))
        others = [self.workers("a")(partial(order.append, number)) for number in range(20)]
        self.assertEqual(order, [])
        release.set()
        await gatherResults([first, *others])
        self.assertEqual(order, list(range(20)))

    async def test_names_do_not_wait_for_each_other(self) -> None:
        """A busy worker does not delay a worker of another name."""
        release = threading.Event()
        busy: Deferred[Any] = self.workers("a")(lambda: release.wait(5))
        self.assertEqual(await self.workers("b")(lambda: 42), 42)
        release.set()
        self.assertTrue(await busy)

    async def test_daemons(self) -> None:
        """The process waits for the threads at its end unless they are daemons."""
        daemons = ThreadWorkers(reactor, daemon=True)  # type: ignore[arg-type]
        self.addCleanup(daemons.stop)
        for workers, expected in ((self.workers, False), (daemons, True)):
            self.assertIs((await workers("a")(threading.current_thread)).daemon, expected)

    def test_as_their_reactors_thread(self) -> None:
        """In a daemon thread, where an embedded broker has its reactor, threads are daemons, too."""
        found: list[bool] = []

        def start() -> None:
            pool = ThreadWorkers(reactor)._pool("a")  # type: ignore[arg-type]
            self.addCleanup(pool.stop)
            pool.callInThread(lambda: found.append(threading.current_thread().daemon))

        starting = threading.Thread(target=start, daemon=True)
        starting.start()
        starting.join()
        until(lambda: bool(found), "the thread has run")
        self.assertEqual(found, [True])

    async def test_stop_ends_the_threads(self) -> None:
        """No thread is left after stop(), and earlier calls have been completed."""
        before = threading.active_count()
        done: list[int] = []
        self.workers("a")(lambda: done.append(1))
        self.workers.stop()
        self.assertEqual((done, threading.active_count()), ([1], before))
