"""Consumer groups of a cluster: the broker that coordinates them is killed, or frozen; another takes over."""

from __future__ import annotations

import os
import signal
from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster
from kafkatx.blocking.admin.groups import Groups
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.attack.test_groups import receive
from tests.broker.handlers.test_offset_commit import commit
from tests.integration.members import Member
from tests.integration.raw import RawClient, request_frame
from tests.integration.test_groups import LONG_SESSION_MS, PARTITIONS, SETTINGS, GroupCase
from tests.until import until

BROKERS = 3
BROKER_SESSION_MS = 2000
FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH = 10, 8, 9


class ClusterGroupCase(GroupCase, SynchronousTestCase):
    """A cluster, a topic on all of its brokers, a group and its members."""

    client = "confluent-kafka"
    how: ClassVar[dict[str, Any]] = {}

    def start_broker(self) -> None:
        """Start the brokers."""
        settings = {**SETTINGS, "zookeeper.session.timeout.ms": f"{BROKER_SESSION_MS}"}
        self.cluster = EmbeddedCluster(BROKERS, settings, run_in="process")
        self.addCleanup(self.cluster.close)
        self.bootstrap = self.cluster.start().bootstrap
        self.broker = self.cluster.brokers[1]

    def members_of(self, count: int) -> list[Member]:
        """Return members that share the partitions, with a long session."""
        members = [self.join(LONG_SESSION_MS, **self.how) for _ in range(count)]
        self.settled(*members)
        return members

    def coordinator(self) -> int:
        """Return the id of the broker that coordinates the group, as another one says."""
        with RawClient(self.broker.bootstrap) as client:
            node: int = client.ask(FIND_COORDINATOR, 3, FindCoordinatorRequest(self.group)).node_id
        return node

    def committed(self, broker: EmbeddedBroker) -> int:
        """Return the sum of the offsets that the group has committed; 0 if this broker does not say."""
        asked = OffsetFetchRequest(self.group, [OffsetFetchRequestTopic(self.topic, list(range(PARTITIONS)))])
        with RawClient(broker.bootstrap) as client:
            response = client.ask(OFFSET_FETCH, 7, asked)
        if response.error_code:
            return 0
        return sum(p.committed_offset for topic in response.topics for p in topic.partitions)

    def all_committed(self) -> None:
        """Wait until all that was sent has come to members, and is committed."""
        self.all_come()

        def is_committed() -> bool:
            broker = self.cluster.brokers.get(self.coordinator())
            return broker is not None and self.committed(broker) == self.sent

        until(is_committed, "all offsets are committed")


class ConfluentTests(ClusterGroupCase):
    """librdkafka."""

    def test_coordinator_dies(self) -> None:
        """Members continue without a rebalance, from their offsets, when their coordinator has died."""
        members = self.members_of(2)
        self.send()
        coordinator = self.coordinator()
        self.all_committed()
        before = [(member.owned, member.rebalances) for member in members]
        self.cluster.brokers[coordinator].kill()
        self.cluster.start_broker(coordinator)
        self.send()
        self.all_committed()
        self.assertEqual([(member.owned, member.rebalances) for member in members], before)
        values = [value for member in members for _, _, value in member.records]
        self.assertEqual(len(values), len(set(values)))


class ConsumerProtocolTests(ConfluentTests):
    """librdkafka with the consumer protocol (KIP-848)."""

    how: ClassVar[dict[str, Any]] = {"group_protocol": "consumer"}


class KafkaPythonTests(ConfluentTests):
    """kafka-python."""

    client = "kafka-python"


class OurTests(ConfluentTests):
    """This project's own client."""

    client = "kafkatx"


class FrozenTests(ClusterGroupCase):
    def test_coordinator_frozen(self) -> None:
        """A coordinator that was stopped past its own session has lost the group to another broker."""
        members = self.members_of(2)
        self.send()
        coordinator = self.coordinator()
        self.all_committed()
        self.broker = self.cluster.brokers[coordinator % BROKERS + 1]
        pid = self.cluster.brokers[coordinator].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: self.coordinator() not in (-1, coordinator), "another broker takes over")
        finally:
            os.kill(pid, signal.SIGCONT)
        self.send()
        self.all_come()
        # librdkafka repeats commits that were refused meanwhile, perhaps after later ones
        until(self.is_next_round_committed, "the commits of a round")
        self.settled(*members)

    def is_next_round_committed(self) -> bool:
        """Send once more; return True if all offsets are committed soon after the records have come."""
        self.send()
        self.all_come()
        broker = self.cluster.brokers[self.coordinator()]
        try:
            until(lambda: self.committed(broker) == self.sent, "all offsets are committed", wait_s=5)
        except AssertionError:
            return False
        return True


class AnyBrokerTests(SynchronousTestCase):
    """Groups that no client is a member of, on three brokers that have just started."""

    def test_any_broker(self) -> None:
        """Brokers create the topic at once, agree on coordinators, and lists and deletions reach them all."""
        with EmbeddedCluster(BROKERS, {"offsets.topic.num.partitions": 12}, run_in="process") as cluster:
            clients = {number: RawClient(broker.bootstrap) for number, broker in cluster.brokers.items()}
            for client in clients.values():
                self.addCleanup(client.__exit__)
                client.send(request_frame(FIND_COORDINATOR, 3, FindCoordinatorRequest("g0")))
            codes = [receive(client, FIND_COORDINATOR, 3).error_code for client in clients.values()]
            self.assertEqual(codes, [0] * BROKERS)
            topic = cluster.topic("t", partitions=2)
            coordinators = {}
            for name in (f"g{number}" for number in range(9)):
                asked = FindCoordinatorRequest(name)
                (node,) = {client.ask(FIND_COORDINATOR, 3, asked).node_id for client in clients.values()}
                coordinators[name] = node
                committed = clients[node].ask(OFFSET_COMMIT, 8, commit(5, 6, group=name, topic=topic))
                self.assertEqual([p.error_code for p in committed.topics[0].partitions], [0, 0])
            self.assertEqual(set(coordinators.values()), set(cluster.brokers))
            with Cluster(cluster.brokers[2].bootstrap) as connection:
                groups = Groups(connection)
                self.assertEqual({one.group_id for one in groups.listings()}, set(coordinators))
                Admin(connection).delete_topic(topic)
                until(
                    lambda: not any(groups.offsets(name) for name in coordinators),
                    "every coordinator has deleted the offsets of the topic",
                )
