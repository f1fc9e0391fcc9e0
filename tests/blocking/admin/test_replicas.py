"""Leaders and replicas through the blocking client."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.replicas import FOLLOWERS, LEADERS, RATES, Replicas
from kafkatx.clientcore.admin.replicas import PREFERRED, Outcome, Reassignment
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from tests.blocking.fakes import FakeCluster, Log

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOPIC, BROKER = 2, 4


class ReplicasTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Three brokers, of which 2 is the controller."""
        logs = [Log(2, (1, 2)), Log(1, (1, 2))]
        self.fake = FakeCluster({"t": logs}, brokers=3, controller=2)
        self.replicas = Replicas(self.fake.client())

    def test_elect(self) -> None:
        """The controller is asked; each partition has its outcome."""
        self.assertEqual(
            self.replicas.elect(PREFERRED, [T0, T1]),
            {T0: Outcome(ErrorCode.NONE), T1: Outcome(ErrorCode.ELECTION_NOT_NEEDED)},
        )
        self.assertEqual(self.fake.topics["t"][0].leader, 1)

    def test_other_controller(self) -> None:
        """After a change of the controller the new one is looked for."""
        self.replicas.in_progress()
        self.fake.controller = 3
        self.assertEqual(self.replicas.elect(PREFERRED, None), {T0: Outcome(ErrorCode.NONE)})

    def test_reassign(self) -> None:
        """Reassignments begin, are listed and cancelled."""
        self.assertEqual(self.replicas.reassign({T0: (3, 2)}), {T0: Outcome(ErrorCode.NONE)})
        self.assertEqual(self.replicas.in_progress(), {T0: Reassignment((3, 2, 1), (3,), (1,))})
        self.assertEqual(Reassignment((3, 2, 1), (3,), (1,)).target, (3, 2))
        self.replicas.reassign({T1: (3, 2)})
        self.replicas.reassign({T1: None})
        self.assertEqual(self.fake.reassigning, {})
        last = self.fake.sent(AlterPartitionReassignmentsRequest)[-1]
        self.assertIsNone(last.topics[0].partitions[0].replicas)

    def test_throttle(self) -> None:
        """Rates are set on brokers and replicas on topics, and all of them are removed again."""
        self.replicas.throttle([1, 3], {"t": ["0:1", "0:2"]}, {"t": ["0:3"]}, 1000)
        self.assertEqual(self.fake.configs[BROKER, "3"], dict.fromkeys(RATES, "1000"))
        self.assertEqual(self.fake.configs[TOPIC, "t"], {LEADERS: "0:1,0:2", FOLLOWERS: "0:3"})
        self.replicas.remove_throttles([1, 3], ["t"])
        self.assertEqual([one for one in self.fake.configs.values() if one], [])
