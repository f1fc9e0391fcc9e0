"""Tests of the controller's decisions: each rule, and random histories of a cluster."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from random import Random

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.controller.reconcile import (
    NO_TOPIC_ID,
    MarkRemoval,
    StateWrite,
    TopicDeletion,
    TopicIdWrite,
    Write,
    reconcile,
)
from kafkatx.types import NO_LEADER, BrokerNode, ClusterState, PartitionState, Topic

SEEDS = 300


def missing(*replicas: int) -> PartitionState:
    """Return a partition without a state."""
    return PartitionState(NO_LEADER, -1, replicas, (), -1)


def topic(name: str, *partitions: PartitionState) -> Topic:
    """Return a topic."""
    return Topic(name, uuid.uuid5(uuid.NAMESPACE_OID, name), partitions)


def cluster(topics: Sequence[Topic] = (), **epochs: int) -> ClusterState:
    """Return a state; *epochs* are those of the live brokers: ``b1=5``."""
    brokers = {
        int(name[1:]): BrokerNode(int(name[1:]), "h", 9092, None, each) for name, each in epochs.items()
    }
    return ClusterState("c", -1, brokers, {each.name: each for each in topics})


class RuleTests(SynchronousTestCase):
    def written(
        self, partition: PartitionState, **epochs: int
    ) -> tuple[int, int, tuple[int, ...], int] | None:
        """Return leader, leader epoch, ISR and partition epoch that a partition gets; None if it is left."""
        writes = reconcile(cluster([topic("T", partition)], **epochs), ())
        if not writes:
            return None
        (write,) = writes
        assert isinstance(write, StateWrite)
        state = write.state
        self.assertEqual((write.topic, write.partition, state.replicas), ("T", 0, partition.replicas))
        self.assertEqual((write.replaces, state.revision), (partition.partition_epoch, 0))
        return state.leader, state.leader_epoch, state.isr, state.partition_epoch

    def test_new(self) -> None:
        """A new partition is led by its first live replica, in epoch 0."""
        self.assertEqual(self.written(missing(3, 1, 2), b1=5, b2=6), (1, 0, (1,), 0))

    def test_new_without_a_live_replica(self) -> None:
        """A new partition whose replicas are all away waits; no state is made."""
        self.assertIsNone(self.written(missing(3), b1=5, b2=6))

    def test_led(self) -> None:
        """A partition whose leader has got it since it registered is left."""
        self.assertIsNone(self.written(PartitionState(1, 4, (1,), (1,), 7, revision=6), b1=5))

    def test_registered_again(self) -> None:
        """A leader that has registered after its state was written leads in the next epoch."""
        led = PartitionState(1, 4, (2, 1), (2, 1), 7, revision=6)
        self.assertEqual(self.written(led, b1=8, b2=3), (1, 5, (1,), 8))
        self.assertEqual(self.written(led, b1=6, b2=3), (1, 5, (1,), 8))

    def test_leader_gone(self) -> None:
        """The partition of a broker that is gone has no leader, in the next epoch; its ISR stays."""
        self.assertEqual(
            self.written(PartitionState(1, 4, (1,), (1,), 7, revision=6), b2=1), (NO_LEADER, 5, (1,), 8)
        )

    def test_leader_gone_and_another_in_sync(self) -> None:
        """The partition of a broker that is gone moves to the first live replica that is in sync."""
        led = PartitionState(1, 4, (1, 2, 3, 4), (1, 4, 3), 7, revision=6)
        self.assertEqual(self.written(led, b2=1, b3=1, b4=1), (3, 5, (3,), 8))
        self.assertEqual(self.written(led, b2=1), (NO_LEADER, 5, (1, 4, 3), 8))

    def test_without_a_leader(self) -> None:
        """A partition without a leader waits for a replica of its ISR, which leads in the next epoch."""
        led = PartitionState(NO_LEADER, 5, (2, 1), (1,), 8, revision=9)
        self.assertIsNone(self.written(led, b2=1))
        self.assertEqual(self.written(led, b2=1, b1=10), (1, 6, (1,), 9))

    def test_not_a_replica(self) -> None:
        """A broker of the ISR that is no replica any more is not elected."""
        self.assertIsNone(self.written(PartitionState(NO_LEADER, 5, (2,), (1,), 8, revision=9), b1=1, b2=1))

    def test_deleting(self) -> None:
        """A topic that is marked is deleted, and none of its partitions gets a leader."""
        marked = topic("T", missing(1), PartitionState(1, 4, (1,), (1,), 7, revision=6))
        state = cluster([marked, topic("U", missing(1))], b1=8)
        deletion, other = reconcile(state, {"T"})
        self.assertEqual(deletion, TopicDeletion(marked))
        self.assertEqual((type(other), getattr(other, "topic", "")), (StateWrite, "U"))

    def test_mark_without_a_topic(self) -> None:
        """A mark without a topic is removed."""
        self.assertEqual(reconcile(cluster([topic("T")], b1=1), {"S"}), [MarkRemoval("S")])

    def test_topic_id(self) -> None:
        """A topic without an id gets one, and its partitions get leaders as others do."""
        old = attrs.evolve(topic("T", missing(1)), topic_id=NO_TOPIC_ID, version=3)
        given = uuid.uuid4()
        first, second = reconcile(cluster([old], b1=1), (), new_topic_id=lambda: given)
        self.assertEqual(first, TopicIdWrite(attrs.evolve(old, topic_id=given)))
        self.assertIsInstance(second, StateWrite)

    def test_some_topics(self) -> None:
        """Only the named topics and marks are looked at, whether they exist or not."""
        state = cluster([topic("T", missing(1)), topic("U", missing(1)), topic("V")], b1=8)
        writes = reconcile(state, {"V", "W", "X"}, topics={"U", "W", "gone"})
        self.assertEqual([type(write) for write in writes], [StateWrite, MarkRemoval])
        self.assertEqual([getattr(write, "topic", "") for write in writes], ["U", "W"])


class Cluster:
    """A model of a cluster: random events happen to it, and it obeys the writes.

    :ivar led: for each topic id, partition and leader epoch the leader and its broker epoch.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.zxid = 0
        self.state = ClusterState("c", -1)
        self.deleting: set[str] = set()
        self.led: dict[tuple[uuid.UUID, int, int], tuple[int, int]] = {}

    def transaction(self) -> int:
        """Return the next transaction id."""
        self.zxid += 1
        return self.zxid

    def event(self) -> set[str] | None:
        """Make a random change; return the topics that it concerns, or None for all."""
        random = self.random
        name = f"t{random.randrange(4)}"
        broker = random.randrange(1, 6)
        kind = random.randrange(5)
        if kind < 2:
            self.register(broker, random.random() < 0.6)
            return None
        if kind == 2:
            self.add(name)
        elif kind == 3 and (name in self.state.topics or random.random() < 0.2):
            self.deleting.add(name)
        return {name}

    def register(self, broker: int, live: bool) -> None:
        """A broker registers again, or is gone."""
        brokers = {key: node for key, node in self.state.brokers.items() if key != broker}
        if live:
            brokers[broker] = BrokerNode(broker, "h", 9092, None, self.transaction())
        self.state = attrs.evolve(self.state, brokers=brokers)

    def add(self, name: str) -> None:
        """Create a topic, or add partitions to it."""
        random = self.random
        known = self.state.topics.get(name)
        new = tuple(
            missing(*random.sample(range(1, 6), random.choice((1, 1, 3))))
            for _ in range(random.randint(1, 3))
        )
        if known is not None:
            changed = attrs.evolve(known, partitions=known.partitions + new, version=known.version + 1)
        else:
            topic_id = NO_TOPIC_ID if random.random() < 0.2 else uuid.UUID(int=random.getrandbits(128))
            changed = Topic(name, topic_id, new)
        self.put(changed)

    def put(self, changed: Topic) -> None:
        """Replace a topic."""
        self.state = attrs.evolve(self.state, topics={**self.state.topics, changed.name: changed})

    def obey(self, write: Write) -> None:
        """Make one write in a transaction, and check what must hold after it."""
        zxid = self.transaction()
        if isinstance(write, MarkRemoval):
            assert write.topic in self.deleting and write.topic not in self.state.topics, write
            self.deleting.discard(write.topic)
        elif isinstance(write, TopicDeletion):
            assert write.topic == self.state.topics[write.topic.name] and write.topic.name in self.deleting
            others = {name: each for name, each in self.state.topics.items() if name != write.topic.name}
            self.state = attrs.evolve(self.state, topics=others)
            self.deleting.discard(write.topic.name)
        elif isinstance(write, TopicIdWrite):
            known = self.state.topics[write.topic.name]
            assert known.topic_id == NO_TOPIC_ID != write.topic.topic_id, write
            self.put(attrs.evolve(known, topic_id=write.topic.topic_id, version=known.version + 1))
        else:
            self.change(write, zxid)

    def change(self, write: StateWrite, zxid: int) -> None:
        """Write the state of a partition."""
        known = self.state.topics[write.topic]
        old, new = known.partitions[write.partition], attrs.evolve(write.state, revision=zxid)
        assert write.topic not in self.deleting, f"a topic that is being deleted got {write}"
        assert write.replaces == old.partition_epoch and new.partition_epoch == old.partition_epoch + 1
        assert new.leader_epoch == old.leader_epoch + 1, f"{old} became {new}"
        assert new.isr and new.replicas == old.replicas, f"{old} became {new}"
        if new.leader != NO_LEADER:
            node = self.state.brokers.get(new.leader)
            assert node is not None and new.leader in new.replicas, f"{old} became {new}"
            assert old.isr == () or new.leader in old.isr, f"{old} became {new}"
            key = (known.topic_id, write.partition, new.leader_epoch)
            assert key not in self.led or known.topic_id == NO_TOPIC_ID, f"{key} led twice"
            self.led[key] = (new.leader, node.epoch)
        partitions = list(known.partitions)
        partitions[write.partition] = new
        self.put(attrs.evolve(known, partitions=tuple(partitions)))

    def check_quiet(self) -> None:
        """Check a cluster for which nothing is left to do."""
        assert not self.deleting, self.deleting
        for known in self.state.topics.values():
            assert known.topic_id != NO_TOPIC_ID, known
            for each in known.partitions:
                able = [
                    b for b in each.replicas if b in self.state.brokers and (not each.isr or b in each.isr)
                ]
                led = each.leader in self.state.brokers and self.state.leads(each.leader, each)
                assert led if able else each.leader == NO_LEADER, (each, self.state.brokers)


