"""Watches remember what has changed, report some changes late, and none of a lost connection."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Change
from kafkatx.metadata.cluster.state.watches import Watches


class WatchesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make watches of two paths, of which one is late."""
        self.clock = Clock()
        self.woken = 0
        self.watches = Watches(self.clock, ("/a", "/late"), {"/late": 1.0}, self.wake)

    def wake(self) -> None:
        """Count."""
        self.woken += 1

    def test_order(self) -> None:
        """Changed paths are taken in the given order, each once."""
        for path in ("/late", "/a", "/a"):
            self.watches.report(path)
        self.assertEqual((self.watches.take(), self.watches.take(), self.woken), (["/a", "/late"], [], 3))

    def test_late(self) -> None:
        """Several changes of a late path are reported once, a moment after the first."""
        for _ in range(2):
            self.watches.watch("/late")(Change.CHILDREN)
        self.assertEqual(self.watches.take(), [])
        self.clock.advance(1.0)
        self.assertEqual((self.watches.take(), self.woken), (["/late"], 1))

    def test_lost(self) -> None:
        """A lost watch reports nothing: all is read again anyway."""
        self.watches.watch("/a")(Change.LOST)
        self.assertEqual((self.watches.take(), self.woken), ([], 0))

    def test_clear(self) -> None:
        """Changes that were not taken are forgotten, also those that would be reported later."""
        self.watches.watch("/late")(Change.CHILDREN)
        self.watches.report("/a")
        self.watches.clear()
        self.assertEqual((self.watches.take(), self.clock.getDelayedCalls()), ([], []))
