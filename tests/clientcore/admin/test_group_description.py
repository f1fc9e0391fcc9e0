"""Tests of kafkatx.clientcore.admin.group_description."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.group_description import DEAD, assigned_partitions, from_classic
from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.describe_groups import DescribedGroup
from tests.blocking.fake_groups import assignment


class AssignedPartitionsTests(SynchronousTestCase):
    def test_assignment(self) -> None:
        """Topics and partitions are sorted, and bytes after them are ignored."""
        data = assignment({"u": [3, 1], "t": [0]})
        self.assertEqual(assigned_partitions(data), (("t", 0), ("u", 1), ("u", 3)))

    def test_golden(self) -> None:
        """The bytes of a Java client's range assignor: two partitions, null user data."""
        data = bytes.fromhex("0003 00000001 0001 74 00000002 00000000 00000001 ffffffff")
        self.assertEqual(assigned_partitions(data), (("t", 0), ("t", 1)))

    def test_nothing(self) -> None:
        """A member without an assignment has no partitions."""
        self.assertEqual(assigned_partitions(b""), ())
        self.assertEqual(assigned_partitions(assignment({})), ())

    def test_malformed(self) -> None:
        """Truncated and malformed bytes are read as no assignment, without an error."""
        data = assignment({"t": [0, 1], "u": [2]})
        for size in range(len(data)):
            self.assertEqual(assigned_partitions(data[:size]), (), size)
        self.assertEqual(len(assigned_partitions(data)), 3)
        for bad in ("00000001 0001 ff 00000000", "00000001 0001 74 ffffffff", "7fffffff"):
            self.assertEqual(assigned_partitions(bytes.fromhex("0001" + bad + "ffffffff")), ())


class MissingTests(SynchronousTestCase):
    def test_missing(self) -> None:
        """An unknown group is dead, in each of the ways that brokers say so (KIP-1043)."""
        node = BrokerNode(0, "h", 1)
        older = from_classic(DescribedGroup(0, None, "g", "Dead"), node)
        newer = from_classic(DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, "not found", "g", "Dead"), node)
        self.assertEqual(newer, older)
        self.assertEqual(newer.state, DEAD)
