"""APIs about groups: several keys, lists, and rights in the reply."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.authorization.authorized import ADMIN, ALICE, GROUP, TOPIC, AuthorizedTestCase

_O, _R = AclOperation, ResourceType
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OTHER = "other"


class GroupsTests(AuthorizedTestCase):
    def test_group_and_cluster(self) -> None:
        """The bits of groups and of the cluster, too; none of a cluster that one may not describe."""
        self.grant(_O.READ, _R.GROUP)
        self.grant(_O.CREATE, _R.CLUSTER)
        (group,) = self.ask(15, 5, DescribeGroupsRequest([GROUP], True)).groups
        self.assertEqual(group.authorized_operations, 1 << _O.READ | 1 << _O.DESCRIBE)
        cluster = self.ask(60, 0, DescribeClusterRequest(True))
        self.assertEqual(cluster.cluster_authorized_operations, 0)
        self.grant(_O.DESCRIBE, _R.CLUSTER)
        cluster = self.ask(60, 0, DescribeClusterRequest(True))
        self.assertEqual(cluster.cluster_authorized_operations, 1 << _O.CREATE | 1 << _O.DESCRIBE)
        self.assertEqual(self.ask(60, 0, DescribeClusterRequest()).cluster_authorized_operations, -(2**31))

    def test_coordinators(self) -> None:
        """Each key of a request has its own answer; a type that is unknown is an invalid request."""
        self.grant(_O.DESCRIBE, _R.GROUP)
        found = self.ask_late(10, 4, FindCoordinatorRequest("", 0, [OTHER, GROUP])).coordinators
        codes = {one.key: one.error_code for one in found}
        self.assertEqual(codes, {GROUP: 0, OTHER: ErrorCode.GROUP_AUTHORIZATION_FAILED})
        (one,) = self.ask_late(10, 4, FindCoordinatorRequest("", 7, [OTHER])).coordinators
        self.assertEqual(one.error_code, ErrorCode.INVALID_REQUEST)

    def test_describe_some(self) -> None:
        """A group that the client may not describe has no members, and no rights are told."""
        self.grant(_O.DESCRIBE, _R.GROUP)
        groups = self.ask(15, 5, DescribeGroupsRequest([OTHER, GROUP], True)).groups
        found = {one.group_id: (one.error_code, one.authorized_operations) for one in groups}
        expected = ErrorCode.GROUP_AUTHORIZATION_FAILED, -(2**31)
        self.assertEqual(found, {GROUP: (0, 1 << _O.DESCRIBE), OTHER: expected})

    def test_regular_expression(self) -> None:
        """A member gets the topics that it may describe of those that match, by the present ACLs."""
        self.use(ADMIN)
        self.make_topic(OTHER, 1)
        self.use(ALICE)
        self.grant(_O.READ, _R.GROUP, "cg")
        self.grant(_O.DESCRIBE, _R.TOPIC, TOPIC)
        request = ConsumerGroupHeartbeatRequest(
            "cg", "m", 0, rebalance_timeout_ms=5000, subscribed_topic_regex="o.*", topic_partitions=[]
        )
        response = self.ask_late(68, 1, request)
        self.assertEqual(response.error_code, 0)
        found = [len(one.partitions) for one in response.assignment.topic_partitions]
        self.assertEqual(found, [2], "orders alone")
        self.grant(_O.READ, _R.TOPIC, OTHER)
        request = ConsumerGroupHeartbeatRequest("cg", "m", response.member_epoch)
        found = [len(one.partitions) for one in self.ask_late(68, 1, request).assignment.topic_partitions]
        self.assertEqual(sorted(found), [1, 2])
