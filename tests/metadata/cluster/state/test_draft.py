"""Drafts take changes of nodes and records, each only if it is newer, and keep what has not changed."""

from __future__ import annotations

import uuid
from types import MappingProxyType

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import NodeStat
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import ControllerFacts, FoundBrokers, FoundTopic, Image
from kafkatx.metadata.controller.reconcile import NO_TOPIC_ID
from kafkatx.metadata.layout import entities
from kafkatx.metadata.layout.changes import StateChange, TopicChange
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.metadata.layout.topics import TopicNode
from kafkatx.types import BrokerNode, ClusterDelta, ClusterState, TopicPartition

A, B = uuid.UUID(int=10), uuid.UUID(int=11)
LED = StateNode(1, 0, 5, (1,))
ONE = TopicPartition("t", 0)


def created(topic_id: uuid.UUID = A, partitions: int = 1, version: int = 0) -> TopicChange:
    """Return the change that creates a topic on broker 1."""
    return TopicChange(topic_id, version, ((1,),) * partitions, {"a": "b"} if not version else None)


def found(
    zxid: int, *states: tuple[StateNode, NodeStat] | None, topic_id: uuid.UUID | None = A
) -> FoundTopic:
    """Return the nodes of topic t."""
    node = TopicNode(topic_id, ((1,),) * len(states))
    return FoundTopic("t", node, NodeStat(0, zxid, zxid), {"a": "b"}, states)


class DraftTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Begin without anything."""
        self.image = Image(ClusterState("c", -1))
        self.draft = Draft(self.image)

    def finish(self, applied: int | None = None) -> ClusterDelta | None:
        """Make the changes of the draft, and begin another."""
        self.image, delta = self.draft.finish(applied)
        self.draft = Draft(self.image)
        return delta

    def states(self) -> list[tuple[int, int, int, int]]:
        """Return leader, leader epoch, partition epoch and revision of the partitions of topic t."""
        return [
            (each.leader, each.leader_epoch, each.partition_epoch, each.revision)
            for each in self.image.state.topics["t"].partitions
        ]

    def test_created_topic(self) -> None:
        """A created topic has no leaders until a state comes."""
        self.draft.change_topic("t", created(partitions=2), 10)
        delta = self.finish(3)
        assert delta is not None
        self.assertEqual(delta, ClusterDelta(delta.before, self.image.state, frozenset(["t"])))
        self.assertEqual((self.states(), self.image.applied), ([(-1, -1, -1, 0)] * 2, 3))
        self.draft.change_state(StateChange("t", 1, LED, 0), 11)
        delta = self.finish()
        self.assertEqual((self.states(), self.image.applied), ([(-1, -1, -1, 0), (1, 0, 0, 11)], 3))
        self.assertEqual(self.image.state.topic_names, {A: "t"})

    def test_deleted_or_missing(self) -> None:
        """A topic counts as deleted if a record says so or its mark was seen, not if its node is gone."""
        for mark, zxid, deleted in ((False, None, []), (True, None, [A]), (False, 20, [A])):
            self.setUp()
            self.draft.change_topic("t", created(), 10)
            if mark:
                self.draft.set_deleting(["t"])
            self.finish()
            self.draft.set_deleting([])
            if zxid is None:
                self.draft.keep_topics([])
            else:
                self.draft.drop_topic("t", A, zxid)
            delta = self.finish()
            assert delta is not None
            self.assertEqual((delta.after.topics, [*delta.deleted]), ({}, deleted))

    def test_old_states_are_ignored(self) -> None:
        """A state is taken only if its transaction is later: records may be applied twice."""
        self.draft.put_topic(found(10, (LED, NodeStat(4, 11, 20))))
        self.finish()
        for zxid in (11, 20):
            self.draft.change_state(StateChange("t", 0, StateNode(2, 7, 5, (2,)), 3), zxid)
        self.assertIsNone(self.finish())
        self.assertEqual(self.states(), [(1, 0, 4, 20)])

    def test_states_of_a_topic_deleted_before(self) -> None:
        """The state of an earlier topic of this name does not become that of the new one."""
        self.draft.put_topic(found(30, None, topic_id=B))
        self.finish()
        self.draft.change_topic("t", created(A), 10)
        self.draft.change_state(StateChange("t", 0, LED, 0), 11)
        self.draft.drop_topic("t", A, 12)
        self.finish()
        self.assertEqual((self.states(), self.image.state.topic_names), ([(-1, -1, -1, 0)], {B: "t"}))

    def test_created_again(self) -> None:
        """A topic that is created again has its new id, and nothing of the old one."""
        self.draft.put_topic(found(10, (LED, NodeStat(0, 11, 11))))
        self.finish()
        self.draft.change_topic("t", TopicChange(B, 0, ((1,),), {}), 20)
        delta = self.finish()
        self.assertEqual((self.states(), self.image.state.topic_names), ([(-1, -1, -1, 0)], {B: "t"}))
        self.assertEqual(self.image.state.topics["t"].configs, {})
        self.assertEqual(delta and delta.topics, frozenset(["t"]))

    def test_deleted(self) -> None:
        """A deleted topic is gone by name and id; its late states are ignored."""
        self.draft.put_topic(found(10, (LED, NodeStat(0, 11, 11))))
        self.finish()
        self.draft.drop_topic("t", A, 12)
        self.draft.change_state(StateChange("t", 0, LED, 1), 11)
        self.finish()
        self.assertEqual((self.image.state.topics, self.image.state.topic_names), ({}, {}))

    def test_more_partitions(self) -> None:
        """New partitions leave the states and configs of the others."""
        self.draft.put_topic(found(10, (LED, NodeStat(0, 11, 11))))
        self.finish()
        self.draft.change_topic("t", created(partitions=2, version=1), 20)
        self.finish()
        topic = self.image.state.topics["t"]
        self.assertEqual(
            (self.states(), topic.version, topic.configs), ([(1, 0, 0, 11), (-1, -1, -1, 0)], 1, {"a": "b"})
        )

    def test_read_again(self) -> None:
        """Nodes that are read again and have not changed are no change; the state stays the same object."""
        self.draft.put_topic(found(10, (LED, NodeStat(0, 11, 11))))
        self.draft.set_brokers({1: BrokerNode(1, "h", 1, epoch=5)})
        self.draft.set_configs(entities.broker("1"), {"a": "b"})
        self.finish()
        before = self.image.state
        self.draft.keep_topics(["t"])
        self.draft.put_topic(found(10, (LED, NodeStat(0, 11, 11))))
        self.draft.set_brokers({1: BrokerNode(1, "h", 1, epoch=5)})
        self.draft.keep_configs([entities.broker("1")])
        self.draft.set_configs(entities.broker("1"), {"a": "b"})
        self.assertIsNone(self.finish())
        self.assertIs(self.image.state, before)

    def test_read_again_older(self) -> None:
        """Nodes that were read before a record was applied do not undo it."""
        self.draft.change_topic("t", created(partitions=2), 10)
        self.draft.change_topic("t", created(partitions=3, version=1), 20)
        self.draft.change_state(StateChange("t", 0, LED, 3), 30)
        self.finish()
        self.draft.put_topic(found(10, None, None))
        self.assertIsNone(self.finish())
        self.draft.put_topic(found(20, (StateNode(2, 9, 1, (2,)), NodeStat(1, 21, 25)), None, None))
        self.finish()
        self.assertEqual(self.states()[0], (1, 0, 3, 30))

    def test_brokers(self) -> None:
        """Brokers are taken from later readings only; one that cannot be read stays as it is."""
        first, second = BrokerNode(1, "h", 1, epoch=5, incarnation=0), BrokerNode(2, "h", 1, epoch=6)
        self.draft.take_brokers(
            FoundBrokers(2, {1: first, 2: second}, {1: 0, 2: 0, 3: 7}, {1: frozenset([ONE])}, {3: 4})
        )
        self.finish()
        self.assertEqual(self.image.incarnations, {1: 0, 2: 0, 3: 7})
        self.assertEqual((self.image.state.offline, self.image.state.lost_epochs), ({1: {ONE}}, {3: 4}))
        self.draft.take_brokers(FoundBrokers(1, {}, {1: 9}, {}, {}))
        self.assertIsNone(self.finish())
        self.draft.take_brokers(FoundBrokers(3, {1: None, 4: None}, {2: 1}, {}, {2: 6}))
        self.finish()
        self.assertEqual(self.image.state.brokers, {1: first})
        self.assertEqual(self.image.incarnations, {1: 0, 2: 1, 3: 7})
        self.assertEqual((self.image.state.offline, self.image.state.lost_epochs), ({1: {ONE}}, {2: 6, 3: 4}))
        again = attrs.evolve(first, epoch=9, incarnation=1)
        self.draft.take_brokers(FoundBrokers(4, {1: again}, {1: 1}, {}, {}))
        self.finish()
        self.assertEqual((self.image.state.brokers, self.image.state.offline), ({1: again}, {}))

    def test_reassignment(self) -> None:
        """A partition has the replicas that are added and removed, from the node, a record, or neither."""
        node = TopicNode(A, ((1, 2),), {0: (2,)}, {0: (1,)})
        self.draft.put_topic(FoundTopic("t", node, NodeStat(0, 10, 10), {}, [(LED, NodeStat(0, 11, 11))]))
        self.finish()
        self.draft.change_state(StateChange("t", 0, LED, 1), 20)
        self.finish()
        state = self.image.state.topics["t"].partitions[0]
        self.assertEqual((state.replicas, state.adding, state.removing), ((1, 2), (2,), (1,)))
        self.draft.change_topic("t", TopicChange(A, 1, ((2,),)), 30)
        self.finish()
        state = self.image.state.topics["t"].partitions[0]
        self.assertEqual((state.replicas, state.adding, state.removing), ((2,), (), ()))

    def test_no_topic_id(self) -> None:
        """A topic without an id is for the controller only, until it has one."""
        self.draft.put_topic(found(10, None, topic_id=None))
        self.assertIsNone(self.finish())
        self.assertEqual((list(self.image.state.topics), list(self.image.whole_state().topics)), ([], ["t"]))
        self.draft.change_topic("t", TopicChange(A, 1, ((1,),)), 20)
        self.draft.change_state(StateChange("t", 0, LED, 0), 20)
        self.finish()
        self.assertEqual((self.states(), self.image.state.topics["t"].configs), ([(1, 0, 0, 20)], {"a": "b"}))
        self.assertIs(self.image.whole_state(), self.image.state)

    def test_mark_without_a_topic(self) -> None:
        """The removal of a mark without a topic does not touch a topic without an id that came later."""
        self.draft.put_topic(found(20, None, topic_id=None))
        self.draft.drop_topic("t", NO_TOPIC_ID, 10)
        self.finish()
        self.assertIn("t", self.image.unidentified)

    def test_configs_of_a_topic(self) -> None:
        """Configs and states of a topic may change in one draft."""
        self.draft.put_topic(found(10, None))
        self.finish()
        self.draft.change_state(StateChange("t", 0, LED, 0), 11)
        self.draft.set_configs(entities.topic("t"), {"c": "d"})
        self.draft.set_configs(entities.topic("unknown"), {"c": "d"})
        self.finish()
        self.assertEqual((self.states(), self.image.state.topics["t"].configs), ([(1, 0, 0, 11)], {"c": "d"}))

    def test_configs_that_are_gone(self) -> None:
        """Entities without configs are not listed; those without nodes lose theirs."""
        quota = (("user", "ann"),)
        self.draft.set_configs(entities.broker("1"), {"a": "b"})
        self.draft.set_configs(entities.group("g"), {"a": "b"})
        self.draft.set_configs(entities.client_metrics("s"), {"a": "b"})
        self.draft.set_quotas(quota, {"x": 1.0})
        self.finish()
        self.assertEqual(self.image.state.client_metrics_configs, {"s": {"a": "b"}})
        self.draft.set_configs(entities.broker("1"), {})
        self.draft.keep_configs([])
        self.finish()
        state = self.image.state
        self.assertEqual((state.broker_configs, state.group_configs, state.client_quotas), ({}, {}, {}))
        self.assertEqual(state.client_metrics_configs, {})

    def test_values(self) -> None:
        """An image that was shown does not change with later drafts."""
        self.draft.put_topic(found(10, None))
        self.finish()
        before, topics = self.image, dict(self.image.topics)
        self.draft.drop_topic("t")
        self.draft.change_topic("u", created(B), 20)
        self.finish()
        self.assertEqual((before.topics, before.names, before.zxids), (topics, {A: "t"}, {"t": 10}))
        self.assertEqual(before.state.topics, MappingProxyType(topics))

    def test_marks(self) -> None:
        """Marks for deletion come and go without a change of the state."""
        self.draft.set_deleting(["t"])
        self.draft.mark(["u"])
        self.draft.unmark("t")
        self.assertIsNone(self.finish())
        self.assertEqual(self.image.deleting, frozenset(["u"]))

    def test_controller(self) -> None:
        """A session is elected only if the transaction that made its node has raised the epoch."""
        facts = ControllerFacts(1, 7, 50, 3, 2, 50)
        self.draft.set_controller(facts)
        self.finish()
        self.assertEqual(self.image.state.controller_id, 1)
        self.assertEqual([facts.elects(7), facts.elects(8), facts.elects(None)], [True, False, False])
        self.assertFalse(ControllerFacts(1, 7, 50, 4, 3, 60).elects(7))
        self.draft.set_controller(None)
        self.finish()
        self.assertEqual(self.image.state.controller_id, -1)
