"""Reads after a transaction of the controller that another change has overtaken."""

from __future__ import annotations

from kafkatx.interfaces.nodes import BadVersion, Check, Create, Delete, NoNode, OperationError, SetData
from kafkatx.metadata.cluster.control.corrections import Corrections, ends_role
from kafkatx.metadata.controller.pieces import Piece
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord
from tests.metadata.cluster.cases import RunningCase

STATE = "/brokers/topics/t/partitions/0/state"
PIECE = Piece((), ChangeRecord("c1"), (), frozenset({"t"}))


class CorrectionsTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker, whose image is corrected; another one is the controller."""
        super().setUp()
        self.started(2)
        self.store = self.started()
        self.result(self.store.create_topic("t", [[1]], {}))
        view, follower = self.store._view, self.store._follower
        self.corrections = Corrections(self.tree(self.store), follower, view)

    def read_after(self, error: OperationError) -> bool:
        """Return what the corrections say of an error."""
        return self.done(self.corrections.read(PIECE, error))

    def test_state(self) -> None:
        """A state that was written meanwhile is read, and the transaction may be made anew at once."""
        self.write(
            SetData(STATE, b'{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1,2]}')
        )
        operation = SetData(STATE, b"", 0)
        self.assertTrue(self.read_after(BadVersion(STATE, operation, 1)))
        self.assertEqual(self.store.state.topics["t"].partitions[0].isr, (1, 2))
        self.assertEqual(self.corrections.nodes, {})

    def test_same_state(self) -> None:
        """A state that is as it was does not explain the failure: all of the topic is read."""
        self.assertFalse(self.read_after(BadVersion(STATE, SetData(STATE, b"", 0), 1)))
        self.assertEqual(self.corrections.nodes.keys(), {"t"})

    def test_another_topic(self) -> None:
        """The state of a topic of this name that was created again does not count as the old one's."""
        nodes = ("/brokers/topics/t/partitions/0", "/brokers/topics/t/partitions", "/brokers/topics/t")
        self.write(Delete(STATE), *map(Delete, nodes))
        content = b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[1]}}'
        state = b'{"version":1,"leader":1,"leader_epoch":7,"controller_epoch":1,"isr":[1]}'
        self.write(Create(nodes[2], content), Create(nodes[1]), Create(nodes[0]), Create(STATE, state))
        self.write(SetData(STATE, state))
        before = self.store.state.topics["t"].topic_id
        self.assertFalse(self.read_after(BadVersion(STATE, SetData(STATE, b"", 0), 1)))
        topic = self.store.state.topics["t"]
        self.assertNotEqual(topic.topic_id, before)
        self.assertEqual(topic.partitions[0].leader_epoch, 7)

    def test_incarnation(self) -> None:
        """The brokers are read after the check of an incarnation has failed."""
        path = paths.incarnation(2)
        self.write(SetData(path, b'{"version":1,"host":"h","clean":true,"stopping":true}'))
        self.assertFalse(self.store.state.brokers[2].stopping)
        self.assertTrue(self.read_after(BadVersion(path, Check(path, 0), 1)))
        self.assertTrue(self.store.state.brokers[2].stopping)

    def test_ends_role(self) -> None:
        """Only the check of the controller's epoch ends the role."""
        check = Check(paths.CONTROLLER_EPOCH, 3)
        self.assertTrue(ends_role(BadVersion(check.path, check, 0)))
        self.assertTrue(ends_role(NoNode(check.path, check, 0)))
        self.assertFalse(ends_role(BadVersion(STATE, SetData(STATE, b"", 0), 1)))
        self.assertFalse(ends_role(BadVersion(paths.incarnation(1), Check(paths.incarnation(1), 0), 1)))
