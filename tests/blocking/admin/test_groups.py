"""Tests of kafkatx.blocking.admin.groups, kafkatx.clientcore.admin.groups and group_description."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.groups import Groups
from kafkatx.clientcore.admin.group_description import Member
from kafkatx.clientcore.admin.groups import GroupInUse, GroupListing, UnknownGroup
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.delete_groups import DeleteGroupsRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from kafkatx.wire.messages.offset_delete import OffsetDeleteRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest
from tests.blocking.fake_groups import FakeGroup, FakeGroups, FakeMember

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class GroupsCase(SynchronousTestCase):
    """A classic group on broker 1, one of KIP-848 on broker 2."""

    def setUp(self) -> None:
        """Each has a member; the first has offsets, too."""
        self.classic = FakeGroup([FakeMember("m1", {"t": [0, 1]}, "i1")], {T1: 8, T0: 5, U0: 7})
        self.consumer = FakeGroup([FakeMember("m2", {"u": [0]})], type="consumer", coordinator=2)
        self.fake = FakeGroups(brokers=2, groups={"k": self.consumer, "g": self.classic})
        self.groups = Groups(self.fake.client(retries=3))


class ListTests(GroupsCase):
    def test_all_brokers(self) -> None:
        """Each broker tells the groups that it coordinates."""
        self.assertEqual(
            self.groups.listings(),
            [
                GroupListing("g", "consumer", "Stable", "classic"),
                GroupListing("k", "consumer", "Stable", "consumer"),
            ],
        )

    def test_order(self) -> None:
        """They are in order of their names, not of the brokers'."""
        self.classic.coordinator, self.consumer.coordinator = 2, 1
        self.assertEqual([group.group_id for group in self.groups.listings()], ["g", "k"])

    def test_old_broker(self) -> None:
        """A broker that tells no types has classic groups only."""
        self.classic.type = ""
        self.assertEqual(self.groups.listings()[0].type, "classic")

    def test_loading(self) -> None:
        """A broker that still loads its groups is asked again, the other one is not."""
        self.fake.faults[ListGroupsRequest].append(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.assertEqual(len(self.groups.listings()), 2)
        asked = [node for node, request in self.fake.requests if isinstance(request, ListGroupsRequest)]
        self.assertEqual(asked, [1, 1, 2])

    def test_refused(self) -> None:
        """An error that will not pass names the broker."""
        self.fake.faults[ListGroupsRequest].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, self.groups.listings)
        self.assertIn("groups of broker 1", str(error))


