"""Observations of a broker, and the facts between two of them."""

from __future__ import annotations

from kafkatx.broker.explanations import observation
from kafkatx.broker.explanations.facts import Facts
from kafkatx.broker.explanations.observation import client_facts, group_facts, observe
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkatx.wire.messages.push_telemetry import PushTelemetryRequest
from tests.broker.handlers.test_consumer_group_heartbeat import ConsumerGroupTestCase
from tests.broker.telemetry.pushes import gauge, metrics_data


class ObservationTestCase(ConsumerGroupTestCase):
    """A broker with the topic t of four partitions."""

    def commit_offset(self, offset: int, group: str = "g", number: int = 0) -> None:
        """Commit an offset as a consumer that is in no group."""
        partition = OffsetCommitRequestPartition(number, offset)
        request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("t", [partition])])
        (topic,) = self.ask(8, 9, request).topics
        self.assertEqual(topic.partitions[0].error_code, 0)

    def append(self, count: int, number: int = 0) -> None:
        """Produce records in one batch."""
        self.fill(*[b"x"] * count, partition=number)

    def facts(self, group: str = "g") -> Facts:
        """Return the facts about a group, where five records and a commit come in two seconds."""
        before = observe(self.broker, group)
        self.clock.advance(2)
        self.now_ms += 2000
        self.append(5)
        self.broker.cold_reads += 3
        return group_facts(self.broker, group, before, observe(self.broker, group))


class GroupFactsTests(ObservationTestCase):
    def test_partitions(self) -> None:
        """Offsets, lag and what has changed in the window are those of the broker."""
        self.append(10)
        self.commit_offset(4)
        facts = self.facts()
        assert facts.group is not None
        (one,) = facts.group.partitions
        self.assertEqual(
            (one.committed, one.high_watermark, one.lag, one.produced, one.consumed), (4, 15, 11, 5, 0)
        )
        self.assertEqual((one.records, one.batches, one.commit_age_ms), (5, 1, 2000))
        self.assertEqual((facts.broker.window_s, facts.broker.cold_reads), (2.0, 3))
        self.assertEqual((facts.group.state, facts.group.members, facts.clients), ("Empty", (), ()))

    def test_members(self) -> None:
        """Members have their partitions, and are clients."""
        epoch = self.beat("a").member_epoch
        self.assertEqual(self.commit("a", epoch), 0)
        facts = self.facts()
        assert facts.group is not None
        self.assertEqual((facts.group.kind, facts.group.state), ("consumer", "Stable"))
        (member,) = facts.group.members
        self.assertEqual((member.member_id, member.client_id, member.partitions), ("a", "tests", 4))
        self.assertEqual([one.client_id for one in facts.group.partitions], ["tests"])
        self.assertEqual([one.client_id for one in facts.clients], ["tests"])

    def test_rebalance(self) -> None:
        """A change of the group's epoch in the window is a rebalance."""
        self.beat("a")
        before = observe(self.broker, "g")
        self.beat("b")
        facts = group_facts(self.broker, "g", before, observe(self.broker, "g"))
        assert facts.group is not None
        self.assertEqual(facts.group.rebalances, 1)

    def test_unknown(self) -> None:
        """A group that does not exist has nothing, and is not made."""
        facts = self.facts("none")
        assert facts.group is not None
        self.assertEqual((facts.group.partitions, facts.group.members), ((), ()))
        self.assertIsNone(self.broker.groups.find("none"))

    def test_deleted_topic(self) -> None:
        """Offsets of a topic that is gone have no lag, and lack no leader."""
        self.commit_offset(4)
        self.successResultOf(self.broker.metadata.delete_topic("t"))
        before = observe(self.broker, "g")
        facts = group_facts(self.broker, "g", before, observe(self.broker, "g"))
        assert facts.group is not None
        self.assertEqual([(one.lag, one.has_leader) for one in facts.group.partitions], [])

    def test_bound(self) -> None:
        """Partitions above the bound are counted."""
        self.patch(observation, "MOST_PARTITIONS", 2)
        for number in range(4):
            self.commit_offset(0, number=number)
        facts = self.facts()
        assert facts.group is not None
        self.assertEqual((len(facts.group.partitions), facts.group.partitions_left_out), (2, 2))
        self.assertEqual(str(facts.group.partitions[1]), "t-1")
        self.assertIn(TopicPartition("t", 0), observe(self.broker, "g").partitions)


class ClientFactsTests(ObservationTestCase):
    def test_pushed(self) -> None:
        """Pushed values are there without their prefix, of several labels the largest."""
        alter = self.broker.metadata.alter_client_metrics_configs
        self.successResultOf(alter("s", lambda old: {"metrics": "*"}))
        name = "org.apache.kafka.producer.node.request.latency.avg"
        data = metrics_data(gauge(name, 5, node="1"), gauge(name, 7, node="2"))
        got = self.ask(71, 0, GetTelemetrySubscriptionsRequest())
        request = PushTelemetryRequest(got.client_instance_id, got.subscription_id, False, 0, data)
        self.assertEqual(self.ask(72, 0, request).error_code, 0)
        seen = observe(self.broker, None)
        (client,) = client_facts(self.broker, "tests", seen, seen).clients
        self.assertEqual((client.instances, client.pushed), (1, {"producer.node.request.latency.avg": 7.0}))

    def test_nothing(self) -> None:
        """A client that has pushed nothing has nothing; nothing is made for it."""
        seen = observe(self.broker, None)
        (client,) = client_facts(self.broker, "x", seen, seen).clients
        self.assertEqual((client.instances, client.pushed, client.quotas), (0, {}, ()))
        self.assertNotIn("telemetry", vars(self.broker))
