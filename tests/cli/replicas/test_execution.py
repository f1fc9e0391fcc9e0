"""Plans are carried out; the commands that make them are tested beside this module."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.replicas import execution
from kafkatx.cli.replicas.execution import begin, throttled
from kafkatx.clientcore.admin.replica_plans import Move
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from tests.blocking.fakes import FakeCluster, Log


class ExecutionTests(SynchronousTestCase):
    def test_throttled(self) -> None:
        """Only partitions that are copied are limited: their replicas, and those that copy."""
        moves = [
            Move(TopicPartition("t", 0), (1, 2), (2, 3)),
            Move(TopicPartition("t", 1), (1, 2), (2, 1)),
            Move(TopicPartition("u", 5), (1,), (2,)),
        ]
        self.assertEqual(
            throttled(moves), ({"t": ["0:1", "0:2"], "u": ["5:1"]}, {"t": ["0:3"], "u": ["5:2"]})
        )

    def test_pieces(self) -> None:
        """Many partitions go in several requests."""
        self.patch(execution, "AT_ONCE", 2)
        fake = FakeCluster({"t": [Log(1, (1,)) for _ in range(5)]}, brokers=2)
        begin(fake.client(), [Move(TopicPartition("t", n), (1,), (2,)) for n in range(5)], None)
        sizes = [len(one.topics[0].partitions) for one in fake.sent(AlterPartitionReassignmentsRequest)]
        self.assertEqual(sizes, [2, 2, 1])
