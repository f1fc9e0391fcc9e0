"""Deadlines of members: what is due, and what was put off."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.consumer.deadlines import Deadlines, Wait


class DeadlineTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make some."""
        self.deadlines = Deadlines()
        self.deadlines.set(Wait.SESSION, "a", 100)
        self.deadlines.set(Wait.SESSION, "b", 200)

    def test_expire(self) -> None:
        """What is due is given once, not before, and the next deadline is known then."""
        self.assertEqual(self.deadlines.expire(99), {})
        self.assertEqual(self.deadlines.expire(100), {"a": Wait.SESSION})
        self.assertEqual(self.deadlines.earliest_ms, 200)
        self.assertEqual(self.deadlines.expire(1000), {"b": Wait.SESSION})
        self.assertEqual((self.deadlines.earliest_ms, len(self.deadlines)), (NEVER_MS, 0))

    def test_put_off(self) -> None:
        """A deadline that was put off is not due; that it would have been is looked at once."""
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
        """What is cancelled is not due, and who is forgotten has none."""
        self.deadlines.set(Wait.SYNC, "a", 100)
        self.deadlines.cancel(Wait.SESSION, "a")
        self.deadlines.cancel(Wait.JOIN, "nobody")
        self.assertEqual(self.deadlines.expire(100), {"a": Wait.SYNC})
        self.deadlines.set(Wait.REVOCATION, "b", 150)
        self.deadlines.forget("b")
        self.assertEqual((self.deadlines.expire(1000), len(self.deadlines)), ({}, 0))

    def test_two_at_once(self) -> None:
        """Who is late with two things is given once, and nothing of it stays due."""
        self.deadlines.set(Wait.SYNC, "a", 90)
        self.assertEqual(list(self.deadlines.expire(100)), ["a"])
        self.assertEqual((self.deadlines.earliest_ms, len(self.deadlines)), (200, 1))
