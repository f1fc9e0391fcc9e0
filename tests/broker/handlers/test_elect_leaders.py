"""ElectLeaders: elections with one broker, which are not needed or, with a failed disk, impossible."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.broker.running import NODE, BrokerTestCase

PREFERRED, UNCLEAN = 0, 1
VERSIONS = range(3)


class ElectLeadersTests(BrokerTestCase):
    def elect(
        self, asked: dict[str, list[int]] | None, kind: int = PREFERRED, version: int = 2
    ) -> dict[tuple[str, int], ErrorCode]:
        """Return the code for each partition; the whole request must succeed."""
        response = self.response_to(asked, kind, version)
        self.assertEqual(response.error_code, 0)
        return {
            (topic.topic, result.partition_id): ErrorCode.of(result.error_code)
            for topic in response.replica_election_results
            for result in topic.partition_result
        }

    def response_to(
        self, asked: dict[str, list[int]] | None, kind: int, version: int
    ) -> ElectLeadersResponse:
        """Return the whole response."""
        topics = None if asked is None else [TopicPartitions(name, those) for name, those in asked.items()]
        response: ElectLeadersResponse = self.ask(43, version, ElectLeadersRequest(kind, topics, 1000))
        return response

    def test_not_needed(self) -> None:
        """No election is needed for a partition led by its only replica, the preferred one."""
        self.make_topic("t", 2)
        for version in VERSIONS:
            for kind in (PREFERRED, UNCLEAN) if version else (PREFERRED,):
                self.assertEqual(
                    self.elect({"t": [1, 0]}, kind, version),
                    {("t", 1): ErrorCode.ELECTION_NOT_NEEDED, ("t", 0): ErrorCode.ELECTION_NOT_NEEDED},
                )

    def test_unknown(self) -> None:
        """Unknown partitions are refused."""
        self.make_topic("t", 2)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.assertEqual(
            self.elect({"t": [2, -1], "u": [0]}), {("t", 2): unknown, ("t", -1): unknown, ("u", 0): unknown}
        )

    def test_all(self) -> None:
        """A request for all partitions returns only those that need a leader, here none."""
        self.make_topic("t", 2)
        for version in VERSIONS:
            self.assertEqual(self.elect(None, version=version), {})

    def test_offline(self) -> None:
        """A partition whose log dir has failed needs a leader, and cannot have one."""
        bad, _good = self.make_topic("t", 2)
        bad.go_offline()
        for kind, code in (
            (PREFERRED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
            (UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        ):
            self.assertEqual(self.elect(None, kind), {("t", 0): code})
            self.assertEqual(
                self.elect({"t": [0, 1]}, kind),
                {("t", 0): code, ("t", 1): ErrorCode.ELECTION_NOT_NEEDED},
            )

    def test_dead_leader(self) -> None:
        """A leader that is not a live broker counts as none."""
        self.successResultOf(self.broker.metadata.create_topic("t", [[7, 0]], {}))
        self.assertEqual(self.elect(None), {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE})

    def test_other_leader(self) -> None:
        """A partition led by another replica needs a preferred election, but no unclean one."""
        coordinator = self.broker.metadata
        self.successResultOf(coordinator.create_topic("t", [[0, 1]], {}))
        topic = coordinator.state.topics["t"]
        led = attrs.evolve(topic, partitions=(attrs.evolve(topic.partitions[0], leader=1),))
        brokers = {0: NODE, 1: BrokerNode(1, "127.0.0.1", 9093)}
        coordinator.state = attrs.evolve(coordinator.state, topics={"t": led}, brokers=brokers)
        self.assertEqual(self.elect(None, PREFERRED), {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE})
        self.assertEqual(self.elect({"t": [0]}, UNCLEAN), {("t", 0): ErrorCode.ELECTION_NOT_NEEDED})

    def test_unknown_kind(self) -> None:
        """An unknown type of election is refused."""
        self.make_topic("t", 1)
        for kind in (-1, 2):
            response = self.response_to({"t": [0]}, kind, 2)
            self.assertEqual(response.error_code, ErrorCode.INVALID_REQUEST)
