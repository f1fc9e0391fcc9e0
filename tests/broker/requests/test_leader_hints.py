"""Hints of new leaders in replies."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.cluster import ClusterTestCase
from tests.broker.running import NOW_MS, produce_request

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


class LeaderHintsTests(ClusterTestCase):
    def setUp(self) -> None:
        """Broker 2 leads partition 0 in epoch 1; partition 1 has no leader."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[1], [3]]))
        self.metadata.lead("t", 0, 2)
        self.metadata.leave(3)
        self.records = build_values([b"v"], NOW_MS)

    def test_produce(self) -> None:
        """From version 10 on a refused producer learns the leader, its epoch and its address."""
        response = self.ask(0, 10, produce_request(self.records, 1, "t", 0))
        (result,) = response.responses[0].partition_responses
        self.assertEqual((result.error_code, result.current_leader), (NOT_LEADER, LeaderIdAndEpoch(2, 1)))
        self.assertEqual(response.node_endpoints, [NodeEndpoint(2, "b2", 9102, "rack 2")])

    def test_fetch(self) -> None:
        """From version 16 on a refused consumer does as well, by topic id."""
        topic_id = self.metadata.state.topics["t"].topic_id
        asked = [FetchPartition(0, fetch_offset=0, partition_max_bytes=1)]
        for version, expected in ((16, [NodeEndpoint(2, "b2", 9102, "rack 2")]), (15, [])):
            request = FetchRequest(max_wait_ms=0, topics=[FetchTopic("", topic_id, asked)])
            response = self.ask(1, version, request)
            (result,) = response.responses[0].partitions
            hint = LeaderIdAndEpoch(2, 1) if expected else None
            self.assertEqual((result.error_code, result.current_leader), (NOT_LEADER, hint))
            self.assertEqual(response.node_endpoints, expected)

    def test_no_leader(self) -> None:
        """Without a live leader there is no hint."""
        response = self.ask(0, 10, produce_request(self.records, 1, "t", 1))
        (result,) = response.responses[0].partition_responses
        self.assertEqual((result.error_code, result.current_leader), (NOT_LEADER, None))
        self.assertEqual(response.node_endpoints, [])

    def test_old_versions(self) -> None:
        """Before version 10 nothing is added."""
        response = self.ask(0, 9, produce_request(self.records, 1, "t", 0))
        self.assertIsNone(response.responses[0].partition_responses[0].current_leader)
