"""Three whole brokers, of which some are killed, cut off from the tree, and started again."""

from __future__ import annotations

import os
from random import Random

from twisted.internet.defer import Deferred

from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.brokers import NOT_LEADER, ClusterOfBrokersCase
from tests.metadata.cluster.memory import TIMEOUT_S

AWAY_S = TIMEOUT_S + 2
"""Time after which a broker that was killed is known to be gone."""


class ClusterTests(ClusterOfBrokersCase):
    def fill(self, topic: str, value: bytes = b"v") -> None:
        """Produce a record to each partition."""
        for number in range(len(self.leaders(topic))):
            self.assertEqual(self.produce(topic, number, value, 20), 0)

    def test_partitions_are_spread(self) -> None:
        """A topic that one broker creates is led by all of them; each serves its own partitions only."""
        self.create("t", 6, by=2)
        leaders = self.leaders("t")
        self.assertEqual(sorted(leaders), [1, 1, 2, 2, 3, 3])
        for by in (2, 3):
            self.assertEqual(self.leaders("t", by), leaders)
        self.fill("t")
        for broker_id, one in self.brokers.items():
            led = [number for number, leader in enumerate(leaders) if leader == broker_id]
            self.assertEqual(sorted(name.partition for name in one.store.logs), led)
            elsewhere = [number for number in range(6) if number not in led]
            errors = {self.produce_to(broker_id, "t", number, b"x") for number in elsewhere}
            self.assertEqual(errors, {NOT_LEADER})
        self.assertEqual([self.values("t", number) for number in range(6)], [[b"v"]] * 6)

    def test_metadata(self) -> None:
        """Every broker answers Metadata alike."""
        self.create("t", 3)
        self.kill(3)
        self.advance(AWAY_S)
        wanted = MetadataRequest([MetadataRequestTopic(name="t")])
        first, second = (self.ask(by, 3, 9, wanted) for by in (1, 2))
        self.assertEqual(first, second)
        self.assertEqual(sorted(node.node_id for node in first.brokers), [1, 2])
        described = {
            one.leader_id: (one.error_code, one.offline_replicas) for one in first.topics[0].partitions
        }
        self.assertEqual(described, {1: (0, []), 2: (0, []), -1: (5, [3])})

    def test_killed(self) -> None:
        """A killed broker's partitions have no leader; it leads them again, with their records, later on."""
        self.create("t", 6)
        self.fill("t", b"a")
        before, epochs = self.leaders("t"), self.epochs("t")
        self.kill(2)
        self.advance(AWAY_S)
        self.assertEqual(self.leaders("t"), [-1 if leader == 2 else leader for leader in before])
        for number, leader in enumerate(before):
            self.assertEqual(self.produce("t", number, b"b") == 0, leader != 2)
        self.start(2)
        self.fill("t", b"c")
        self.assertEqual(self.leaders("t"), before)
        for number, leader in enumerate(before):
            self.assertEqual(self.values("t", number), [b"a", b"c"] if leader == 2 else [b"a", b"b", b"c"])
            self.assertEqual(self.epochs("t")[number] > epochs[number], leader == 2)

    def test_restarted_at_once(self) -> None:
        """A broker that is back before its session has ended takes over from its past life."""
        self.create("t", 3)
        self.fill("t", b"a")
        before, epochs = self.leaders("t"), self.epochs("t")
        for broker_id in (1, 2, 3):
            self.kill(broker_id)
            self.start(broker_id)
        self.fill("t", b"b")
        self.assertEqual(self.leaders("t"), before)
        self.assertEqual([self.values("t", number) for number in range(3)], [[b"a", b"b"]] * 3)
        self.assertTrue(all(new > old for old, new in zip(epochs, self.epochs("t"), strict=True)))

    def test_all_stopped(self) -> None:
        """A cluster that was stopped as a whole has everything when it is back, in any order."""
        self.create("t", 6)
        self.fill("t", b"a")
        for broker_id in (1, 2, 3):
            self.stop(broker_id)
        for broker_id in (3, 1, 2):
            self.start(broker_id)
        self.fill("t", b"b")
        self.assertEqual([self.values("t", number) for number in range(6)], [[b"a", b"b"]] * 6)
        for path in self.paths.values():
            self.assertFalse([name for name in os.listdir(path) if "stray" in name or "delete" in name])

    def test_controller_is_killed(self) -> None:
        """Topics can be created, and brokers come back, after the controller was killed."""
        controller = self.brokers[1].metadata.state.controller_id
        self.kill(controller)
        self.advance(AWAY_S)
        live = min(self.brokers)
        self.assertIn(self.brokers[live].metadata.state.controller_id, self.brokers)
        self.create("t", 4, by=live)
        self.assertEqual(set(self.leaders("t")), set(self.brokers))
        self.fill("t")
        self.start(controller)
        self.create("u", 3, by=controller)
        self.assertEqual(sorted(self.leaders("u")), [1, 2, 3])

    def test_cut_off(self) -> None:
        """A broker that is cut off from the tree writes until its lease ends, and then nothing."""
        self.create("t", 3)
        number = self.leaders("t").index(2)
        self.brokers[2].link.cut()
        self.advance(1)
        self.assertEqual(self.produce_to(2, "t", number, b"a"), 0)
        self.advance(TIMEOUT_S)
        self.assertEqual(self.produce_to(2, "t", number, b"lost"), NOT_LEADER)
        self.assertTrue(self.brokers[2].metadata.state.fenced)
        self.brokers[2].link.heal()
        self.assertEqual(self.produce("t", number, b"b", 30), 0)
        self.assertEqual(self.values("t", number), [b"a", b"b"])

    def test_frozen(self) -> None:
        """A process that was frozen for long writes nothing when it goes on and has heard nothing yet."""
        self.create("t", 3)
        number = self.leaders("t").index(2)
        link = self.brokers[2].link
        link.hold_requests()
        link.hold_replies()
        clock = self.stores.clock
        clock.rightNow += 10 * TIMEOUT_S  # its timers have not run yet
        self.assertFalse(self.brokers[2].metadata.state.fenced)
        self.assertEqual(self.produce_to(2, "t", number, b"lost"), NOT_LEADER)
        link.release()
        self.assertEqual(self.produce("t", number, b"a", 30), 0)
        self.assertEqual(self.values("t", number), [b"a"])

    def test_deleted_while_a_broker_is_away(self) -> None:
        """A topic is deleted although a broker is away; that one removes its logs when it is back."""
        self.create("t", 3)
        self.fill("t", b"old")
        self.advance(1)
        self.record()
        self.kill(3)
        self.advance(AWAY_S)
        response = self.ask(1, 20, 5, DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000))
        self.assertEqual(response.responses[0].error_code, 0)
        self.assertEqual([dict(self.brokers[one].store.logs) for one in (1, 2)], [{}, {}])
        self.create("t", 2)
        self.start(3)
        self.assertEqual([name for name in os.listdir(self.paths[3]) if name.startswith("t-")], [])
        self.fill("t", b"new")
        self.assertEqual([self.values("t", number) for number in range(2)], [[b"new"]] * 2)

    def record(self) -> None:
        """Record the log dirs of partitions, as each broker does a moment after it has made them."""
        for one in self.brokers.values():
            self.run_to_end(Deferred.fromCoroutine(one.broker.topics.placements.record()))

    def test_configs(self) -> None:
        """Configs and dynamic settings that are changed by one broker apply on all."""
        self.create("t", 3)
        first = self.brokers[1]
        self.run_to_end(first.metadata.alter_topic_configs("t", lambda _: {"retention.ms": "5"}))
        self.run_to_end(first.metadata.alter_broker_configs("", lambda _: {"log.segment.bytes": "1000000"}))
        self.advance(1)
        for one in self.brokers.values():
            (partition,) = one.broker.topics.of("t")
            config = partition.log.config
            self.assertEqual((config.retention_ms, config.segment_bytes), (5, 1_000_000))

    def test_more_partitions(self) -> None:
        """Partitions that one broker adds are served by those that have them."""
        self.create("t", 1)
        commands = self.brokers[2].broker.topic_commands
        self.run_to_end(Deferred.fromCoroutine(commands.add_partitions("t", 1, [(3,), (1,), (2,)])))
        self.advance(1)
        self.assertEqual(self.leaders("t")[1:], [3, 1, 2])
        self.fill("t")


