"""A model of a cluster: random events happen to it, it obeys the controller's writes, and its leaders write.

For each partition the model knows the brokers that have all committed records. A record is committed when
the high watermark may move: the partition has a live leader, enough replicas are in sync and no broker is
eligible; the in-sync replicas have it then, and no other broker is known to.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from random import Random
from types import MappingProxyType

import attrs

from kafkatx.metadata.controller.isr import TopicRules, is_lost, next_eligible, without_lost
from kafkatx.metadata.controller.reassignments import is_reassigned, reassign, target
from kafkatx.metadata.controller.writes import (
    MarkRemoval,
    StateWrite,
    TopicDeletion,
    TopicWrite,
    Write,
)
from kafkatx.metadata.layout.topics import NO_TOPIC_ID
from kafkatx.types import NO_LEADER, BrokerNode, ClusterState, PartitionState, Topic, TopicPartition
from tests.metadata.controller.cases import missing

BROKERS = range(1, 6)


class Cluster:
    """The cluster.

    :ivar led: for each topic id, partition and leader epoch the leader and its broker epoch.
    :ivar complete: for each topic and partition the brokers that have all committed records.
    :ivar given_up: number of elections of brokers that lacked committed records, which the rules allow.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.zxid = 0
        self.state = ClusterState("c", -1)
        self.deleting: set[str] = set()
        self.unclean: set[str] = set()
        self.min_insync = self.random.choice((1, 2, 2, 3))
        self.led: dict[tuple[uuid.UUID, int, int], tuple[int, int]] = {}
        self.complete: dict[tuple[str, int], frozenset[int]] = {}
        self.given_up = 0

    def rules(self, topic: Topic) -> TopicRules:
        """Return the configs of a topic."""
        return TopicRules(topic.name in self.unclean, self.min_insync)

    def transaction(self) -> int:
        """Return the next transaction id."""
        self.zxid += 1
        return self.zxid

    def partitions(self) -> list[tuple[TopicPartition, PartitionState]]:
        """Return all partitions of topics that are not being deleted."""
        return [
            (TopicPartition(name, number), each)
            for name, topic in self.state.topics.items()
            if name not in self.deleting
            for number, each in enumerate(topic.partitions)
        ]

    # --- events

    def event(self) -> set[str] | None:
        """Make a random change; return the topics that it concerns, or None for all."""
        random = self.random
        name = f"t{random.randrange(4)}"
        kind = random.randrange(9)
        if kind < 3:
            self.change_broker(random.choice(BROKERS))
            return None
        if kind == 3:
            self.add(name)
        elif kind == 4 and (name in self.state.topics or random.random() < 0.2):
            self.deleting.add(name)
        elif kind == 5:
            self.unclean ^= {name}
        elif kind == 6:
            self.min_insync = random.choice((1, 2, 2, 3))
            return None
        else:
            return self.lead()
        return {name}

    def change_broker(self, broker: int) -> None:
        """A broker registers again, is gone, begins to stop, or loses a log dir."""
        random = self.random
        brokers, offline = dict(self.state.brokers), dict(self.state.offline)
        node = brokers.pop(broker, None)
        chance = random.random()
        if node is not None and chance < 0.2:
            brokers[broker] = attrs.evolve(node, stopping=True)
        elif node is not None and chance < 0.3:
            replicas = [one for one, each in self.partitions() if broker in each.replicas]
            found = frozenset(random.sample(replicas, random.randint(0, len(replicas))))
            brokers[broker] = node
            offline[broker] = offline.get(broker, frozenset()) | found
        else:
            offline.pop(broker, None)
            if chance < 0.75:
                clean = random.random() < 0.7
                brokers[broker] = BrokerNode(broker, "h", 9092, None, self.transaction(), clean=clean)
                if not clean:
                    lost_epochs = {**self.state.lost_epochs, broker: self.zxid}
                    self.state = attrs.evolve(self.state, lost_epochs=lost_epochs)
                    self.complete = {key: having - {broker} for key, having in self.complete.items()}
        self.state = attrs.evolve(self.state, brokers=brokers, offline=offline)

    def add(self, name: str) -> None:
        """Create a topic, or add partitions to it."""
        random = self.random
        known = self.state.topics.get(name)
        new = tuple(
            missing(*random.sample(BROKERS, random.choice((1, 2, 3, 3)))) for _ in range(random.randint(1, 3))
        )
        if known is not None:
            changed = attrs.evolve(known, partitions=known.partitions + new, version=known.version + 1)
        else:
            topic_id = NO_TOPIC_ID if random.random() < 0.2 else uuid.UUID(int=random.getrandbits(128))
            changed = Topic(name, topic_id, new)
            self.complete = {key: having for key, having in self.complete.items() if key[0] != name}
        self.put(changed)

    def put(self, changed: Topic) -> None:
        """Replace a topic."""
        self.state = attrs.evolve(self.state, topics={**self.state.topics, changed.name: changed})

    def put_state(self, one: TopicPartition, state: PartitionState) -> None:
        """Replace the state of a partition."""
        topic = self.state.topics[one.topic]
        partitions = list(topic.partitions)
        partitions[one.partition] = state
        self.put(attrs.evolve(topic, partitions=tuple(partitions)))

    def lead(self) -> set[str]:
        """Some leaders commit records, and change their in-sync replicas."""
        concerned = set()
        for one, state in self.partitions():
            if self.state.leads(state.leader, state) and self.state.has_live(state.leader, one):
                if self.random.random() < 0.5:
                    self.commit(one, state)
                if self.random.random() < 0.5:
                    self.alter_isr(one, state)
                    concerned.add(one.topic)
        return concerned

    def commit(self, one: TopicPartition, state: PartitionState) -> None:
        """Move the high watermark, if it may move."""
        if len(state.isr) >= min(self.min_insync, len(state.replicas)) and not state.eligible:
            assert state.leader in self.complete[one], f"{one}: {state.leader} leads without all records"
            # a member whose machine has gone down is caught up before it counts
            self.complete[one] = frozenset(each for each in state.isr if not self.lost(each, state))

    def lost(self, broker: int, state: PartitionState) -> bool:
        """Return True if a broker may have lost records since a state was written."""
        return is_lost(broker, state, self.state)

    def alter_isr(self, one: TopicPartition, state: PartitionState, join: bool = False) -> None:
        """The leader changes the in-sync replicas: replicas that have all its records join, others leave."""
        known = without_lost(state, self.state)
        live = [
            each
            for each in state.replicas
            if self.state.has_live(each, one) and not self.state.brokers[each].stopping
        ]
        isr = tuple(
            each
            for each in state.replicas
            if each == state.leader
            or (join and each in live)
            or (not join and self.random.random() < 0.6 and (each in known.isr or each in live))
        )
        self.complete[one] |= {each for each in isr if each not in known.isr}
        eligible = next_eligible(known, isr, self.min_insync)
        new = attrs.evolve(
            state,
            isr=isr,
            eligible=eligible,
            recovering=False,
            partition_epoch=state.partition_epoch + 1,
            revision=self.transaction(),
        )
        self.put_state(one, new)

    def reassign(self) -> list[TopicWrite]:
        """Ask for reassignments; return the writes, which are made."""
        random = self.random
        partitions = self.partitions()
        changes = {
            one: None if random.random() < 0.3 else random.sample(BROKERS, random.randint(1, 3))
            for one, _ in random.sample(partitions, min(len(partitions), 3))
        }
        writes, _ = reassign(self.state, self.deleting, changes, self.rules)
        for write in writes:
            self.obey(write)
        return writes

    # --- writes

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
        elif isinstance(write, TopicWrite):
            self.change_topic(write, zxid)
        else:
            self.change(write, zxid)

    def change_topic(self, write: TopicWrite, zxid: int) -> None:
        """Write a topic's node, with some states."""
        known, new = self.state.topics[write.topic.name], write.topic
        assert new.name not in self.deleting, write
        assert new.topic_id != NO_TOPIC_ID, write
        assert known.topic_id in (new.topic_id, NO_TOPIC_ID) and new.version == known.version, write
        assert {each.partition for each in write.states} <= set(write.changed), write
        partitions = list(known.partitions)
        for number, each in enumerate(new.partitions):
            old = partitions[number]
            replicas = (each.replicas, each.adding, each.removing)
            if number not in write.changed:
                assert replicas == (old.replicas, old.adding, old.removing), write
                continue
            check_replicas(each)
            if not set(old.replicas) <= set(each.replicas):
                written = {one.partition for one in write.states}
                assert number in written or old.partition_epoch < 0, "an ISR change under way is not fenced"
            partitions[number] = attrs.evolve(
                old, replicas=each.replicas, adding=each.adding, removing=each.removing
            )
        partitions_before = known.partitions
        self.put(attrs.evolve(new, partitions=tuple(partitions), version=known.version + 1))
        for state in write.states:
            self.change(state, zxid, partitions_before[state.partition])

    def change(self, write: StateWrite, zxid: int, before: PartitionState | None = None) -> None:
        """Write the state of a partition.

        :param before: the state with the replicas that it had.
        """
        known = self.state.topics[write.topic]
        one = TopicPartition(write.topic, write.partition)
        old, new = known.partitions[write.partition], attrs.evolve(write.state, revision=zxid)
        what = f"{before or old} became {new}"
        assert write.topic not in self.deleting, f"a topic that is being deleted got {write}"
        assert write.replaces == old.partition_epoch and new.partition_epoch == old.partition_epoch + 1, what
        assert new.isr and set(new.isr).isdisjoint(new.eligible), what
        assert len(set(new.isr)) == len(new.isr) and len(set(new.eligible)) == len(new.eligible), what
        assert new.replicas == old.replicas, what
        assert (new.adding, new.removing) == (old.adding, old.removing), what
        assert set(new.isr) | set(new.eligible) <= set((before or old).replicas), what
        node = self.state.brokers.get(old.leader)
        stale = node is not None and old.revision <= node.epoch
        risen = new.leader != old.leader or (stale and old.leader != NO_LEADER)
        assert new.leader_epoch == old.leader_epoch + risen, what
        if old.isr and all(self.lost(each, old) for each in (*old.isr, *old.eligible)):
            self.given_up += not set(new.isr) <= self.complete[one]
            self.complete[one] = frozenset(new.isr)  # the last member counts as complete, and says so
        if new.leader == NO_LEADER:
            assert set(new.isr) <= {*old.isr, *old.eligible}, what
        else:
            self.check_leader(one, old, new, what)
        self.put_state(one, new)

    def check_leader(self, one: TopicPartition, old: PartitionState, new: PartitionState, what: str) -> None:
        """Check the leader of a new state."""
        node = self.state.brokers[new.leader]
        assert self.state.has_live(new.leader, one) and new.leader in new.replicas, what
        assert new.leader in new.isr, what
        assert all(self.state.has_live(each, one) for each in new.isr), what
        topic_id = self.state.topics[one.topic].topic_id
        key = (topic_id, one.partition, new.leader_epoch)
        life = (new.leader, node.epoch)
        assert self.led.setdefault(key, life) == life or topic_id == NO_TOPIC_ID, f"{key} led twice"
        if old.partition_epoch < 0:
            self.complete[one] = frozenset(new.isr)
            return
        clean = new.leader in self.members(old, one)
        if not clean:
            assert new.recovering and one.topic in self.unclean and not self.members(old, one), what
        having = self.complete[one]
        if new.leader not in having:
            assert not clean, f"{one}: {what}: {new.leader} lacks records; {having} have all"
            self.given_up += 1
            having = frozenset({new.leader})
        assert set(new.isr) <= having or new.isr == old.isr, f"{one}: {what}: {having} have all"
        self.complete[one] = having | {new.leader}

    def members(self, state: PartitionState, one: TopicPartition) -> list[int]:
        """Return the brokers that may be elected in order."""
        known = without_lost(state, self.state)
        return [
            each
            for each in state.replicas
            if each in (*known.isr, *known.eligible) and self.state.has_live(each, one)
        ]

    # --- rest

    def check_quiet(self) -> None:
        """Check a cluster for which nothing is left to do."""
        assert not self.deleting, self.deleting
        for known in self.state.topics.values():
            assert known.topic_id != NO_TOPIC_ID, known
            for number, each in enumerate(known.partitions):
                one = TopicPartition(known.name, number)
                check_replicas(each)
                able = self.members(each, one) if each.partition_epoch >= 0 else each.replicas
                able = [other for other in able if self.state.has_live(other, one)]
                led = self.state.leads(each.leader, each) and self.state.has_live(each.leader, one)
                assert led if able else each.leader == NO_LEADER, (each, self.state.brokers)
                if led and any(not self.state.brokers[other].stopping for other in able if other in each.isr):
                    assert not self.state.brokers[each.leader].stopping, each
                if is_reassigned(each) and led:
                    assert not set(target(each)) <= set(each.isr), f"the end of {each} is missing"

    def heal(self) -> None:
        """Register all brokers that are away or stopping."""
        brokers = {
            each: BrokerNode(each, "h", 9092, None, self.transaction())
            if self.state.brokers.get(each) is None or self.state.brokers[each].stopping
            else self.state.brokers[each]
            for each in BROKERS
        }
        self.state = attrs.evolve(self.state, brokers=brokers, offline=_NOTHING)

    def join_all(self) -> None:
        """Put all replicas into sync with live leaders."""
        for one, state in self.partitions():
            if self.state.leads(state.leader, state):
                self.alter_isr(one, state, join=True)


_NOTHING: Mapping[int, frozenset[TopicPartition]] = MappingProxyType({})


def check_replicas(partition: PartitionState) -> None:
    """Check that what a reassignment adds and removes is consistent."""
    replicas, adding, removing = map(set, (partition.replicas, partition.adding, partition.removing))
    assert len(replicas) == len(partition.replicas), partition
    assert adding <= replicas and removing <= replicas and not adding & removing, partition
    assert replicas - removing, partition
