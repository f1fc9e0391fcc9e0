"""Sticky assignments by examples, and the members' user data."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, STICKY
from kafkatx.types import TopicPartition
from tests.clientcore.group.assignors.members import after, members, numbers

T0, T1, T2, T3 = (TopicPartition("t", number) for number in range(4))


class StickyTests(SynchronousTestCase):
    def test_newcomer(self) -> None:
        """A new member gets its share; the others keep the rest of their partitions."""
        known = members(a="t", b="t")
        known = after(STICKY, known, STICKY.assign(known, {"t": 6}), 1)
        given = STICKY.assign({**known, **members(c="t")}, {"t": 6})
        self.assertEqual(numbers(given), {"a": ["t0", "t2"], "b": ["t1", "t3"], "c": ["t4", "t5"]})

    def test_newer_generation(self) -> None:
        """A partition that two members claim stays with the one of the newer generation."""
        known = members(a="t", b="t")
        known["a"] = known["a"]._replace(user_data=STICKY.user_data((T0, T1), 1) or b"")
        known["b"] = known["b"]._replace(user_data=STICKY.user_data((T1, T2), 2) or b"")
        self.assertEqual(numbers(STICKY.assign(known, {"t": 4})), {"a": ["t0", "t3"], "b": ["t1", "t2"]})

    def test_old_user_data(self) -> None:
        """User data of Kafka 2.0, without a generation, is read; unreadable user data is ignored."""
        known = members(a="t", b="t")
        known["b"] = known["b"]._replace(user_data=b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\1")
        self.assertEqual(numbers(STICKY.assign(known, {"t": 4})), {"a": ["t2", "t3"], "b": ["t0", "t1"]})
        known["b"] = known["b"]._replace(user_data=b"\0\0\0\1\0\1t\0\0\0\2")
        self.assertEqual(numbers(STICKY.assign(known, {"t": 4})), {"a": ["t0", "t2"], "b": ["t1", "t3"]})

    def test_gone(self) -> None:
        """Partitions that do not exist any more are not assigned, although a member claims them."""
        known = members(a="t", b="t")
        known["a"] = known["a"]._replace(user_data=STICKY.user_data((T0, T3), 1) or b"")
        self.assertEqual(numbers(STICKY.assign(known, {"t": 2})), {"a": ["t0"], "b": ["t1"]})

    def test_unsubscribed(self) -> None:
        """A partition goes to subscribers only, even if another member had it in an older generation."""
        known = members(a="u", b="t", c="t")
        known["a"] = known["a"]._replace(user_data=STICKY.user_data((T0, T1), 1) or b"")
        known["b"] = known["b"]._replace(user_data=STICKY.user_data((T0, T1, T2, T3), 2) or b"")
        given = STICKY.assign(known, {"t": 4, "u": 1})
        self.assertEqual({name: len(mine) for name, mine in given.items()}, {"a": 1, "b": 2, "c": 2})

    def test_user_data(self) -> None:
        """User data is as in Apache Kafka, and empty before the first assignment."""
        self.assertIsNone(STICKY.user_data(None, -1))
        self.assertEqual(STICKY.user_data((T1, T0), 5), b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\5")
        self.assertEqual(COOPERATIVE_STICKY.user_data(None, -1), b"\xff\xff\xff\xff")


class CooperativeTests(SynchronousTestCase):
    def test_two_rebalances(self) -> None:
        """A partition that moves is left out first, and assigned to the new member by the next rebalance."""
        known = members(a="t", b="t")
        known = after(COOPERATIVE_STICKY, known, COOPERATIVE_STICKY.assign(known, {"t": 6}), 1)
        known |= members(c="t")
        first = COOPERATIVE_STICKY.assign(known, {"t": 6})
        self.assertEqual(numbers(first), {"a": ["t0", "t2"], "b": ["t1", "t3"], "c": []})
        known = after(COOPERATIVE_STICKY, known, first, 2)
        second = COOPERATIVE_STICKY.assign(known, {"t": 6})
        self.assertEqual(numbers(second), {"a": ["t0", "t2"], "b": ["t1", "t3"], "c": ["t4", "t5"]})

    def test_claimed_twice(self) -> None:
        """A partition that two members of a generation claim goes to neither: both must revoke it first."""
        known = members(a="t", b="t")
        known["a"] = known["a"]._replace(owned=(T0, T1), generation=3)
        known["b"] = known["b"]._replace(owned=(T1, T2), generation=3)
        self.assertEqual(
            numbers(COOPERATIVE_STICKY.assign(known, {"t": 4})), {"a": ["t0"], "b": ["t2", "t3"]}
        )

    def test_generation_in_user_data(self) -> None:
        """Members whose subscription has no generation yet (version 1) tell it in their user data."""
        known = members(a="t", b="t")
        known["a"] = known["a"]._replace(owned=(T0, T1), user_data=b"\0\0\0\7")
        known["b"] = known["b"]._replace(owned=(T1, T2), user_data=b"\0\0\0\6")
        given = COOPERATIVE_STICKY.assign(known, {"t": 4})
        self.assertEqual(numbers(given), {"a": ["t0", "t1"], "b": ["t2", "t3"]})
