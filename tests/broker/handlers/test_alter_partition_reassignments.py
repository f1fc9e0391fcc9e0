"""AlterPartitionReassignments: a single broker has all partitions."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.broker.running import BrokerTestCase


class AlterPartitionReassignmentsTests(BrokerTestCase):
    def reassign(self, replicas: list[int] | None, topic: str = "t", partition: int = 0) -> ErrorCode:
        """Return the code of one partition; the whole request must succeed."""
        asked = [ReassignableTopic(topic, [ReassignablePartition(partition, replicas)])]
        response = self.ask(45, 0, AlterPartitionReassignmentsRequest(1000, asked))
        self.assertEqual((response.error_code, response.error_message), (0, None))
        (of_topic,) = response.responses
        (result,) = of_topic.partitions
        self.assertEqual((of_topic.name, result.partition_index), (topic, partition))
        self.assertEqual(bool(result.error_message), bool(result.error_code))
        return ErrorCode.of(result.error_code)

    def test_stay(self) -> None:
        """A reassignment to the current replica succeeds."""
        self.make_topic()
        self.assertEqual(self.reassign([0]), ErrorCode.NONE)

    def test_elsewhere(self) -> None:
        """Unknown brokers, no broker, and the same broker twice are refused."""
        self.make_topic()
        for replicas in ([1], [0, 1], [], [0, 0], [-1]):
            self.assertEqual(self.reassign(replicas), ErrorCode.INVALID_REPLICA_ASSIGNMENT, replicas)

    def test_from_another_broker(self) -> None:
        """A partition is not moved, not even to another live broker."""
        self.successResultOf(self.broker.metadata.create_topic("t", [[7]], {}))
        self.assertEqual(self.reassign([0]), ErrorCode.INVALID_REPLICA_ASSIGNMENT)

    def test_cancel(self) -> None:
        """A cancellation is refused, since no reassignment is under way."""
        self.make_topic()
        self.assertEqual(self.reassign(None), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)

    def test_unknown(self) -> None:
        """Unknown partitions are refused."""
        self.make_topic()
        for topic, partition in (("u", 0), ("t", 1), ("t", -1)):
            for replicas in ([0], None):
                self.assertEqual(
                    self.reassign(replicas, topic, partition), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
