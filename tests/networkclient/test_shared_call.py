"""Tests of kafkatx.networkclient.shared_call."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.networkclient.shared_call import SharedCall


class SharedCallTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Work that ends when the test says so."""
        self.shared: SharedCall[str] = SharedCall()
        self.started: list[str] = []
        self.ends: dict[str, Deferred[str]] = {}

    async def work(self, key: str) -> str:
        """Note it, and wait."""
        self.started.append(key)
        self.ends[key] = Deferred()
        return await self.ends[key]

    def wait(self, key: str) -> Deferred[str]:
        """One who asks."""
        return self.shared.wait(key, lambda: self.work(key))

    def test_once(self) -> None:
        """What runs is not started again, per key; afterwards it is."""
        a1, b, a2 = self.wait("a"), self.wait("b"), self.wait("a")
        self.assertEqual(self.started, ["a", "b"])
        self.ends["a"].callback("done")
        self.assertEqual((self.successResultOf(a1), self.successResultOf(a2)), ("done", "done"))
        self.assertNoResult(b)
        self.wait("a")
        self.assertEqual(self.started, ["a", "b", "a"])

    def test_at_once(self) -> None:
        """Work that ends before it is waited for is done."""

        async def quick() -> str:
            return "quick"

        for _ in range(2):
            self.assertEqual(self.successResultOf(self.shared.wait("a", quick)), "quick")

    def test_failure(self) -> None:
        """All who wait get the error, and who asks then starts anew."""
        first, second = self.wait("a"), self.wait("a")
        self.ends["a"].errback(ValueError("no"))
        for one in (first, second):
            self.assertEqual(str(self.failureResultOf(one, ValueError).value), "no")
        self.assertNoResult(self.wait("a"))

    def test_cancel(self) -> None:
        """One who does not wait any more does not end it for the others."""
        first, second = self.wait("a"), self.wait("a")
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.ends["a"].callback("done")
        self.assertEqual(self.successResultOf(second), "done")

    def test_close(self) -> None:
        """What runs is cancelled, and who waits is told why."""
        waiting = self.wait("a")
        self.shared.close(ValueError("closed"))
        self.failureResultOf(waiting, ValueError)
        self.assertIsNone(self.successResultOf(self.ends["a"].addErrback(lambda _: None)))
