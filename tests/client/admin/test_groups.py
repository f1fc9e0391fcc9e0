"""Tests of kafkatx.client.admin.groups."""

from __future__ import annotations

from typing import Any

from kafkatx.clientcore.admin.group_description import Member
from kafkatx.clientcore.admin.groups import GroupInUse, GroupListing, UnknownGroup
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from kafkatx.wire.messages.offset_delete import OffsetDeleteRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember
from tests.blocking.fakes import LOSE_REQUEST, Log
from tests.client.admins import AdminTestCase

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
PATIENT_S = 3.0


class GroupsTestCase(AdminTestCase):
    """A classic group on broker 1, and one of KIP-848 on broker 2."""

    def setUp(self) -> None:
        """Make a member for each group, and offsets for the first."""
        self.classic = FakeGroup([FakeMember("m1", {"t": [0, 1]}, "i1")], {T1: 8, T0: 5, U0: 7})
        self.consumer = FakeGroup([FakeMember("m2", {"u": [0]})], type="consumer", coordinator=2)
        logs = {"t": [Log(end=10), Log(leader=2, end=8)], "u": [Log(leader=-1)]}
        self.fake = FakeGroups(logs, brokers=2, groups={"k": self.consumer, "g": self.classic})
        self.open(self.fake)
        self.groups = self.admin.groups

    def fault(self, request: type[Any], *faults: Any) -> None:
        """Make the next requests of this kind fail with *faults*."""
        self.fake.faults[request].extend(faults)


