"""Tests of kafkatx.client.legacy.zookeeper.balancer."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.logger import LogLevel, capturedLogs, formatEvent

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.legacy.zookeeper.balancer import ZooKeeperBalancer
from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.topic_filter import Subscription, Whitelist
from kafkatx.errors import SettingError
from kafkatx.extension import find
from kafkatx.interfaces import IBalancer
from kafkatx.interfaces.nodes import Create, Delete, SetData
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from kafkatx.testing.contracts.balancer import BOTH, TOPIC, BalancerContract, Member
from kafkatx.types import TopicPartition
from tests.client.consumers import ConsumerTestCase
from tests.client.legacy.zookeeper.case import topic_data

E0, E1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
SESSION_S = 6.0


class ZooKeeperBalancerTests(ConsumerTestCase, BalancerContract):
    def setUp(self) -> None:
        """Make a tree with the nodes of a broker."""
        super().setUp()
        self.server = MemoryServer(self.clock)
        self.session = self.server.open_session(1e9, lambda: None)
        self.trees: list[MemoryTree] = []
        for path in ("/brokers", "/brokers/ids", "/brokers/ids/0", "/brokers/topics"):
            self.server.multi(self.session, [Create(path)])

    def make_topic(self, topic: str, partitions: int) -> None:  # type: ignore[override]
        """Make a topic with two records in each partition, and its node."""
        super().make_topic(topic, partitions)
        for partition in range(partitions):
            self.fill(b"a", b"b", topic=topic, partition=partition)
        self.server.multi(self.session, [Create(f"/brokers/topics/{topic}", topic_data(partitions))])

    def make_balancer(self) -> ZooKeeperBalancer:
        """Return a balancer on the tree in memory."""

        def opened(settings: Any, reactor: Any) -> Any:
            tree = MemoryTree(self.server, SESSION_S)
            self.trees.append(tree)
            return tree, lambda: None

        balancer = ZooKeeperBalancer(opened)
        self.addCleanup(lambda: self.wait(balancer.leave(), 60))
        return balancer

    def make_consumer(self, **settings: Any) -> Consumer:
        """Return a started consumer of group g."""
        consumer = self.unstarted(group_id="g", enable_auto_commit=False, **settings)
        self.wait(consumer.start())
        return consumer

    def settle(self) -> None:
        """Advance the clock by the pauses of a rebalance."""
        self.network.run(8)

    def data(self, path: str) -> bytes:
        """Return the content of a node."""
        return self.server.read(self.session, path, None)[0]

    def names(self, path: str) -> list[str]:
        """Return the children of a node."""
        return list(self.server.children(self.session, path, None))

    def owners(self) -> dict[int, bytes]:
        """Return the content of each owner of the topic's partitions."""
        path = f"/consumers/g/owners/{TOPIC}"
        return {int(name): self.data(f"{path}/{name}") for name in self.names(path)}

    def refused(self, member: Member, at: TopicPartition, offset: int = 1) -> CommitFailed:
        """Return the error of a commit."""
        with self.assertRaises(CommitFailed) as caught:
            self.wait(member.balancer.commit({at: OffsetAndMetadata(offset)}))
        error: CommitFailed = caught.exception
        return error

    def test_name(self) -> None:
        """The balancer is the extension ``zookeeper``."""
        self.assertIs(type(find(IBalancer, "zookeeper", "kafkatx.balancer")()), ZooKeeperBalancer)

    def test_settings(self) -> None:
        """Without a group, or without ZooKeeper, joining is an error that names the setting."""
        for settings, name in (({"group_id": "g"}, "zookeeper.connect"), ({}, "group.id")):
            consumer = self.unstarted(**settings, enable_auto_commit=False)
            with self.assertRaises(SettingError) as caught:
                ZooKeeperBalancer().join(consumer, Subscription({TOPIC: 1}), None)
            self.assertIn(f"set {name}", str(caught.exception))

    def test_nodes(self) -> None:
        """The nodes are Kafka 0.8's; a member that leaves deletes its own, and offsets stay."""
        self.make_topic(TOPIC, 2)
        member = self.joined(Subscription({TOPIC: 2}))
        (name,) = self.names("/consumers/g/ids")
        self.assertRegex(name, "^g_.+-[0-9]+-[0-9a-f]{8}$")
        self.assertIn(
            b'"subscription":{"events":2},"pattern":"static"', self.data(f"/consumers/g/ids/{name}")
        )
        self.assertEqual(self.owners(), {0: f"{name}-0".encode(), 1: f"{name}-1".encode()})
        self.wait(member.balancer.commit({E0: OffsetAndMetadata(2)}))
        self.assertEqual(self.data("/consumers/g/offsets/events/0"), b"2")
        self.leave(member)
        self.assertEqual((self.names("/consumers/g/ids"), self.owners()), ([], {}))
        self.assertEqual(self.data("/consumers/g/offsets/events/0"), b"2")

    def test_topic_grows(self) -> None:
        """A partition that is added to a topic is read; so is a topic that is created later."""
        member = self.joined()
        self.assertEqual(member.has, set())
        self.make_topic(TOPIC, 2)
        self.settle()
        self.assertEqual(member.has, BOTH)
        self.server.multi(self.session, [SetData("/brokers/topics/events", topic_data(3))])
        self.settle()
        self.assertEqual(member.has, BOTH | {TopicPartition(TOPIC, 2)})

    def test_others_change(self) -> None:
        """Reading goes on when a broker comes, or a topic that the filter does not accept; else not."""
        self.make_topic(TOPIC, 2)
        member = self.joined(Subscription(filter=Whitelist("ev.*"), streams=1))
        self.assertEqual(member.has, BOTH)
        revoked: list[set[TopicPartition]] = []
        told = member.on_partitions_revoked

        def on_partitions_revoked(places: set[TopicPartition]) -> Coroutine[Any, Any, None]:
            revoked.append(set(places))
            return told(places)

        self.patch(member, "on_partitions_revoked", on_partitions_revoked)
        self.server.multi(self.session, [Create("/brokers/ids/1")])
        self.settle()
        self.make_topic("other", 1)
        self.settle()
        self.assertEqual((revoked, member.has), ([], BOTH))
        self.make_topic("evening", 1)
        self.settle()
        self.assertEqual((revoked, member.has), ([BOTH], BOTH | {TopicPartition("evening", 0)}))

    def test_expired(self) -> None:
        """A member whose session has expired has lost its partitions, and joins again."""
        self.make_topic(TOPIC, 2)
        member = self.joined()
        lost: list[set[TopicPartition]] = []
        self.patch(member, "on_partitions_lost", lambda places: lost.append(set(places)))
        self.trees[0].link.expire()
        self.settle()
        self.assertEqual(lost, [BOTH])
        self.assertEqual(member.consumer.assignment(), BOTH)
        self.assertEqual(len(self.owners()), 2)
        self.wait(member.balancer.commit({E0: OffsetAndMetadata(2)}))

    def test_stalled(self) -> None:
        """A member that does not hear that its session has expired can commit nothing; the other can."""
        self.make_topic(TOPIC, 2)
        stalled, other = self.joined(), self.joined()
        (at,) = stalled.has
        self.trees[0].link.hold_requests()
        late = stalled.balancer.commit({at: OffsetAndMetadata(1)})
        self.settle()
        self.assertEqual(other.has, BOTH)
        self.wait(other.balancer.commit({at: OffsetAndMetadata(2)}))
        stalled.leaving = other.leaving = True  # they commit nothing more
        self.trees[0].link.release()
        with self.assertRaises(ConnectionFailed):
            self.wait(late)
        self.assertEqual(self.data(f"/consumers/g/offsets/events/{at.partition}"), b"2")
        self.settle()
        self.assertEqual((len(stalled.has), len(other.has)), (1, 1))

    def test_suspended(self) -> None:
        """A member without a connection keeps its partitions while the session lives, and cannot commit."""
        self.make_topic(TOPIC, 2)
        member = self.joined()
        self.trees[0].link.cut()
        self.network.run(1)
        self.assertEqual(member.has, BOTH)
        with self.assertRaises(ConnectionFailed):
            self.wait(member.balancer.commit({E0: OffsetAndMetadata(1)}))
        self.make_topic("others", 1)
        self.trees[0].link.heal()
        self.settle()
        self.assertEqual(member.has, BOTH)
        self.wait(member.balancer.commit({E0: OffsetAndMetadata(1)}))

    def test_owner_deleted(self) -> None:
        """A commit is refused when the owner's node is gone; then the partition is claimed again."""
        self.make_topic(TOPIC, 2)
        member = self.joined()
        self.server.multi(self.session, [Delete("/consumers/g/owners/events/1")])
        self.assertIn("events", str(self.refused(member, E1)))
        self.wait(member.balancer.commit({E0: OffsetAndMetadata(1)}))
        self.settle()
        self.assertEqual((member.has, len(self.owners())), (BOTH, 2))
        self.wait(member.balancer.commit({E1: OffsetAndMetadata(1)}))

    def test_member_deleted(self) -> None:
        """A member whose node was deleted by a tool creates it again, and has its partitions."""
        self.make_topic(TOPIC, 2)
        member = self.joined()
        (name,) = self.names("/consumers/g/ids")
        self.server.multi(self.session, [Delete(f"/consumers/g/ids/{name}")])
        self.settle()
        self.assertEqual(self.names("/consumers/g/ids"), [name])
        self.assertEqual((member.has, len(self.owners())), (BOTH, 2))

    def test_leave_without_connection(self) -> None:
        """A member that leaves while ZooKeeper is away does not wait for it."""
        self.make_topic(TOPIC, 2)
        member = self.joined()
        self.trees[0].link.cut()
        self.wait(member.balancer.leave())
        stranger = Member(self.make_balancer(), self.make_consumer())
        stranger.balancer.join(stranger.consumer, Subscription({TOPIC: 1}), stranger)
        self.wait(stranger.balancer.leave())

    def test_0_7(self) -> None:
        """Offsets of Kafka 0.7 are the start if the setting says so; commits have today's form."""
        self.make_topic(TOPIC, 1)
        for path in ("", "/g", "/g/offsets", "/g/offsets/events"):
            self.server.multi(self.session, [Create(f"/consumers{path}")])
        self.server.multi(self.session, [Create("/consumers/g/offsets/events/3-0", b"1")])
        consumer = self.make_consumer(kafkatx_zookeeper_old_offsets=True)
        member = Member(self.make_balancer(), consumer)
        self.wait(member.balancer.join(consumer, Subscription({TOPIC: 1}), member))
        self.settle()
        self.assertEqual(self.wait(consumer.position(E0)), 1)
        self.wait(member.balancer.commit({E0: OffsetAndMetadata(2)}))
        self.assertEqual(self.names("/consumers/g/offsets/events"), ["0", "3-0"])
        self.leave(member)

    def test_not_owned(self) -> None:
        """A commit for another member's partition is refused."""
        self.make_topic(TOPIC, 2)
        first, second = self.joined(), self.joined()
        (at,) = second.has
        self.refused(first, at)

    def test_told(self) -> None:
        """A member that cannot get its partitions says so once, and gets them when they are free."""
        self.make_topic(TOPIC, 2)
        for path in ("/consumers", "/consumers/g", "/consumers/g/owners", "/consumers/g/owners/events"):
            self.server.multi(self.session, [Create(path)])
        self.server.multi(self.session, [Create("/consumers/g/owners/events/0", b"x-0")])
        with capturedLogs() as events:
            member = self.joined()
            self.network.run(20)
        warned = [formatEvent(event) for event in events if event["log_level"] is LogLevel.warn]
        self.assertEqual((len(warned), member.has), (1, set()))
        self.assertIn("could not rebalance 4 times", warned[0])
        self.assertEqual(self.owners(), {0: b"x-0"})
        self.server.multi(self.session, [Delete("/consumers/g/owners/events/0")])
        self.settle()
        self.assertEqual(member.has, BOTH)

    def test_watches(self) -> None:
        """Watches do not pile up with rebalances."""
        self.make_topic(TOPIC, 2)
        self.joined()
        before = len(self.trees[0]._watches)
        for number in range(5):
            self.server.multi(self.session, [Create(f"/brokers/ids/{number + 1}")])
            self.settle()
        self.assertEqual(len(self.trees[0]._watches), before)

    def test_storages(self) -> None:
        """Offsets are kept where the settings say; with both, the larger one counts."""
        self.make_topic(TOPIC, 1)
        for storage, dual, node, committed in (
            ("kafka", True, b"1", 1),
            ("kafka", False, b"1", 2),
            ("zookeeper", True, b"2", 2),
        ):
            consumer = self.make_consumer(offsets_storage=storage, dual_commit_enabled=dual)
            member = Member(self.make_balancer(), consumer)
            self.wait(member.balancer.join(consumer, Subscription({TOPIC: 1}), member))
            self.settle()
            self.wait(member.balancer.commit({E0: OffsetAndMetadata(int(node) if dual else committed)}))
            self.assertEqual(self.data("/consumers/g/offsets/events/0"), node)
            self.assertEqual(self.wait(consumer.committed(E0))[E0].offset, committed)
            self.leave(member)
        self.server.multi(self.session, [SetData("/consumers/g/offsets/events/0", b"1")])
        consumer = self.make_consumer(offsets_storage="kafka")
        member = Member(self.make_balancer(), consumer)
        self.wait(member.balancer.join(consumer, Subscription({TOPIC: 1}), member))
        self.settle()
        self.assertEqual(self.wait(consumer.position(E0)), 2)
        member.leaving = True
