"""Tests of kafkatx.broker.audit.channel: three brokers that announce, commit positions, and take over."""

from __future__ import annotations

from typing import ClassVar

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from kafkatx.audit.tallies import Tallies
from kafkatx.broker.audit import channel
from kafkatx.broker.audit.auditor import BrokerAuditor, Position
from kafkatx.broker.audit.channel import GROUP, AuditChannel
from kafkatx.broker.audit.factory import make_auditor
from kafkatx.clientcore.audit.tiers import Tier
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.broker.brokers import ClusterOfBrokersCase

AUDIT_TOPIC = "kafkatx-audit"
TIER = Tier("broker", "dc1")
WINDOW_MS = 60_000


class ChannelCase(ClusterOfBrokersCase):
    """Three brokers with auditors, whose rounds the test runs."""

    settings: ClassVar[dict[str, str]] = {
        **ClusterOfBrokersCase.settings,
        "kafkatx.audit.interval.ms": str(WINDOW_MS),
        "kafkatx.audit.place": "dc1",
        "default.replication.factor": "3",
        "min.insync.replicas": "1",
    }

    def setUp(self) -> None:
        """Make a topic with three partitions, each with three replicas."""
        super().setUp()
        self.auditors: dict[int, BrokerAuditor] = {}
        self.create("t", 3, replicas=3)
        for broker_id in self.brokers:
            self.audit(broker_id)

    def audit(self, broker_id: int) -> None:
        """Make the auditor of a broker."""
        broker = self.brokers[broker_id].broker
        endpoints = self.network.endpoints_of(broker_id)
        made = make_auditor(broker, (f"b{broker_id}", 9100 + broker_id), endpoints)
        broker.topics.role_listeners.append(made._role_changed)
        self.auditors[broker_id] = made

    def round(self, broker_id: int) -> None:
        """Run a round of a broker."""
        self.run_to_end(Deferred.fromCoroutine(self.auditors[broker_id].round()))

    def rounds(self) -> None:
        """Run a round of each broker."""
        for broker_id in self.brokers:
            self.round(broker_id)

    def fill(self, count: int) -> None:
        """Produce some records to each partition."""
        for partition in range(3):
            for _ in range(count):
                self.assertEqual(self.produce("t", partition, b"v", 30.0), 0)
        self.advance(1)

    def counted(self) -> tuple[int, int]:
        """Return the number of records that the brokers have counted, and that of announcements."""
        tallies, found = Tallies(), 0
        for value in self.values(AUDIT_TOPIC, 0):
            tallies.add(value)
            found += 1
        self.assertEqual((tallies.unreadable, tallies.uncounted(TIER, "t")), (0, []))
        return sum(one.count for one in tallies.counts(TIER, "t", WINDOW_MS).values()), found


class AnnounceTests(ChannelCase):
    def test_all_leaders(self) -> None:
        """Each leader announces its partitions, over connections to the leader of the audit topic."""
        self.fill(2)
        self.rounds()
        self.assertEqual(self.counted(), (6, 3))
        self.rounds()
        self.assertEqual(self.counted(), (6, 3))

    def test_audit_topic(self) -> None:
        """The audit topic is created with the broker's time, which shows the clocks of others."""
        self.fill(1)
        self.rounds()
        topic = self.brokers[1].metadata.state.topics[AUDIT_TOPIC]
        self.assertEqual(topic.configs, {"message.timestamp.type": "LogAppendTime"})

    def test_leader_dies(self) -> None:
        """The next leaders go on where the dead one was: each record counts once."""
        self.fill(2)
        self.rounds()
        self.fill(1)
        dead = self.leaders("t")[0]
        self.kill(dead)
        self.advance(20)
        self.fill(1)
        self.rounds()
        self.assertEqual(self.counted()[0], 12)

    def test_dies_before_commit(self) -> None:
        """A leader that dies between announcement and commit leaves work, and nothing that counts twice."""
        self.fill(2)
        self.rounds()
        self.fill(1)
        dead = self.leaders("t")[0]
        self.patch(AuditChannel, "_commit", _lose)
        self.round(dead)
        self.patch(AuditChannel, "_commit", _commit)
        before = self.counted()
        self.kill(dead)
        self.advance(20)
        self.fill(1)
        self.rounds()
        self.assertEqual(before[0], 6 + 1)
        self.assertEqual(self.counted(), (12, before[1] + 3))

    def test_restart(self) -> None:
        """A broker that is started again under its id counts what it leads from its committed positions."""
        self.fill(2)
        self.rounds()
        self.stop(1)
        self.advance(20)
        self.start(1)
        self.audit(1)
        self.advance(60)
        self.fill(1)
        self.rounds()
        self.assertEqual(self.counted()[0], 9)


class PositionTests(ChannelCase):
    def test_group(self) -> None:
        """Positions are offsets of a group, with the topic's id, for any tool that shows groups."""
        self.fill(2)
        self.rounds()
        coordinator = self.brokers[1].broker.groups.topic.leader_of(GROUP).id
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)])
        (group,) = self.ask(coordinator, 9, 8, request).groups
        found = {
            (topic.name, one.partition_index): (one.committed_offset, one.metadata)
            for topic in group.topics
            for one in topic.partitions
        }
        topic_id = str(self.brokers[1].metadata.state.topics["t"].topic_id)
        self.assertEqual(found, {("t", number): (2, topic_id) for number in range(3)})

    def test_load(self) -> None:
        """Any broker reads what another has committed; a partition without a position is left out."""
        asked = [TopicPartition("t", 0), TopicPartition("t", 1)]
        one, other = (self.auditors[broker_id]._channel for broker_id in (1, 2))
        self.assertEqual(self.run_to_end(one.load(asked)), {})
        position = Position(5, 3, "id")
        self.run_to_end(one.commit({asked[0]: position}))
        self.assertEqual(self.run_to_end(other.load(asked)), {asked[0]: position})

    def test_away(self) -> None:
        """Without a leader of the audit topic a round fails, and the next one announces everything."""
        self.patch(channel, "REQUEST_S", 5.0)
        self.fill(1)
        self.rounds()
        self.fill(1)
        (leader,) = self.leaders(AUDIT_TOPIC)
        other = next(broker_id for broker_id in self.brokers if broker_id != leader)
        self.network.cut = {(other, leader), (leader, other)}
        failing = Deferred.fromCoroutine(self.auditors[other].round())
        for link in [link for link in self.network.links if set(link.brokers) == {other, leader}]:
            link.lose(Failure(ConnectionLost()))
        self.advance(15)
        self.failureResultOf(failing, KafkaTXError)
        self.network.cut = set()
        self.advance(5)
        self.rounds()
        self.assertEqual(self.counted()[0], 6)


_commit = AuditChannel._commit


async def _lose(self: AuditChannel, positions: object) -> None:
    """Commit nothing, as a broker that dies before."""
