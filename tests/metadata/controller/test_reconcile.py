"""Tests of the controller's decisions: about topics, and in random histories of a cluster.

The rules for one partition are tested in ``test_leaders``, those of reassignments in ``test_reassignments``.
"""

from __future__ import annotations

import uuid

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.metadata.controller.reconcile import NO_TOPIC_ID, reconcile
from kafkatx.metadata.controller.writes import MarkRemoval, StateWrite, TopicDeletion, TopicWrite, Write
from kafkatx.types import NO_LEADER, PartitionState, Topic
from tests.metadata.controller.cases import broker, cluster, missing, topic
from tests.metadata.controller.cluster_model import Cluster

SEEDS = 300


class TopicTests(SynchronousTestCase):
    def test_deleting(self) -> None:
        """A topic that is marked is deleted, and none of its partitions gets a leader."""
        marked = topic("T", missing(1), PartitionState(1, 4, (1,), (1,), 7, revision=6))
        state = cluster([marked, topic("U", missing(1))], broker(1, 8))
        deletion, other = reconcile(state, {"T"})
        self.assertEqual(deletion, TopicDeletion(marked))
        self.assertEqual((type(other), getattr(other, "topic", "")), (StateWrite, "U"))

    def test_mark_without_a_topic(self) -> None:
        """A mark without a topic is removed."""
        self.assertEqual(reconcile(cluster([topic("T")], broker(1)), {"S"}), [MarkRemoval("S")])

    def test_topic_id(self) -> None:
        """A topic without an id gets one, and its partitions get leaders as others do."""
        old = attrs.evolve(topic("T", missing(1)), topic_id=NO_TOPIC_ID, version=3)
        given = uuid.uuid4()
        first, second = reconcile(cluster([old], broker(1)), (), new_topic_id=lambda: given)
        self.assertEqual(first, TopicWrite(attrs.evolve(old, topic_id=given)))
        self.assertIsInstance(second, StateWrite)

    def test_some_topics(self) -> None:
        """Only the named topics and marks are looked at, whether they exist or not."""
        state = cluster([topic("T", missing(1)), topic("U", missing(1)), topic("V")], broker(1, 8))
        writes = reconcile(state, {"V", "W", "X"}, topics={"U", "W", "gone"})
        self.assertEqual([type(write) for write in writes], [StateWrite, MarkRemoval])
        self.assertEqual([getattr(write, "topic", "") for write in writes], ["U", "W"])

    def test_rules(self) -> None:
        """The configs of each topic decide, and are asked for only where they matter."""
        asked = []

        def rules(one: Topic) -> TopicRules:
            asked.append(one.name)
            return TopicRules(unclean=one.name == "U")

        gone = PartitionState(2, 4, (1, 2), (2,), 7, 50)
        quiet = topic("Q", PartitionState(1, 4, (1, 2), (1,), 7, 50))
        state = cluster([topic("T", gone, gone), topic("U", gone), quiet], broker(1))
        writes = reconcile(state, (), rules=rules)
        leaders = [(write.topic, write.state.leader) for write in writes if isinstance(write, StateWrite)]
        self.assertEqual(leaders, [("T", NO_LEADER), ("T", NO_LEADER), ("U", 1)])
        self.assertEqual(asked, ["T", "U"])

    def test_reassignments_end(self) -> None:
        """All reassignments of a topic that end together are one write, beside the other states."""
        ending = PartitionState(1, 4, (2, 1), (1, 2), 7, 50, (2,), (1,))
        other = PartitionState(3, 4, (3, 1), (3, 1), 7, 50)
        first, second = reconcile(cluster([topic("T", ending, other, ending)], broker(1), broker(2)), ())
        assert isinstance(first, TopicWrite)
        self.assertEqual(([each.partition for each in first.states], first.changed), ([0, 2], (0, 2)))
        self.assertEqual([each.replicas for each in first.topic.partitions], [(2,), (3, 1), (2,)])
        self.assertEqual([each.state.leader for each in first.states], [2, 2])
        assert isinstance(second, StateWrite)
        self.assertEqual((second.partition, second.state.leader), (1, 1))

    def test_topic_id_and_end(self) -> None:
        """A topic that gets an id gets it with the end of its reassignments."""
        ending = PartitionState(1, 4, (2, 1), (1, 2), 7, 50, (2,), (1,))
        old = attrs.evolve(topic("T", ending), topic_id=NO_TOPIC_ID)
        (write,) = reconcile(cluster([old], broker(1), broker(2)), ())
        assert isinstance(write, TopicWrite)
        self.assertNotEqual(write.topic.topic_id, NO_TOPIC_ID)
        self.assertEqual([each.state.replicas for each in write.states], [(2,)])


def without_ids(writes: list[Write]) -> list[str]:
    """Return some writes as text, without the random ids of topics."""
    return [
        str(attrs.evolve(write, topic=attrs.evolve(write.topic, topic_id=NO_TOPIC_ID)))
        if isinstance(write, TopicWrite)
        else str(write)
        for write in writes
    ]


class HistoryTests(SynchronousTestCase):
    def needed(self, model: Cluster, concerned: set[str] | None = None) -> list[Write]:
        """Return the writes that the state needs."""
        return reconcile(model.state, model.deleting, concerned, rules=model.rules)

    def settle(self, model: Cluster) -> None:
        """Make the writes that the state needs; it needs no more then."""
        for write in self.needed(model):
            model.obey(write)
        self.assertEqual(self.needed(model), [])
        model.check_quiet()

    def test_histories(self) -> None:
        """Writes lead to a state without any more; leaders have all committed records; no epoch has two."""
        given_up = reassigned = 0
        for seed in range(SEEDS):
            model = Cluster(seed)
            for _ in range(50):
                concerned = model.event()
                if model.random.random() < 0.5 and concerned is not None:
                    more = model.event()
                    concerned = None if more is None else concerned | more
                writes = self.needed(model, concerned)
                self.assertCountEqual(without_ids(writes), without_ids(self.needed(model)), f"seed {seed}")
                for write in writes:
                    model.obey(write)
                self.assertEqual(self.needed(model), [], f"seed {seed}")
                model.check_quiet()
                if model.random.random() < 0.2:
                    reassigned += len(model.reassign())
                    self.settle(model)
            given_up += model.given_up
        self.assertGreater(given_up, SEEDS // 10)
        self.assertGreater(reassigned, SEEDS)

    def test_stopped_controllers(self) -> None:
        """A controller stops after any of its writes; events happen, and the next one goes on from there."""
        for seed in range(SEEDS):
            model = Cluster(seed)
            for _ in range(50):
                model.event()
                writes = self.needed(model)
                for write in writes[: model.random.randint(0, len(writes))]:
                    model.obey(write)
                if model.random.random() < 0.1:
                    self.settle(model)
                    model.reassign()
            self.settle(model)

    def test_reassignments_end(self) -> None:
        """Each reassignment ends when all brokers live and all replicas catch up."""
        ended = 0
        for seed in range(SEEDS // 3):
            model = Cluster(seed)
            for _ in range(30):
                model.event()
                self.settle(model)
                model.reassign()
            self.settle(model)
            model.unclean = {f"t{number}" for number in range(4)}
            under_way = sum(bool(each.adding) for _, each in model.partitions())
            for _ in range(3):
                model.heal()
                self.settle(model)
                model.join_all()
                self.settle(model)
            for one, each in model.partitions():
                self.assertFalse(each.adding or each.removing, f"seed {seed}: {one} {each}")
            ended += under_way
        self.assertGreater(ended, SEEDS // 10)
