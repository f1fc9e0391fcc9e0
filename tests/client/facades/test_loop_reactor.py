"""Tests of kafkatx.client.facades.loop_reactor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.facades import loop_reactor
from kafkatx.client.facades.future import DeferredFuture
from kafkatx.client.facades.loop_reactor import ReactorLease


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of a coroutine function, run in a new loop."""

    async def body() -> Any:
        return await main()

    return asyncio.run(body())


class ReactorLeaseTests(SynchronousTestCase):
    def test_one_for_all(self) -> None:
        """Clients of one loop share a reactor, which ends with the last of them, with its timers."""

        async def main() -> None:
            loop = asyncio.get_running_loop()
            one, two = ReactorLease(loop), ReactorLease(loop)
            reactor = one.reactor
            self.assertIs(reactor, two.reactor)
            self.assertTrue(reactor.running)
            one.end()
            one.end()
            await asyncio.sleep(0)
            self.assertIn(loop, loop_reactor._reactors)
            two.end()
            await asyncio.sleep(0)
            self.assertNotIn(loop, loop_reactor._reactors)
            self.assertEqual(reactor.getReaders(), [])
            third = ReactorLease(loop)
            self.assertIsNot(third.reactor, reactor)
            third.end()

        run(main)

    def test_another_comes(self) -> None:
        """A client that comes as the last one goes keeps the reactor."""

        async def main() -> None:
            loop = asyncio.get_running_loop()
            one = ReactorLease(loop)
            one.end()
            two = ReactorLease(loop)
            await asyncio.sleep(0)
            self.assertIs(one.reactor, two.reactor)
            self.assertTrue(two.reactor.getReaders())
            two.end()

        run(main)

    def test_works(self) -> None:
        """Calls from threads and timers come; pool threads keep no process from ending."""

        async def main() -> bool:
            lease = ReactorLease(asyncio.get_running_loop())
            pooled: Deferred[bool] = Deferred()
            pool = lease.reactor.getThreadPool()

            def work() -> None:
                import threading

                daemon = threading.current_thread().daemon
                lease.reactor.callFromThread(lease.reactor.callLater, 0, pooled.callback, daemon)

            pool.callInThread(work)
            try:
                return await DeferredFuture(pooled)
            finally:
                lease.end()

        self.assertTrue(run(main))

    def test_installed(self) -> None:
        """A reactor that Twisted has installed on this loop is used, and not stopped."""

        async def main() -> None:
            loop = asyncio.get_running_loop()
            installed = SimpleNamespace(_asyncioEventloop=loop)
            self.patch(sys, "modules", {**sys.modules, "twisted.internet.reactor": installed})
            lease = ReactorLease(loop)
            self.assertIs(lease.reactor, installed)
            lease.end()

        run(main)
