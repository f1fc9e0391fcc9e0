"""Deadlines of members: those that expire, and those that were put off."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.consumer.deadlines import Deadlines, Wait


class DeadlineTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make deadlines of two members."""
        self.deadlines = Deadlines()
        self.deadlines.set(Wait.SESSION, "a", 100)
        self.deadlines.set(Wait.SESSION, "b", 200)

    def test_expire(self) -> None:
        """A deadline expires once, not before its time, and leaves the next one as the earliest."""
        self.assertEqual(self.deadlines.expire(99), {})
        self.assertEqual(self.deadlines.expire(100), {"a": Wait.SESSION})
        self.assertEqual(self.deadlines.earliest_ms, 200)
        self.assertEqual(self.deadlines.expire(1000), {"b": Wait.SESSION})
        self.assertEqual((self.deadlines.earliest_ms, len(self.deadlines)), (NEVER_MS, 0))

    def test_put_off(self) -> None:
        """A deadline that was put off does not expire at its old time, when it is looked at once."""
        self.deadlines.set(Wait.SESSION, "a", 300)
        self.assertEqual(self.deadlines.earliest_ms, 100)
        self.assertEqual(self.deadlines.expire(100), {})
        self.assertEqual(self.deadlines.earliest_ms, 200)

    def test_set_once(self) -> None:
        """A deadline that is set is not put off by being set once."""
        self.deadlines.set_once(Wait.JOIN, "a", 50)
        self.deadlines.set_once(Wait.JOIN, "a", 5000)
        self.assertEqual(self.deadlines.expire(50), {"a": Wait.JOIN})
        self.deadlines.set_once(Wait.JOIN, "a", 60)
        self.assertEqual(self.deadlines.expire(60), {"a": Wait.JOIN})

    def test_cancel_and_forget(self) -> None:
        """A cancelled deadline does not expire, and neither do those of a forgotten member."""
        self.deadlines.set(Wait.SYNC, "a", 100)
        self.deadlines.cancel(Wait.SESSION, "a")
        self.deadlines.cancel(Wait.JOIN, "nobody")
        self.assertEqual(self.deadlines.expire(100), {"a": Wait.SYNC})
        self.deadlines.set(Wait.REVOCATION, "b", 150)
        self.deadlines.forget("b")
        self.assertEqual((self.deadlines.expire(1000), len(self.deadlines)), ({}, 0))

    def test_two_at_once(self) -> None:
        """A member with two expired deadlines is returned once, and keeps neither."""
        self.deadlines.set(Wait.SYNC, "a", 90)
        self.assertEqual(list(self.deadlines.expire(100)), ["a"])
        self.assertEqual((self.deadlines.earliest_ms, len(self.deadlines)), (200, 1))