class RandomTests(ClusterOfBrokersCase):
    """Brokers are killed, stopped, cut off and started at random, while clients produce."""

    seeds = range(6)
    steps = 60

    def test_random(self) -> None:
        """Exactly the acknowledged records are there in the end, each once and in order."""
        for seed in self.seeds:
            self.random = Random(seed)
            topic = f"t{seed}"
            self.create(topic, 6, min(self.brokers))
            self.acknowledged: list[list[bytes]] = [[] for _ in range(6)]
            try:
                for number in range(self.steps):
                    self.step(topic, b"%d" % number)
                self.recover()
                for number in range(6):
                    self.assertEqual(self.produce(topic, number, b"last", 60), 0)
                    self.assertEqual(self.values(topic, number), [*self.acknowledged[number], b"last"])
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error

    def recover(self) -> None:
        """Start and connect every broker."""
        for one in self.brokers.values():
            one.link.heal()
        for broker_id in self.paths.keys() - self.brokers.keys():
            self.start(broker_id)

    def step(self, topic: str, value: bytes) -> None:
        """Produce a record, or do something to a broker."""
        chance = self.random.random()
        live = sorted(self.brokers)
        if chance < 0.6 and live:
            number = self.random.randrange(6)
            if self.produce_to(self.random.choice(live), topic, number, value) == 0:
                self.acknowledged[number].append(value)
        elif chance < 0.7:
            self.advance(self.random.choice([0.1, 1, TIMEOUT_S / 2, TIMEOUT_S + 2]))
        elif chance < 0.8:
            gone = sorted(self.paths.keys() - self.brokers.keys())
            if gone:
                self.start(self.random.choice(gone))
        elif live:
            broker_id = self.random.choice(live)
            link = self.brokers[broker_id].link
            if chance < 0.85:
                self.kill(broker_id)
            elif chance < 0.88 and link.up:
                self.stop(broker_id)
            elif chance < 0.91:
                link.expire()
            elif chance < 0.95:
                link.cut(self.random.random() < 0.5)
            else:
                link.heal()