class HistoryTests(SynchronousTestCase):
    def test_histories(self) -> None:
        """Writes lead to a state without any more; no epoch has two leaders, no leader is away."""
        for seed in range(SEEDS):
            model = Cluster(seed)
            for _ in range(40):
                concerned = model.event()
                if model.random.random() < 0.5:
                    model.event()
                    concerned = None
                writes = reconcile(model.state, model.deleting, concerned)
                self.assertCountEqual(
                    [str(write) for write in writes if not isinstance(write, TopicIdWrite)],
                    [
                        str(write)
                        for write in reconcile(model.state, model.deleting)
                        if not isinstance(write, TopicIdWrite)
                    ],
                )
                for write in writes:
                    model.obey(write)
                self.assertEqual(reconcile(model.state, model.deleting), [])
                model.check_quiet()

    def test_stopped_controllers(self) -> None:
        """A controller stops after any of its writes; events happen, and the next one goes on from there."""
        for seed in range(SEEDS):
            model = Cluster(seed)
            for _ in range(40):
                model.event()
                writes = reconcile(model.state, model.deleting)
                model.random.shuffle(writes)
                for write in writes[: model.random.randint(0, len(writes))]:
                    model.obey(write)
            for write in reconcile(model.state, model.deleting):
                model.obey(write)
            self.assertEqual(reconcile(model.state, model.deleting), [])
            model.check_quiet()
