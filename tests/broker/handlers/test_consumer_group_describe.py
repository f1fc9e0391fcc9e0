"""ConsumerGroupDescribe: KIP-848 groups, and groups of other protocols."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from tests.broker.handlers.test_consumer_group_heartbeat import ConsumerGroupTestCase

DESCRIBE = 69


class DescribeTests(ConsumerGroupTestCase):
    def test_describe(self) -> None:
        """A group is described with its members, and with its operations on request."""
        self.beat("a", rack_id="r")
        self.beat("b")
        (group,) = self.ask(DESCRIBE, 0, ConsumerGroupDescribeRequest(["g"])).groups
        self.assertEqual(
            (group.error_code, group.group_id, group.group_state, group.assignor_name),
            (0, "g", "Reconciling", "uniform"),
        )
        self.assertEqual(
            (group.group_epoch, group.assignment_epoch, group.authorized_operations), (2, 2, -(2**31))
        )
        a, b = group.members
        self.assertEqual(
            (a.member_id, a.rack_id, a.client_id, a.client_host), ("a", "r", "tests", "/127.0.0.1")
        )
        self.assertEqual([one.partitions for one in a.assignment.topic_partitions], [[0, 1, 2, 3]])
        self.assertEqual(len(b.target_assignment.topic_partitions[0].partitions), 2)
        self.assertEqual(b.target_assignment.topic_partitions[0].topic_name, "t")
        (group,) = self.ask(DESCRIBE, 0, ConsumerGroupDescribeRequest(["g"], True)).groups
        self.assertEqual(group.authorized_operations, 3400)
        (group,) = self.ask(DESCRIBE, 1, ConsumerGroupDescribeRequest(["g"])).groups
        self.assertEqual([member.member_type for member in group.members], [1, 1])  # members of KIP-848

    def test_others(self) -> None:
        """Each group has an error of its own; classic groups are not found."""
        self.beat()
        self.broker.groups.make("classic")
        groups = self.ask(DESCRIBE, 0, ConsumerGroupDescribeRequest(["none", "classic", "", "g"])).groups
        self.assertEqual(
            [(group.group_id, ErrorCode(group.error_code), group.error_message) for group in groups],
            [
                ("none", ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found."),
                ("classic", ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a consumer group."),
                ("", ErrorCode.INVALID_GROUP_ID, None),
                ("g", ErrorCode.NONE, None),
            ],
        )

    def test_of_another_protocol(self) -> None:
        """A KIP-848 group is not found by DescribeGroups v6, and the message says why."""
        self.beat()
        (group,) = self.ask(15, 6, DescribeGroupsRequest(["g"])).groups
        self.assertEqual(
            (group.error_code, group.group_state, group.error_message),
            (ErrorCode.GROUP_ID_NOT_FOUND, "Dead", "Group g is not a classic group."),
        )

    def test_twice(self) -> None:
        """A group that is named a thousand times is described once."""
        self.beat()
        groups = self.ask(DESCRIBE, 1, ConsumerGroupDescribeRequest(["g"] * 1000)).groups
        self.assertEqual([group.group_id for group in groups], ["g"])

    def test_member_types(self) -> None:
        """Version 1 tells members of both protocols apart (KIP-1099); version 0 cannot."""
        self.beat("a")
        joining = self.classic_join()
        for _ in range(3):
            self.beat("a", 1)
        self.assertIsNotNone(joining)
        (group,) = self.ask(DESCRIBE, 1, ConsumerGroupDescribeRequest(["g"])).groups
        types = {member.member_id == "a": member.member_type for member in group.members}
        self.assertEqual(types, {True: 1, False: 0})
        (group,) = self.ask(DESCRIBE, 0, ConsumerGroupDescribeRequest(["g"])).groups
        self.assertEqual({member.member_type for member in group.members}, {-1})