class DescribeTests(GroupsCase):
    def test_classic(self) -> None:
        """State, assignor, coordinator and members with their partitions."""
        group = self.groups.describe("g")
        self.assertEqual(
            (group.type, group.state, group.assignor, group.epoch), ("classic", "Stable", "range", -1)
        )
        self.assertEqual(group.coordinator, BrokerNode(1, "broker1", 9092))
        self.assertEqual(group.members, (Member("m1", "i1", "client", "/h", (T0, T1)),))

    def test_consumer(self) -> None:
        """A group of KIP-848 tells its epoch and its members' epochs."""
        group = self.groups.describe("k")
        self.assertEqual(
            (group.type, group.state, group.assignor, group.epoch), ("consumer", "Stable", "uniform", 5)
        )
        self.assertEqual(group.members, (Member("m2", None, "client", "/h", (U0,), 4),))
        self.assertEqual(group.coordinator.id, 2)
        self.assertEqual(self.fake.sent(DescribeGroupsRequest), [])

    def test_broker_without_consumer_groups(self) -> None:
        """A broker that does not know ConsumerGroupDescribe has classic groups only."""
        self.fake.faults[ConsumerGroupDescribeRequest].append(ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual(self.groups.describe("g").state, "Stable")

    def test_unknown(self) -> None:
        """A group that is not there is dead."""
        group = self.groups.describe("nope")
        self.assertEqual((group.state, group.members), ("Dead", ()))

    def test_not_consumers(self) -> None:
        """Assignments of another protocol type are not decoded."""
        self.classic.protocol_type = "connect"
        group = self.groups.describe("g")
        self.assertEqual((group.protocol_type, group.members[0].partitions), ("connect", ()))

    def test_errors(self) -> None:
        """Retriable errors of either request are retried; others are raised."""
        self.fake.faults[ConsumerGroupDescribeRequest].append(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self.fake.faults[DescribeGroupsRequest].append(ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.groups.describe("g").state, "Stable")
        self.assertEqual(self.fake.slept, [0.1, 0.2])
        self.fake.faults[DescribeGroupsRequest].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, self.groups.describe, "g")


class OffsetsTests(GroupsCase):
    def test_all(self) -> None:
        """All that was committed, in order, with the notes; a partition without an offset is left out."""
        found = self.groups.offsets("g")
        self.assertEqual(list(found), [T0, T1, U0])
        self.assertEqual(found[T1], OffsetAndMetadata(8, "note 8", 3))

    def test_older_versions(self) -> None:
        """Below version 8 the reply has another form."""
        self.fake.versions[OffsetFetchRequest] = 7
        self.assertEqual([c.offset for c in self.groups.offsets("g").values()], [5, 8, 7])

    def test_too_old(self) -> None:
        """A broker that cannot tell all offsets is named as the reason."""
        self.fake.versions[OffsetFetchRequest] = 1
        error = self.assertRaises(RequestError, self.groups.offsets, "g")
        self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertIn("0.10.2", str(error))

    def test_loading(self) -> None:
        """COORDINATOR_LOAD_IN_PROGRESS is waited for, in both forms of the reply."""
        for version in (7, 8):
            self.fake.versions[OffsetFetchRequest] = version
            self.fake.faults[OffsetFetchRequest].append(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            self.assertEqual(len(self.groups.offsets("g")), 3)
        self.assertEqual(len(self.fake.slept), 2)

    def test_unknown_group(self) -> None:
        """A group that is not there has nothing."""
        self.assertEqual(self.groups.offsets("nope"), {})


class CommitTests(GroupsCase):
    def test_commit(self) -> None:
        """Offsets are set without member id and generation."""
        self.classic.members.clear()
        self.groups.commit("g", {T0: OffsetAndMetadata(1), U0: OffsetAndMetadata(2, "why", 9)})
        self.assertEqual(self.classic.offsets, {T0: 1, T1: 8, U0: 2})
        request = self.fake.sent(OffsetCommitRequest)[0]
        self.assertEqual((request.generation_id_or_member_epoch, request.member_id), (-1, ""))
        partition = request.topics[1].partitions[0]
        self.assertEqual((partition.committed_metadata, partition.committed_leader_epoch), ("why", 9))

    def test_new_group(self) -> None:
        """A group that is not there comes into being."""
        self.groups.commit("new", {T0: OffsetAndMetadata(1)})
        self.assertEqual(self.fake.groups["new"].offsets, {T0: 1})

    def test_members(self) -> None:
        """A group with members is told from other errors, by each of the codes that say so."""
        self.assertRaises(GroupInUse, self.groups.commit, "g", {T0: OffsetAndMetadata(1)})
        for code in (
            ErrorCode.REBALANCE_IN_PROGRESS,
            ErrorCode.ILLEGAL_GENERATION,
            ErrorCode.STALE_MEMBER_EPOCH,
        ):
            self.fake.faults[OffsetCommitRequest].append(code)
            error = self.assertRaises(GroupInUse, self.groups.commit, "new", {T0: OffsetAndMetadata(1)})
        self.assertEqual(str(error), "group 'new' has members: stop its consumers, then set its offsets")

    def test_refused(self) -> None:
        """The partition that was refused is named."""
        self.fake.faults[OffsetCommitRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, self.groups.commit, "new", {T1: OffsetAndMetadata(1)})
        self.assertIn("t [1]: topic authorization failed", str(error))


class DeleteTests(GroupsCase):
    def test_delete(self) -> None:
        """A group without members goes."""
        self.classic.members.clear()
        self.groups.delete("g")
        self.assertNotIn("g", self.fake.groups)

    def test_refused(self) -> None:
        """A group with members stays; one that is not there is said not to be."""
        error = self.assertRaises(GroupInUse, self.groups.delete, "k")
        self.assertEqual(error.code, ErrorCode.NON_EMPTY_GROUP)
        self.assertIn("k", self.fake.groups)
        self.assertRaises(UnknownGroup, self.groups.delete, "nope")
        self.fake.faults[DeleteGroupsRequest].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, self.groups.delete, "k")
        self.assertEqual(str(error), "group 'k': group authorization failed")

    def test_offsets(self) -> None:
        """Only the offsets that are named go."""
        self.classic.members.clear()
        self.groups.delete_offsets("g", [T0, U0])
        self.assertEqual(self.classic.offsets, {T1: 8})

    def test_offsets_refused(self) -> None:
        """Offsets in a topic that a member reads stay; so they do after any other error."""
        self.assertRaises(GroupInUse, self.groups.delete_offsets, "g", [T0])
        self.assertRaises(UnknownGroup, self.groups.delete_offsets, "nope", [T0])
        self.fake.faults[OffsetDeleteRequest].append(ErrorCode.NON_EMPTY_GROUP)
        self.assertRaises(GroupInUse, self.groups.delete_offsets, "g", [U0])
        self.assertEqual(len(self.classic.offsets), 3)
