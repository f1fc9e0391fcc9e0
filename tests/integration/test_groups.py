"""Consumer groups of other projects' clients: members come, leave, die and freeze; the broker dies."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import DEADLINE_S, Confluent, new_topic
from tests.integration.member import HEARTBEATS
from tests.integration.members import Member, share
from tests.ports import free_port
from tests.until import until

if TYPE_CHECKING:
    _Case = SynchronousTestCase
else:
    _Case = object  # a mixin: trial would run it itself if it were a test case

SETTINGS = {
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "200",
    "offsets.topic.num.partitions": "4",
}
PARTITIONS = 6
SESSION_MS = 1500
LONG_SESSION_MS = 8000
"""More than a restart takes, with what clients need to find the broker again."""

MOVED_S = SESSION_MS / 1000 + 5.0
"""In so long what a member had that went silent is others': its session, and a rebalance of clients."""


class GroupCase(_Case):
    """A broker, a topic, a group and its members."""

    client = ""

    def setUp(self) -> None:
        """A broker of this test's own, and a topic."""
        self.data_dir = self.mktemp()
        self.listener = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        self.members: list[Member] = []
        self.start_broker()
        self.addCleanup(lambda: self.broker.stop())
        self.topic, self.group = new_topic(), new_topic()
        self.confluent = Confluent(self.bootstrap)
        self.confluent.create(self.topic, PARTITIONS)
        self.sent = 0

    def start_broker(self) -> None:
        """Start it where it was."""
        self.broker = EmbeddedBroker(SETTINGS | self.listener, data_dir=self.data_dir, run_in="process")
        self.bootstrap = self.broker.start().bootstrap

    def join(self, session_ms: int = SESSION_MS, **settings: Any) -> Member:
        """A new member; of another *client*, or for another *topic*, if that is among the settings."""
        client = settings.pop("client", self.client)
        topic = settings.pop("topic", self.topic)
        member = Member(client, self.bootstrap, self.group, topic, session_ms, **settings)
        self.members.append(member)
        self.addCleanup(member.kill)
        return member

    def settled(self, *members: Member, seconds: float = DEADLINE_S) -> None:
        """Wait until these members share the partitions."""
        until(partial(share, members, PARTITIONS), "they share the partitions", seconds)

    def send(self, count: int = 60) -> None:
        """Produce numbered messages to all partitions."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap})
        for number in range(self.sent, self.sent + count):
            producer.produce(self.topic, b"%d" % number, partition=number % PARTITIONS)
        self.assertEqual(producer.flush(DEADLINE_S), 0)
        self.sent += count

    def seen(self) -> set[int]:
        """The numbers that members were given."""
        return {int(value) for member in self.members for _, _, value in member.records}

    def all_come(self) -> None:
        """Wait until every message that was sent has come to a member."""
        until(lambda: len(self.seen()) == self.sent, f"all {self.sent} messages come")


class GroupContract(GroupCase):
    """The tests that hold for every client; each has a class below."""

    def test_three(self) -> None:
        """Three share the partitions; when one leaves or dies others have its part, and nothing is lost."""
        first, second, third = self.join(), self.join(), self.join()
        self.settled(first, second, third)
        self.send()
        self.all_come()
        third.leave()
        self.settled(first, second)
        self.send()
        self.all_come()
        second.kill()
        self.settled(first, seconds=MOVED_S)
        self.send()
        self.all_come()
        fourth = self.join()
        self.settled(first, fourth)

    def test_resumes(self) -> None:
        """A member that joins after all have left begins at their committed offsets."""
        first = self.join()
        self.settled(first)
        self.send()
        self.all_come()
        first.leave()
        self.send()
        second = self.join()
        self.all_come()
        again = {value for _, _, value in second.records} & {value for _, _, value in first.records}
        self.assertEqual(again, set())

    def test_frozen(self) -> None:
        """A member that is stopped past its session loses its partitions, and gets some when it goes on."""
        first, second = self.join(), self.join()
        self.settled(first, second)
        second.freeze()
        until(lambda: len(first.owned) == PARTITIONS, "the other has all partitions", MOVED_S)
        second.thaw()
        self.settled(first, second)

    def test_static(self) -> None:
        """A static member that comes back within its session gets its part at once, without a rebalance."""
        first = self.join(LONG_SESSION_MS, instance_id="one")
        second = self.join(LONG_SESSION_MS, instance_id="two")
        self.settled(first, second)
        parts, rebalances = second.owned, first.rebalances
        second.kill()
        again = self.join(LONG_SESSION_MS, instance_id="two")
        self.settled(first, again)
        self.assertEqual((again.owned, first.rebalances), (parts, rebalances))

    def test_broker_dies(self) -> None:
        """The group continues without a rebalance when the broker is killed and comes back."""
        members = [self.join(session_ms=LONG_SESSION_MS) for _ in range(3)]
        self.settled(*members)
        self.send()
        self.all_come()
        before = [(member.owned, member.rebalances) for member in members]
        self.broker.kill()
        self.start_broker()
        self.send()
        self.all_come()
        time.sleep(2 * LONG_SESSION_MS / HEARTBEATS / 1000)  # who is not a member any more has been told so
        self.send()
        self.all_come()
        self.assertEqual([(member.owned, member.rebalances) for member in members], before)


class ConfluentTests(GroupContract, SynchronousTestCase):
    """librdkafka."""

    client = "confluent-kafka"

    def test_cooperative(self) -> None:
        """Members that rebalance incrementally keep what they have while others get their part."""
        how: Any = {"partition_assignment_strategy": "cooperative-sticky"}
        first = self.join(**how)
        self.settled(first)
        second = self.join(**how)
        self.settled(first, second)
        third = self.join(**how)
        self.settled(first, second, third)
        self.send()
        self.all_come()
        second.kill()
        self.settled(first, third, seconds=MOVED_S)
        self.send()
        self.all_come()


class KafkaPythonTests(GroupContract, SynchronousTestCase):
    """kafka-python."""

    client = "kafka-python"
