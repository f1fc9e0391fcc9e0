"""Tests of kafkatx.clientcore.group.offsets."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.offsets import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    commit_errors,
    commit_request,
    committed_offsets,
    fetch_request,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkatx.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class CommitTests(SynchronousTestCase):
    def test_request(self) -> None:
        """Partitions are grouped by topic, with offset, metadata, epoch and the member's identity."""
        identity = ConsumerGroupMetadata("g", 3, "m", "one")
        offsets = {T0: OffsetAndMetadata(5, "note", 2), U0: OffsetAndMetadata(1), T1: OffsetAndMetadata(7)}
        request = commit_request(identity, offsets)
        self.assertEqual((request.group_id, request.generation_id_or_member_epoch), ("g", 3))
        self.assertEqual((request.member_id, request.group_instance_id), ("m", "one"))
        partitions = {
            (topic.name, p.partition_index): (
                p.committed_offset,
                p.committed_metadata,
                p.committed_leader_epoch,
            )
            for topic in request.topics
            for p in topic.partitions
        }
        self.assertEqual(partitions, {T0: (5, "note", 2), T1: (7, "", -1), U0: (1, "", -1)})
        self.assertEqual(len(request.topics), 2)

    def test_errors(self) -> None:
        """Only the partitions with an error code are returned."""
        partitions = [
            OffsetCommitResponsePartition(0, ErrorCode.NONE),
            OffsetCommitResponsePartition(1, ErrorCode.ILLEGAL_GENERATION),
        ]
        response = OffsetCommitResponse(topics=[OffsetCommitResponseTopic("t", partitions)])
        self.assertEqual(commit_errors(response), {T1: ErrorCode.ILLEGAL_GENERATION})


class FetchTests(SynchronousTestCase):
    def test_request(self) -> None:
        """The request has the partitions in the fields of old and new versions, and wants stable offsets."""
        request = fetch_request("g", [T0, U0, T1])
        old = {topic.name: topic.partition_indexes for topic in request.topics or ()}
        new = {topic.name: topic.partition_indexes for topic in request.groups[0].topics or ()}
        self.assertEqual((old, new), ({"t": [0, 1], "u": [0]}, {"t": [0, 1], "u": [0]}))
        self.assertEqual((request.groups[0].group_id, request.require_stable), ("g", True))

    def test_response_before_version_8(self) -> None:
        """Partitions without a committed offset are left out; null metadata is empty."""
        partitions = [
            OffsetFetchResponsePartition(0, 5, 2, None, ErrorCode.NONE),
            OffsetFetchResponsePartition(1, -1, -1, "", ErrorCode.NONE),
        ]
        response = OffsetFetchResponse(topics=[OffsetFetchResponseTopic("t", partitions)])
        self.assertEqual(committed_offsets("g", response), {T0: OffsetAndMetadata(5, "", 2)})

    def test_response_with_groups(self) -> None:
        """From version 8 on the group's own part counts."""
        partitions = [OffsetFetchResponsePartitions(1, 9, 4, "n", ErrorCode.NONE)]
        group = OffsetFetchResponseGroup("g", [OffsetFetchResponseTopics("t", partitions)])
        response = OffsetFetchResponse(groups=[OffsetFetchResponseGroup("other"), group])
        self.assertEqual(committed_offsets("g", response), {T1: OffsetAndMetadata(9, "n", 4)})

    def test_errors(self) -> None:
        """The error of the group or of a partition is raised, and says whose it is."""
        response = OffsetFetchResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        error = self.assertRaises(RequestError, committed_offsets, "g", response)
        self.assertIn("offsets of group 'g'", str(error))
        partitions = [OffsetFetchResponsePartition(0, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)]
        response = OffsetFetchResponse(topics=[OffsetFetchResponseTopic("t", partitions)])
        error = self.assertRaises(RequestError, committed_offsets, "g", response)
        self.assertIn("t [0]", str(error))
