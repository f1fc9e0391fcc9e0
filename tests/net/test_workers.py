"""Worker threads: which thread, in which order, and that they end."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from kafkatx.net.workers import ThreadWorkers


class ThreadWorkersTests(TestCase):
    """These need the reactor: results come back to its thread."""

    timeout = 10

    def setUp(self) -> None:
        """Make workers that end with the test."""
        self.workers = ThreadWorkers(reactor)  # type: ignore[arg-type]  # the module is the reactor
        self.addCleanup(self.workers.stop)

    async def test_result(self) -> None:
        """The function runs in a thread of its own, its result comes back to the reactor's."""
        ran_in = await self.workers("a")(threading.get_ident)
        self.assertNotEqual(ran_in, threading.get_ident())

    async def test_failure(self) -> None:
        """What the function raises is what the Deferred fails with."""

        def fails() -> None:
            raise OSError("disk")

        with self.assertRaisesRegex(OSError, "disk"):
            await self.workers("a")(fails)

    async def test_one_at_a_time_in_order(self) -> None:
        """Calls of one name run one after the other, as they were given, however they were got."""
        order: list[int] = []
        release = threading.Event()
        first: Deferred[Any] = self.workers("a")(lambda: release.wait(5))
        others = [self.workers("a")(partial(order.append, number)) for number in range(20)]
        self.assertEqual(order, [])
        release.set()
        await gatherResults([first, *others])
        self.assertEqual(order, list(range(20)))

    async def test_names_do_not_wait_for_each_other(self) -> None:
        """A worker that is busy holds up no worker of another name."""
        release = threading.Event()
        busy: Deferred[Any] = self.workers("a")(lambda: release.wait(5))
        self.assertEqual(await self.workers("b")(lambda: 42), 42)
        release.set()
        self.assertTrue(await busy)

    async def test_stop_ends_the_threads(self) -> None:
        """After stop() no thread is left, and what was given before has been done."""
        before = threading.active_count()
        done: list[int] = []
        self.workers("a")(lambda: done.append(1))
        self.workers.stop()
        self.assertEqual((done, threading.active_count()), ([1], before))
