"""The nodes by which old tools ask for elections and reassignments are obeyed and deleted."""

from __future__ import annotations

from kafkatx.interfaces.nodes import Create, Delete, SetData
from kafkatx.metadata.layout import paths
from tests.metadata.cluster.cases import RunningCase

STATE = "/brokers/topics/t/partitions/0/state"
ELECTION = b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"no","partition":1}]}'
MOVE = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3]}]}'


class AdminNodesTests(RunningCase):
    def setUp(self) -> None:
        """Start three brokers; the first is the controller. Create a topic."""
        super().setUp()
        self.store = self.started()
        self.others = [self.started(2), self.started(3)]
        self.result(self.others[0].create_topic("t", [[1, 2]], {}))

    def write_state(self, leader: int, isr: str) -> None:
        """Write a state with its change record, in the next leader epoch for another leader."""
        stat = self.stat(STATE)
        assert stat is not None
        state = self.store.state.topics["t"].partitions[0]
        content = b'{"version":1,"leader":%d,"leader_epoch":%d,"controller_epoch":1,"isr":[%s]}'
        data = content % (leader, state.leader_epoch + (leader != state.leader), isr.encode())
        record = b'{"version":1,"by":"b1","states":[["t",0,%s,%d]]}' % (data, stat.version + 1)
        self.write(SetData(STATE, data), Create(paths.CHANGE_PREFIX, record, sequential=True))
        self.stores.advance(1.0)

    def test_preferred(self) -> None:
        """The elections are made, and the node is gone; an unknown partition changes nothing of that."""
        self.write_state(2, "2,1")
        self.write(Create(paths.PREFERRED_REPLICA_ELECTION, ELECTION))
        self.stores.advance(1.0)
        self.assertIn(b'"leader":1,"leader_epoch":2', self.read(STATE))
        self.assertIsNone(self.stat(paths.PREFERRED_REPLICA_ELECTION))
        self.write_state(2, "2,1")
        self.write(Create(paths.PREFERRED_REPLICA_ELECTION, ELECTION))
        self.stores.advance(1.0)
        self.assertIn(b'"leader":1', self.read(STATE))

    def test_reassignment(self) -> None:
        """The node stays until the replicas are in sync."""
        self.write(Create(paths.REASSIGN_PARTITIONS, MOVE))
        self.stores.advance(1.0)
        partition = self.store.state.topics["t"].partitions[0]
        self.assertEqual((partition.replicas, partition.adding), ((3, 1, 2), (3,)))
        self.assertIsNotNone(self.stat(paths.REASSIGN_PARTITIONS))
        self.write_state(1, "1,2,3")
        partition = self.store.state.topics["t"].partitions[0]
        self.assertEqual((partition.replicas, partition.adding, partition.leader), ((3,), (), 3))
        self.assertIsNone(self.stat(paths.REASSIGN_PARTITIONS))

    def test_next_controller(self) -> None:
        """A new controller goes on with a reassignment, and deletes the node at its end."""
        self.write(Create(paths.REASSIGN_PARTITIONS, MOVE))
        self.stores.advance(1.0)
        self.write(Delete(paths.CONTROLLER))
        self.stores.advance(5.0)
        self.assertIsNotNone(self.stat(paths.REASSIGN_PARTITIONS))
        self.write_state(1, "1,2,3")
        self.assertIsNone(self.stat(paths.REASSIGN_PARTITIONS))
        self.assertEqual(self.store.state.topics["t"].partitions[0].replicas, (3,))

    def test_reconnected(self) -> None:
        """A node that is made while the controller has no connection is obeyed when it has one again."""
        self.write_state(2, "2,1")
        self.tree(self.store).link.cut()
        self.write(Create(paths.PREFERRED_REPLICA_ELECTION, ELECTION))
        self.stores.advance(0.5)
        self.assertIsNotNone(self.stat(paths.PREFERRED_REPLICA_ELECTION))
        self.tree(self.store).link.heal()
        self.stores.advance(5.0)
        self.assertIsNone(self.stat(paths.PREFERRED_REPLICA_ELECTION))
        self.assertIn(b'"leader":1', self.read(STATE))

    def test_not_allowed(self) -> None:
        """A reassignment that is not allowed, or cannot be read, is just deleted."""
        for content in (MOVE.replace(b"[3]", b"[9]"), MOVE.replace(b"[3]", b"[]"), b"{}", b"x"):
            self.write(Create(paths.REASSIGN_PARTITIONS, content))
            self.stores.advance(1.0)
            self.assertIsNone(self.stat(paths.REASSIGN_PARTITIONS), content)
        self.assertEqual(self.store.state.topics["t"].partitions[0].replicas, (1, 2))
