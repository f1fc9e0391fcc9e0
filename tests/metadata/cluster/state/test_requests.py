"""Many requests at once are bounded and end with the first error; a missing node is no error."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.cluster.state.requests import children, each, read
from tests.metadata.cluster.memory import MemoryCase


class EachTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keep the calls that were made."""
        self.calls: dict[int, Deferred[str]] = {}

    async def call(self, item: int) -> str:
        """Wait for the test."""
        self.calls[item] = Deferred()
        return await self.calls[item]

    def test_bounded(self) -> None:
        """No more calls than allowed are under way; the results are in the order of the items."""
        doing = Deferred.fromCoroutine(each(self.call, range(4), at_once=2))
        self.assertEqual(list(self.calls), [0, 1])
        for number in (1, 0, 3, 2):
            if number not in self.calls:
                number = max(self.calls)
            self.calls[number].callback(f"result {number}")
        for number, call in list(self.calls.items()):
            if not call.called:
                call.callback(f"result {number}")
        self.assertEqual(self.successResultOf(doing), [f"result {number}" for number in range(4)])

    def test_error(self) -> None:
        """The first error is raised, and no further calls begin."""
        doing = Deferred.fromCoroutine(each(self.call, range(9), at_once=2))
        self.calls[1].errback(KeyError("x"))
        self.failureResultOf(doing, KeyError)
        self.calls[0].callback("")
        self.assertEqual(list(self.calls), [0, 1])

    def test_nothing(self) -> None:
        """Without items there are no results."""
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(each(self.call, []))), [])


class MissingTests(MemoryCase):
    def test_missing(self) -> None:
        """A missing node has no content and no children."""
        tree = self.stores.make_tree()
        self.result(tree.connect())
        self.assertIsNone(self.result(Deferred.fromCoroutine(read(tree, "/a"))))
        self.assertEqual(self.result(Deferred.fromCoroutine(children(tree, "/a"))), [])
