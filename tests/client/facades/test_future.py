"""Tests of kafkatx.client.facades.future."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.facades.future import DeferredFuture
from kafkatx.errors import KafkaTXError


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of a coroutine function, run in a new loop."""

    async def body() -> Any:
        return await main()

    return asyncio.run(body())


class DeferredFutureTests(SynchronousTestCase):
    def test_result(self) -> None:
        """The future returns the result of a Deferred that fires before or after it is awaited."""

        async def main() -> tuple[int, int]:
            later: Deferred[int] = Deferred()
            asyncio.get_running_loop().call_soon(later.callback, 2)
            return await DeferredFuture(succeed(1)), await DeferredFuture(later)

        self.assertEqual(run(main), (1, 2))

    def test_failure(self) -> None:
        """The future raises the very exception that the Deferred fails with."""
        error = KafkaTXError("no")

        async def main() -> None:
            await DeferredFuture(fail(error))

        self.assertIs(self.assertRaises(KafkaTXError, run, main), error)

    def test_cancel(self) -> None:
        """A cancelled task cancels the Deferred before the loop's next turn; its later result is dropped."""
        cancelled: list[Deferred[None]] = []
        waiting: Deferred[None] = Deferred(cancelled.append)

        async def wait() -> None:
            await DeferredFuture(waiting)

        async def main() -> int:
            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            task.cancel()
            at_once = len(cancelled)
            await asyncio.gather(task, return_exceptions=True)
            return at_once if task.cancelled() else -1

        self.assertEqual(run(main), 1)

    def test_cancelled_deferred(self) -> None:
        """A Deferred that is cancelled from Twisted's side cancels the future."""

        async def main() -> bool:
            deferred: Deferred[None] = Deferred()
            answer = DeferredFuture(deferred)
            deferred.cancel()
            return answer.cancelled()

        self.assertTrue(run(main))

    def test_done(self) -> None:
        """A future that is done cannot be cancelled."""

        async def main() -> bool:
            return DeferredFuture(succeed(1)).cancel()

        self.assertFalse(run(main))
