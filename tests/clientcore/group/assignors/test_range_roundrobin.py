"""Ranges and round robin, by examples."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import RANGE, ROUND_ROBIN, Member
from tests.clientcore.group.assignors.members import members, numbers

TWO_BY_THREE = {"t": 3, "u": 3}


class RangeTests(SynchronousTestCase):
    def test_example(self) -> None:
        """Each topic is divided by itself; the first members get the remainder."""
        given = RANGE.assign(members(a="tu", b="tu"), TWO_BY_THREE)
        self.assertEqual(numbers(given), {"a": ["t0", "t1", "u0", "u1"], "b": ["t2", "u2"]})

    def test_more_members(self) -> None:
        """Members after the last partition get none."""
        given = RANGE.assign(members(a="t", b="t", c="t"), {"t": 2})
        self.assertEqual(numbers(given), {"a": ["t0"], "b": ["t1"], "c": []})

    def test_static(self) -> None:
        """Static members come first, by instance ids, so that they get the same when they come back."""
        known = members(a="t", b="t", c="t")
        known["c"] = Member("c", frozenset("t"), "1")
        known["b"] = Member("b", frozenset("t"), "2")
        expected = {"a": ["t2"], "b": ["t1"], "c": ["t0"]}
        self.assertEqual(numbers(RANGE.assign(known, {"t": 3})), expected)
        known["z"] = known.pop("c")._replace(member_id="z")
        self.assertEqual(numbers(RANGE.assign(known, {"t": 3})), {"a": ["t2"], "b": ["t1"], "z": ["t0"]})

    def test_unknown(self) -> None:
        """Topics that do not exist are not assigned."""
        self.assertEqual(numbers(RANGE.assign(members(a="tx"), {"t": 1})), {"a": ["t0"]})


class RoundRobinTests(SynchronousTestCase):
    def test_example(self) -> None:
        """All partitions are dealt out in turn."""
        given = ROUND_ROBIN.assign(members(a="tu", b="tu"), TWO_BY_THREE)
        self.assertEqual(numbers(given), {"a": ["t0", "t2", "u1"], "b": ["t1", "u0", "u2"]})

    def test_different(self) -> None:
        """A member that does not subscribe is skipped, and not compensated for that."""
        given = ROUND_ROBIN.assign(members(a="t", b="tu", c="tuv"), {"t": 1, "u": 2, "v": 3})
        self.assertEqual(numbers(given), {"a": ["t0"], "b": ["u0"], "c": ["u1", "v0", "v1", "v2"]})

    def test_nobody(self) -> None:
        """A topic without subscribers is left out."""
        self.assertEqual(numbers(ROUND_ROBIN.assign(members(a="t"), TWO_BY_THREE)), {"a": ["t0", "t1", "t2"]})
