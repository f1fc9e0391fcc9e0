"""Groups of KIP-848 with librdkafka: what holds for all groups, and both protocols in one group."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import DEADLINE_S
from tests.integration.member import HEARTBEATS
from tests.integration.members import Member
from tests.integration.test_groups import LONG_SESSION_MS, PARTITIONS, SESSION_MS, SETTINGS, GroupContract
from tests.until import until


class ConsumerProtocolTests(GroupContract, SynchronousTestCase):
    """librdkafka with ``group.protocol=consumer``; the session time-out is a setting of the broker there."""

    client = "confluent-kafka"
    session_ms = 0

    def start_broker(self) -> None:
        """Start it where it was, with the session time-out of the members to come."""
        session_ms = self.session_ms or SESSION_MS
        consumer = {
            "group.consumer.session.timeout.ms": str(session_ms),
            "group.consumer.heartbeat.interval.ms": str(session_ms // HEARTBEATS),
        }
        settings = SETTINGS | self.listener | consumer
        self.broker = EmbeddedBroker(settings, data_dir=self.data_dir, run_in="process")
        self.bootstrap = self.broker.start().bootstrap

    def join(self, session_ms: int = SESSION_MS, **settings: Any) -> Member:
        """A new member; the broker is started again if it has another session time-out."""
        if session_ms != (self.session_ms or SESSION_MS):
            self.session_ms = session_ms
            self.broker.stop()
            self.start_broker()
        return super().join(session_ms, **{"group_protocol": "consumer", **settings})

    def kind(self) -> str:
        """The protocol of the group."""
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        listed = admin.list_consumer_groups().result(DEADLINE_S)
        (kind,) = (one.type.name.lower() for one in listed.valid if one.group_id == self.group)
        return str(kind)

    def test_static(self) -> None:
        """A static member that leaves for a while gets its part back without a rebalance."""
        first = self.join(LONG_SESSION_MS, instance_id="one")
        second = self.join(LONG_SESSION_MS, instance_id="two")
        self.settled(first, second)
        parts, rebalances = second.owned, first.rebalances
        second.leave()
        again = self.join(LONG_SESSION_MS, instance_id="two")
        self.settled(first, again)
        self.assertEqual((again.owned, first.rebalances), (parts, rebalances))

    def test_range(self) -> None:
        """The assignor that members ask for is used."""
        members = [self.join(group_remote_assignor="range") for _ in range(2)]
        self.settled(*members)
        self.assertEqual(sorted(sorted(one.owned) for one in members), [[0, 1, 2], [3, 4, 5]])

    def test_expression(self) -> None:
        """A subscription by regular expression is resolved by the broker."""
        member = self.join(topic=f"^{self.topic[:-2]}.*")
        self.settled(member)
        self.send()
        self.all_come()

    def test_moved_while_running(self) -> None:
        """A classic group moves to the new protocol member by member, and back; nothing is lost."""
        classic: Any = {"group_protocol": "classic", "partition_assignment_strategy": "range"}
        first, second = self.join(**classic), self.join(**classic)
        self.settled(first, second)
        self.send()
        self.all_come()
        self.assertEqual(self.kind(), "classic")
        third = self.join()
        self.settled(first, second, third)
        self.assertEqual(self.kind(), "consumer")
        self.send()
        self.all_come()
        first.leave()
        fourth = self.join()
        self.settled(second, third, fourth)
        self.send()
        self.all_come()
        third.leave()
        fourth.leave()
        self.settled(second)
        self.assertEqual(self.kind(), "classic")
        self.send()
        self.all_come()

    def test_other_client(self) -> None:
        """kafka-python, which knows only the classic protocol, shares a group with one of the new."""
        first = self.join()
        self.settled(first)
        second = super().join(client="kafka-python")  # of the classic protocol
        self.settled(first, second)
        self.send()
        self.all_come()
        second.kill()
        until(lambda: len(first.owned) == PARTITIONS, "the other has all partitions")
        self.send()
        self.all_come()