class ListTests(GroupsTestCase):
    def test_all_brokers(self) -> None:
        """Each broker lists the groups that it coordinates; the result is sorted by name."""
        self.classic.coordinator, self.consumer.coordinator = 2, 1
        self.assertEqual(
            self.result(self.groups.listings()),
            [
                GroupListing("g", "consumer", "Stable", "classic"),
                GroupListing("k", "consumer", "Stable", "consumer"),
            ],
        )
        self.assertEqual(sorted(self.asked(ListGroupsRequest)), [1, 2])

    def test_loading(self) -> None:
        """A broker that still loads its groups is asked again, and the other one is not."""
        self.fault(ListGroupsRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(len(self.result(self.groups.listings(), PATIENT_S)), 2)
        self.assertEqual(len(self.asked(ListGroupsRequest)), 3)

    def test_broker_down(self) -> None:
        """The listing fails if a broker does not answer."""
        self.network.down.add(2)
        self.error(ConnectionFailed, self.groups.listings(), 70)

    def test_refused(self) -> None:
        """A final error names the broker."""
        self.fault(ListGroupsRequest, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertIn("groups of broker", str(self.error(RequestError, self.groups.listings())))


class DescribeTests(GroupsTestCase):
    def test_classic(self) -> None:
        """A classic group has a state, an assignor, a coordinator, and members with partitions."""
        group = self.result(self.groups.describe("g"))
        self.assertEqual((group.type, group.state, group.assignor), ("classic", "Stable", "range"))
        self.assertEqual(group.coordinator, BrokerNode(1, "broker1", 9092))
        self.assertEqual(group.members, (Member("m1", "i1", "client", "/h", (T0, T1)),))

    def test_consumer(self) -> None:
        """A group of KIP-848 has its epoch and its members' epochs."""
        group = self.result(self.groups.describe("k"))
        self.assertEqual((group.type, group.state, group.epoch), ("consumer", "Stable", 5))
        self.assertEqual(group.members, (Member("m2", None, "client", "/h", (U0,), 4),))
        self.assertEqual(group.coordinator.id, 2)
        self.assertEqual(self.asked(DescribeGroupsRequest), [])

    def test_broker_without_consumer_groups(self) -> None:
        """A broker that does not know ConsumerGroupDescribe has classic groups only."""
        self.network.newest[ConsumerGroupDescribeRequest] = -1
        for link in self.network.live():
            link.lose()
        self.assertEqual(self.result(self.groups.describe("g"), PATIENT_S).state, "Stable")
        self.assertEqual(self.asked(ConsumerGroupDescribeRequest), [])

    def test_unknown(self) -> None:
        """An unknown group is dead."""
        group = self.result(self.groups.describe("nope"))
        self.assertEqual((group.state, group.members), ("Dead", ()))

    def test_coordinator_moved(self) -> None:
        """A coordinator that has moved or is unreachable is looked up again; a valid one is not."""
        self.result(self.groups.describe("g"))
        self.result(self.groups.describe("g"))
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 1)
        self.classic.coordinator = 2
        self.assertEqual(self.result(self.groups.describe("g"), PATIENT_S).coordinator.id, 2)
        self.fault(ConsumerGroupDescribeRequest, LOSE_REQUEST)
        self.assertEqual(self.result(self.groups.describe("g"), PATIENT_S).state, "Stable")
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 3)

    def test_errors(self) -> None:
        """A retriable error of either request is retried; a final one is raised."""
        self.fault(ConsumerGroupDescribeRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.fault(DescribeGroupsRequest, ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.result(self.groups.describe("g"), PATIENT_S).state, "Stable")
        self.fault(DescribeGroupsRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        self.error(RequestError, self.groups.describe("g"))


class OffsetsTests(GroupsTestCase):
    def test_all(self) -> None:
        """All committed offsets are sorted, with metadata; a partition without an offset is left out."""
        found = self.result(self.groups.offsets("g"))
        self.assertEqual(list(found), [T0, T1, U0])
        self.assertEqual(found[T1], OffsetAndMetadata(8, "note 8", 3))
        self.assertEqual(self.result(self.groups.offsets("nope")), {})

    def test_older_versions(self) -> None:
        """Versions below 8 have another response; versions below 2 cannot ask for all offsets."""
        self.network.newest[OffsetFetchRequest] = 7
        found = self.result(self.groups.offsets("g"))
        self.assertEqual([committed.offset for committed in found.values()], [5, 8, 7])
        for link in self.network.live():
            link.lose()
        self.network.newest[OffsetFetchRequest] = 1
        error = self.error(RequestError, self.groups.offsets("g"), PATIENT_S)
        self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertIn("0.10.2", str(error))

    def test_loading(self) -> None:
        """COORDINATOR_LOAD_IN_PROGRESS is retried."""
        self.fault(OffsetFetchRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(len(self.result(self.groups.offsets("g"), PATIENT_S)), 3)

    def test_commit(self) -> None:
        """Offsets are committed without a member and without a generation."""
        self.classic.members.clear()
        offsets = {T0: OffsetAndMetadata(1), U0: OffsetAndMetadata(2, "why", 9)}
        self.result(self.groups.commit("g", offsets))
        self.assertEqual(self.classic.offsets, {T0: 1, T1: 8, U0: 2})
        (request,) = self.network.sent(OffsetCommitRequest)
        self.assertEqual((request.generation_id_or_member_epoch, request.member_id), (-1, ""))
        partition = request.topics[1].partitions[0]
        self.assertEqual((partition.committed_metadata, partition.committed_leader_epoch), ("why", 9))

    def test_commit_refused(self) -> None:
        """A commit to a group with members raises its own error, for each of the codes that mean it."""
        for code in (
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.REBALANCE_IN_PROGRESS,
            ErrorCode.ILLEGAL_GENERATION,
            ErrorCode.STALE_MEMBER_EPOCH,
        ):
            self.fault(OffsetCommitRequest, code)
            error = self.error(GroupInUse, self.groups.commit("new", {T0: OffsetAndMetadata(1)}))
            self.assertEqual(str(error), "group 'new' has members: stop its consumers, then set its offsets")
        self.fault(OffsetCommitRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        error = self.error(RequestError, self.groups.commit("new", {T1: OffsetAndMetadata(1)}))
        self.assertEqual(str(error), "offset of group 'new' in t [1]: topic authorization failed")

    def test_delete_offsets(self) -> None:
        """Only the named offsets are deleted; those of subscribed topics stay."""
        self.error(GroupInUse, self.groups.delete_offsets("g", [T0]))
        self.error(UnknownGroup, self.groups.delete_offsets("nope", [T0]))
        self.fault(OffsetDeleteRequest, ErrorCode.NON_EMPTY_GROUP)
        self.error(GroupInUse, self.groups.delete_offsets("g", [U0]))
        self.assertEqual(len(self.classic.offsets), 3)
        self.classic.members.clear()
        self.result(self.groups.delete_offsets("g", [T0, U0]))
        self.assertEqual(self.classic.offsets, {T1: 8})


class DeleteTests(GroupsTestCase):
    def test_delete(self) -> None:
        """A group without members is deleted; one with members, and an unknown one, are errors."""
        error = self.error(GroupInUse, self.groups.delete("g"))
        self.assertEqual(error.code, ErrorCode.NON_EMPTY_GROUP)
        self.classic.members.clear()
        self.result(self.groups.delete("g"))
        self.assertNotIn("g", self.fake.groups)
        self.error(UnknownGroup, self.groups.delete("g"))
        self.fault(DeleteGroupsRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        error = self.error(RequestError, self.groups.delete("k"))
        self.assertEqual(str(error), "group 'k': group authorization failed")


class ProgressTests(GroupsTestCase):
    def test_progress(self) -> None:
        """Each partition has its committed offset, end, lag and owner; no end without a leader."""
        found = self.result(self.groups.progress("g"))
        self.assertEqual(
            [
                (p.at, p.committed and p.committed.offset, p.end, p.lag, p.member and p.member.member_id)
                for p in found
            ],
            [(T0, 5, 10, 5, "m1"), (T1, 8, 8, 0, "m1"), (U0, 7, None, None, None)],
        )

    def test_not_committed(self) -> None:
        """An assigned partition without an offset is included."""
        (found,) = self.result(self.groups.progress("k"))
        self.assertEqual((found.at, found.committed, found.lag), (U0, None, None))

    def test_nothing(self) -> None:
        """A group without offsets and members needs no ListOffsets request."""
        self.assertEqual(self.result(self.groups.progress("nope")), [])
        self.assertEqual(self.asked(ListOffsetsRequest), [])
