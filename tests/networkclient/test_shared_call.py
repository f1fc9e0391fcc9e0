"""Tests of kafkatx.networkclient.shared_call."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.networkclient.shared_call import SharedCall


class SharedCallTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make work that ends when the test says so."""
        self.shared: SharedCall[str] = SharedCall()
        self.started: list[str] = []
        self.ends: dict[str, Deferred[str]] = {}

    async def work(self, key: str) -> str:
        """Record the key, and wait."""
        self.started.append(key)
        self.ends[key] = Deferred()
        return await self.ends[key]

    def wait(self, key: str) -> Deferred[str]:
        """Call for a key."""
        return self.shared.wait(key, lambda: self.work(key))

    def test_once(self) -> None:
        """Work in progress is shared per key, and started again afterwards."""
        a1, b, a2 = self.wait("a"), self.wait("b"), self.wait("a")
        self.assertEqual(self.started, ["a", "b"])
        self.ends["a"].callback("done")
        self.assertEqual((self.successResultOf(a1), self.successResultOf(a2)), ("done", "done"))
        self.assertNoResult(b)
        self.wait("a")
        self.assertEqual(self.started, ["a", "b", "a"])

    def test_at_once(self) -> None:
        """Work that ends synchronously gives its result."""

        async def quick() -> str:
            return "quick"

        for _ in range(2):
            self.assertEqual(self.successResultOf(self.shared.wait("a", quick)), "quick")

    def test_failure(self) -> None:
        """All callers get the error, and the next caller starts the work again."""
        first, second = self.wait("a"), self.wait("a")
        self.ends["a"].errback(ValueError("no"))
        for one in (first, second):
            self.assertEqual(str(self.failureResultOf(one, ValueError).value), "no")
        self.assertNoResult(self.wait("a"))

    def test_cancel(self) -> None:
        """A cancelled caller does not end the work of the others."""
        first, second = self.wait("a"), self.wait("a")
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.ends["a"].callback("done")
        self.assertEqual(self.successResultOf(second), "done")

    def test_close(self) -> None:
        """A close cancels the work, and callers get the close's error."""
        waiting = self.wait("a")
        self.shared.close(ValueError("closed"))
        self.failureResultOf(waiting, ValueError)
        self.assertIsNone(self.successResultOf(self.ends["a"].addErrback(lambda _: None)))
