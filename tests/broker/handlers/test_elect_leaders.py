"""ElectLeaders: elections with one broker, which are not needed or, with a failed disk, impossible."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.broker.running import BrokerTestCase

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
        self.make_topic("t", 2)
        self.successResultOf(self.broker.metadata.report_offline([TopicPartition("t", 0)]))
        for kind, code in (
            (PREFERRED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
            (UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        ):
            self.assertEqual(self.elect(None, kind), {("t", 0): code})
            self.assertEqual(
                self.elect({"t": [0, 1]}, kind),
                {("t", 0): code, ("t", 1): ErrorCode.ELECTION_NOT_NEEDED},
            )

    def test_unknown_kind(self) -> None:
        """An unknown type of election is refused."""
        self.make_topic("t", 1)
        for kind in (-1, 2):
            response = self.response_to({"t": [0]}, kind, 2)
            self.assertEqual(response.error_code, ErrorCode.INVALID_REQUEST)
