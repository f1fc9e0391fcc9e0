"""Tests of kafkatx.clientcore.admin.groups: requests and responses."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin import groups
from kafkatx.clientcore.admin.groups import GroupInUse, GroupListing, UnknownGroup
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import delete_groups, list_groups, offset_commit, offset_delete

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class ListingTests(SynchronousTestCase):
    def test_listings(self) -> None:
        """Listings have the broker's groups; without a type they are classic groups."""
        told = [
            list_groups.ListedGroup("g", "consumer", "Stable", "consumer"),
            list_groups.ListedGroup("h", "connect", "", ""),
        ]
        found = groups.listings(list_groups.ListGroupsResponse(error_code=0, groups=told), 3)
        self.assertEqual(
            found,
            [
                GroupListing("g", "consumer", "Stable", "consumer"),
                GroupListing("h", "connect", "", "classic"),
            ],
        )

    def test_refused(self) -> None:
        """The error names the broker."""
        response = list_groups.ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        error = self.assertRaises(RequestError, groups.listings, response, 3)
        self.assertEqual(str(error), "groups of broker 3: coordinator load in progress")


class OffsetsTests(SynchronousTestCase):
    def answer(self, code: int) -> offset_commit.OffsetCommitResponse:
        """Return the response to a commit of t [0]."""
        parts = [offset_commit.OffsetCommitResponsePartition(0, code)]
        return offset_commit.OffsetCommitResponse(
            topics=[offset_commit.OffsetCommitResponseTopic("t", parts)]
        )

    def test_all_offsets(self) -> None:
        """All topics are requested, in old and new fields; versions before 2 are refused."""
        request = groups.offsets_request("g", 8)
        self.assertEqual((request.group_id, request.topics), ("g", None))
        self.assertEqual([(group.group_id, group.topics) for group in request.groups], [("g", None)])
        error = self.assertRaises(RequestError, groups.offsets_request, "g", 1)
        self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)

    def test_set(self) -> None:
        """Offsets are set without a member id and generation."""
        request = groups.set_offsets_request("g", {T0: OffsetAndMetadata(5, "why", 2)})
        self.assertEqual((request.generation_id_or_member_epoch, request.member_id), (-1, ""))
        (part,) = request.topics[0].partitions
        told = (part.committed_offset, part.committed_metadata, part.committed_leader_epoch)
        self.assertEqual(told, (5, "why", 2))
        groups.check_offsets_set(self.answer(0), "g")

    def test_set_refused(self) -> None:
        """Errors caused by members raise GroupInUse; other errors name the partition."""
        for code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH):
            error = self.assertRaises(GroupInUse, groups.check_offsets_set, self.answer(code), "g")
            self.assertIn("then set its offsets", str(error))
        code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        other = self.assertRaises(RequestError, groups.check_offsets_set, self.answer(code), "g")
        self.assertEqual(str(other), "offset of group 'g' in t [0]: offset metadata too large")

    def test_delete(self) -> None:
        """Partitions are grouped by topic; the first error counts, including the group's."""
        request = groups.delete_offsets_request("g", [T0, U0, T1])
        told = [(topic.name, [p.partition_index for p in topic.partitions]) for topic in request.topics]
        self.assertEqual(told, [("t", [0, 1]), ("u", [0])])

        def answer(code: int, of_group: int = 0) -> offset_delete.OffsetDeleteResponse:
            parts = [offset_delete.OffsetDeleteResponsePartition(0, code)]
            topics = [offset_delete.OffsetDeleteResponseTopic("t", parts)]
            return offset_delete.OffsetDeleteResponse(error_code=of_group, topics=topics)

        groups.check_offsets_deleted(answer(0), "g")
        for response, error in (
            (answer(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), GroupInUse),
            (answer(0, ErrorCode.NON_EMPTY_GROUP), GroupInUse),
            (answer(0, ErrorCode.GROUP_ID_NOT_FOUND), UnknownGroup),
            (answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), RequestError),
        ):
            self.assertRaises(error, groups.check_offsets_deleted, response, "g")


class DeleteTests(SynchronousTestCase):
    def test_delete(self) -> None:
        """The response for one group may say that it is unknown, in use, or at another coordinator."""
        self.assertEqual(groups.delete_request("g").groups_names, ["g"])

        def answer(code: int) -> delete_groups.DeleteGroupsResponse:
            return delete_groups.DeleteGroupsResponse(results=[delete_groups.DeletableGroupResult("g", code)])

        groups.check_deleted(answer(0), "g")
        for code, error in (
            (ErrorCode.GROUP_ID_NOT_FOUND, UnknownGroup),
            (ErrorCode.NON_EMPTY_GROUP, GroupInUse),
            (ErrorCode.GROUP_AUTHORIZATION_FAILED, RequestError),
        ):
            raised = self.assertRaises(error, groups.check_deleted, answer(code), "g")
            self.assertIs(raised.code, code)
