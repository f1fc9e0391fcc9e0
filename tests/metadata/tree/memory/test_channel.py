"""Tests of one direction of a connection in memory."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.tree.memory.channel import Channel


class ChannelTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a channel."""
        self.clock = Clock()
        self.channel = Channel(self.clock)
        self.heard: list[int] = []

    def call(self, number: int) -> Callable[[], None]:
        """Return a call that notes a number."""
        return lambda: self.heard.append(number)

    def test_never_at_once(self) -> None:
        """A call is not delivered within send, also without a delay."""
        self.channel.send(self.call(1))
        self.assertEqual(self.heard, [])
        self.clock.advance(0)
        self.assertEqual(self.heard, [1])

    def test_order_with_delays(self) -> None:
        """A call with a shorter delay does not overtake one before it."""
        self.channel.delay_s = 2.0
        self.channel.send(self.call(1))
        self.channel.delay_s = 0.5
        self.channel.send(self.call(2))
        self.clock.advance(1.5)
        self.assertEqual(self.heard, [])
        self.clock.advance(0.5)
        self.clock.advance(0)
        self.assertEqual(self.heard, [1, 2])

    def test_hold(self) -> None:
        """Calls that are held wait for the release, and keep their order."""
        self.channel.send(self.call(1))
        self.channel.hold()
        self.channel.send(self.call(2))
        self.clock.advance(5)
        self.assertEqual((self.heard, self.clock.getDelayedCalls()), ([], []))
        self.channel.release()
        self.clock.pump([0, 0])
        self.assertEqual(self.heard, [1, 2])

    def test_clear(self) -> None:
        """Calls that are cleared are not delivered, and leave no timer."""
        self.channel.send(self.call(1))
        for call in self.channel.clear():
            call()
        self.assertEqual((self.heard, self.clock.getDelayedCalls()), ([1], []))
