"""Tests of kafkatx.clientcore.list_offsets."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.list_offsets import OffsetAndTimestamp, answers, request, results
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import list_offsets as m

T3, T4 = TopicPartition("t", 3), TopicPartition("t", 4)


class ListOffsetsTests(SynchronousTestCase):
    def response(self, *partitions: m.ListOffsetsPartitionResponse) -> m.ListOffsetsResponse:
        """Return a response for partitions of one topic."""
        return m.ListOffsetsResponse(topics=[m.ListOffsetsTopicResponse("t", list(partitions))])

    def test_request(self) -> None:
        """Partitions are grouped by topic."""
        asked = request({T3: -1, TopicPartition("u", 0): -2, T4: 99}, 1)
        self.assertEqual(asked.isolation_level, 1)
        found = {
            topic.name: [(p.partition_index, p.timestamp) for p in topic.partitions] for topic in asked.topics
        }
        self.assertEqual(found, {"t": [(3, -1), (4, 99)], "u": [(0, -2)]})

    def test_version_0(self) -> None:
        """The list of offsets in a response of version 0 is read."""
        old = m.ListOffsetsPartitionResponse(partition_index=3, old_style_offsets=[8, 0])
        self.assertEqual(answers(self.response(old)), {("t", 3): (8, -1)})

    def test_errors(self) -> None:
        """results() has each partition's own error, answers() raises the first."""
        good = m.ListOffsetsPartitionResponse(partition_index=3, offset=5, timestamp=7, leader_epoch=2)
        bad = m.ListOffsetsPartitionResponse(partition_index=4, error_code=6)
        found = results(self.response(good, bad))
        self.assertEqual(found[T3], OffsetAndTimestamp(5, 7, 2))
        error = found[T4]
        assert isinstance(error, RequestError)
        self.assertEqual(error.code, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertRaises(RequestError, answers, self.response(good, bad))
