"""Tests of kafkatx.clientcore.consumer.leader_epochs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.leader_epochs import EpochEndOffset, EpochQuery, request, results
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import offset_for_leader_epoch as m

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class EpochsTests(SynchronousTestCase):
    def test_request(self) -> None:
        """Partitions are grouped by topic, with current and last epochs, and a consumer's replica id."""
        asked = request({T0: EpochQuery(7, 5), U0: EpochQuery(2, 2), T1: EpochQuery(8, 6)})
        self.assertEqual(asked.replica_id, -1)
        told = {
            (topic.topic, p.partition): (p.current_leader_epoch, p.leader_epoch)
            for topic in asked.topics
            for p in topic.partitions
        }
        self.assertEqual(told, {("t", 0): (7, 5), ("t", 1): (8, 6), ("u", 0): (2, 2)})
        self.assertEqual([topic.topic for topic in asked.topics], ["t", "u"])

    def test_results(self) -> None:
        """Each partition has its epoch's end, or its error."""
        parts = [m.EpochEndOffset(0, 0, 4, 120), m.EpochEndOffset(ErrorCode.FENCED_LEADER_EPOCH, 1)]
        response = m.OffsetForLeaderEpochResponse(topics=[m.OffsetForLeaderTopicResult("t", parts)])
        found = results(response)
        self.assertEqual(found[T0], EpochEndOffset(4, 120))
        error = found[T1]
        assert isinstance(error, RequestError)
        self.assertEqual(error.code, ErrorCode.FENCED_LEADER_EPOCH)
        self.assertEqual(str(error), "leader epoch of t [1]: fenced leader epoch")
