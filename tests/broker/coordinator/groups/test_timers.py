"""The timers of groups: one for each group, at its deadline."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.groups.timers import GroupTimers
from kafkatx.group.actions import NEVER_MS


@attrs.define
class FakeGroup:
    """A group with a deadline."""

    group_id: str = "g"
    deadline_ms: int = NEVER_MS


class GroupTimersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make timers with a clock at 0."""
        self.clock = Clock()
        self.fired: list[tuple[str, int]] = []
        self.timers = GroupTimers(self.clock, self.note)
        self.group: Any = FakeGroup()

    def note(self, group: Any) -> None:
        """Record the group and the time."""
        self.fired.append((group.group_id, self.timers.now_ms()))

    def set(self, deadline_ms: int) -> None:
        """Move the deadline of the group."""
        self.group.deadline_ms = deadline_ms
        self.timers.set(self.group)

    def test_deadline(self) -> None:
        """The group is called at its deadline, once, and leaves no timer."""
        self.set(1500)
        self.clock.advance(1.4)
        self.assertEqual(self.fired, [])
        self.clock.advance(0.1)
        self.assertEqual((self.fired, self.clock.getDelayedCalls()), ([("g", 1500)], []))

    def test_never(self) -> None:
        """A group without a deadline has no timer."""
        self.set(NEVER_MS)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_past(self) -> None:
        """A deadline that has passed already is due at once, though not in the same call."""
        self.clock.advance(5)
        self.set(1000)
        self.assertEqual(self.fired, [])
        self.clock.advance(0)
        self.assertEqual(self.fired, [("g", 5000)])

    def test_later_deadline(self) -> None:
        """A later deadline leaves the timer as it is; it is set again when it fires."""
        self.set(1000)
        (timer,) = self.clock.getDelayedCalls()
        self.set(3000)
        self.assertEqual(self.clock.getDelayedCalls(), [timer])
        self.clock.advance(1)
        self.assertEqual(self.fired, [])
        self.clock.advance(2)
        self.assertEqual(self.fired, [("g", 3000)])

    def test_earlier_deadline(self) -> None:
        """An earlier deadline replaces the timer."""
        self.set(3000)
        self.set(1000)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        self.clock.advance(1)
        self.assertEqual(self.fired, [("g", 1000)])

    def test_drop(self) -> None:
        """A dropped group is not called; dropping one without a timer does nothing."""
        self.set(1000)
        self.timers.drop("g")
        self.timers.drop("g")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop(self) -> None:
        """A stop cancels the timers of all groups."""
        for name in ("a", "b"):
            other: Any = FakeGroup(name, 1000)
            self.timers.set(other)
        self.timers.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_time_never_goes_back(self) -> None:
        """The time stands still when the clock is set back, then continues from there."""
        self.clock.advance(10)
        self.assertEqual(self.timers.now_ms(), 10_000)
        self.clock.rightNow = 3.0
        self.assertEqual(self.timers.now_ms(), 10_000)
        self.clock.advance(1)
        self.assertEqual(self.timers.now_ms(), 11_000)
