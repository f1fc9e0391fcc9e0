"""DescribeGroups: states, members, and authorized operations."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from tests.broker.members import MembersTestCase

VERSIONS = range(7)
NOT_ASKED = -2147483648
OPERATIONS = 3400  # as Apache Kafka 4.3.1 answers without an authorizer


class DescribeGroupsTests(MembersTestCase):
    def describe(self, *groups: str, version: int = 5, operations: bool = False) -> list[Any]:
        """Return the described groups."""
        request = DescribeGroupsRequest(list(groups), operations)
        described: list[Any] = self.ask(15, version, request).groups
        return described

    def test_every_version(self) -> None:
        """A stable group has its protocol and its members with their metadata and assignments."""
        (member,) = self.settle()
        for version in VERSIONS:
            (group,) = self.describe("g", version=version)
            self.assertEqual((group.error_code, group.group_id, group.group_state), (0, "g", "Stable"))
            self.assertEqual((group.protocol_type, group.protocol_data), ("consumer", "range"))
            (shown,) = group.members
            self.assertEqual(
                (shown.member_id, shown.client_id, shown.client_host), (member, "tests", "/127.0.0.1")
            )
            self.assertEqual((shown.member_metadata, shown.member_assignment), (b"metadata", member.encode()))

    def test_unknown(self) -> None:
        """A missing group is dead; that is no error before version 6."""
        for version in VERSIONS[:6]:
            (group,) = self.describe("other", version=version)
            self.assertEqual((group.error_code, group.group_state, group.members), (0, "Dead", []))
        (group,) = self.describe("other", version=6, operations=True)
        self.assertEqual((group.error_code, group.group_state), (ErrorCode.GROUP_ID_NOT_FOUND, "Dead"))
        self.assertEqual(group.error_message, "Group other not found.")
        self.assertEqual(group.authorized_operations, NOT_ASKED)
        self.assertEqual(self.describe("")[0].group_state, "Dead")

    def test_operations(self) -> None:
        """All operations are returned on request from version 3 on, since none is forbidden."""
        self.settle()
        (group,) = self.describe("g", version=6, operations=True)
        self.assertEqual((group.error_code, group.authorized_operations), (0, OPERATIONS))
        for name in ("g", "other"):
            self.assertEqual(self.describe(name)[0].authorized_operations, NOT_ASKED)
            for version in (3, 4, 5):
                (group,) = self.describe(name, version=version, operations=True)
                self.assertEqual(group.authorized_operations, OPERATIONS)

    def test_twice(self) -> None:
        """A group that is named a thousand times is described once."""
        self.settle()
        self.assertEqual([g.group_id for g in self.describe("g", "other", "g", "g")], ["g", "other"])

    def test_loading(self) -> None:
        """A group that is being loaded has an error of its own."""
        self.set_loading()
        (group,) = self.describe("g")
        self.assertEqual(group.error_code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
