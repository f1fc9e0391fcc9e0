"""The contract of metadata stores of a cluster: what one broker does the others see, and which may act."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import IMetadataStore, ITree
from kafkatx.interfaces.nodes import Create, Delete
from kafkatx.types import NO_LEADER, BrokerNode, ClusterDelta, ClusterState, PartitionState, Placement

if TYPE_CHECKING:
    from twisted.trial.unittest import TestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

T = TypeVar("T")


def node(broker_id: int) -> BrokerNode:
    """Return a broker of this id."""
    return BrokerNode(broker_id, f"host{broker_id}", 9092)


class ClusterStoreCase(_Case):
    """Mixin for a ``twisted.trial.unittest.TestCase``; the subclass says how stores and faults are made."""

    def make_store(self) -> IMetadataStore:
        """Return a store that is not started. All stores of a test share their cluster."""
        raise NotImplementedError

    def make_tree(self) -> ITree:
        """Return a tree without a session, for tools that change the nodes of the cluster."""
        raise NotImplementedError

    async def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred; make it fire if nothing else does."""
        return await deferred

    async def cut(self, store: IMetadataStore) -> None:
        """End the connection of a store, and let it get no other."""
        raise NotImplementedError

    async def heal(self, store: IMetadataStore) -> None:
        """Allow a store to connect again."""
        raise NotImplementedError

    async def expire(self, store: IMetadataStore) -> None:
        """End the session of a store at the server; its connection works."""
        raise NotImplementedError

    async def started(self, broker_id: int, directories: Sequence[str] = ()) -> IMetadataStore:
        """Return a store that a broker has started and registered; it is stopped at the test's end."""
        store = self.make_store()
        await self.result(store.start(node(broker_id)))
        self.addCleanup(lambda: Deferred.fromCoroutine(self.result(store.stop())))
        await self.result(store.register(directories or [f"directory-{broker_id}"]))
        return store

    async def until(self, store: IMetadataStore, condition: Callable[[ClusterState], bool]) -> ClusterState:
        """Return the state of a store when a condition holds for it."""
        reached: Deferred[ClusterState] = Deferred()

        def check(delta: ClusterDelta) -> None:
            if not reached.called and condition(delta.after):
                reached.callback(delta.after)

        if condition(store.state):
            return store.state
        store.subscribe(check)
        return await self.result(reached)

    async def failure_code(self, deferred: Deferred[T]) -> ErrorCode:
        """Return the code of the RequestError with which a Deferred fails."""
        try:
            found = await self.result(deferred)
        except RequestError as error:
            return error.code
        raise self.failureException(f"RequestError expected, but the result is {found!r}")

    async def led(self, store: IMetadataStore, topic: str, leader: int, epoch: int) -> PartitionState:
        """Wait until partition 0 of a topic has this leader in this leader epoch; return its state."""

        def is_led(state: ClusterState) -> bool:
            found = state.topics.get(topic)
            return found is not None and (
                (found.partitions[0].leader, found.partitions[0].leader_epoch) == (leader, epoch)
            )

        return (await self.until(store, is_led)).topics[topic].partitions[0]

    async def tool(self) -> ITree:
        """Return a tree with a session, as a tool for Apache Kafka has; it is closed at the test's end."""
        tree = self.make_tree()
        await self.result(tree.connect())
        self.addCleanup(tree.close)
        return tree


class ClusterStoreContract(ClusterStoreCase):
    """Behaviour of stores that share a cluster."""

    async def test_brokers(self) -> None:
        """Check that each broker sees the others, one controller, and the same cluster id."""
        first, second = await self.started(1), await self.started(2)
        state = await self.until(first, lambda state: len(state.brokers) == 2)
        self.assertEqual(state.brokers, (await self.until(second, lambda state: 1 in state.brokers)).brokers)
        self.assertEqual(state.cluster_id, second.state.cluster_id)
        self.assertEqual(
            (state.brokers[2].host, state.controller_id, second.state.controller_id), ("host2", 1, 1)
        )
        self.assertLess(state.brokers[1].epoch, state.brokers[2].epoch)

    async def test_fenced_before_registration(self) -> None:
        """Check that a broker that is started, but not registered, is fenced and sees the topics."""
        first = await self.started(1)
        await self.result(first.create_topic("clicks", [[1]], {}))
        second = self.make_store()
        await self.result(second.start(node(2)))
        self.addCleanup(lambda: Deferred.fromCoroutine(self.result(second.stop())))
        self.assertTrue(second.state.fenced)
        self.assertFalse(first.state.fenced)
        assert second.lease_remaining_s is not None
        self.assertLessEqual(second.lease_remaining_s(), 0)
        self.assertEqual(second.state.topics, first.state.topics)
        self.assertNotIn(2, second.state.brokers)

    async def test_topic_of_another_broker(self) -> None:
        """Check that a topic that one broker creates has leaders, and that all brokers see the same."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        topic = await self.result(second.create_topic("clicks", [[1], [2], [1]], {"retention.ms": "5"}))
        self.assertEqual([each.leader for each in topic.partitions], [1, 2, 1])
        seen = await self.until(first, lambda state: state.topics.get("clicks") == topic)
        self.assertTrue(seen.leads(1, topic.partitions[0]))
        self.assertFalse(seen.leads(1, topic.partitions[1]))
        self.assertEqual(
            await self.failure_code(first.create_topic("clicks", [[1]], {})), ErrorCode.TOPIC_ALREADY_EXISTS
        )

    async def test_changes_of_another_broker(self) -> None:
        """Check that partitions, configs, quotas and deletions of one broker are seen by the other."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        topic = await self.result(first.create_topic("clicks", [[1]], {}))
        await self.until(second, lambda state: "clicks" in state.topics)
        await self.result(second.add_partitions("clicks", 1, [[2]]))
        state = await self.until(first, lambda state: len(state.topics["clicks"].partitions) == 2)
        await self.until(first, lambda state: state.topics["clicks"].partitions[1].leader == 2)
        self.assertEqual(state.topics["clicks"].partitions[0], topic.partitions[0])
        await self.result(second.alter_topic_configs("clicks", lambda old: {"retention.ms": "7"}))
        await self.until(first, lambda state: state.topics["clicks"].configs == {"retention.ms": "7"})
        entity = (("user", "ann"),)
        await self.result(second.alter_client_quotas({entity: {"producer_byte_rate": 9.0}}))
        await self.until(first, lambda state: state.client_quotas == {entity: {"producer_byte_rate": 9.0}})
        await self.result(first.delete_topic("clicks"))
        await self.until(second, lambda state: "clicks" not in state.topics)
        self.assertEqual(second.state.topic_names, {})

    async def test_no_change_is_lost(self) -> None:
        """Check that configs that two brokers change at the same time keep both changes."""
        first, second = await self.started(1), await self.started(2)
        await self.result(first.create_topic("clicks", [[1]], {}))
        changes = [
            store.alter_topic_configs("clicks", lambda old, name=name: {**old, name: "1"})  # type: ignore[misc]
            for name, store in zip("abcdef", [first, second] * 3, strict=True)
        ]
        for change in changes:
            await self.result(change)
        every = dict.fromkeys("abcdef", "1")
        await self.until(first, lambda state: state.topics["clicks"].configs == every)
        await self.until(second, lambda state: state.topics["clicks"].configs == every)

    async def test_producer_ids(self) -> None:
        """Check that no producer id is given to two brokers."""
        first, second = await self.started(1), await self.started(2)
        given = [store.allocate_producer_ids(10) for store in [first, second] * 3]
        ids = [number for block in given for number in await self.result(block)]
        self.assertEqual(len(set(ids)), 60)

    async def test_leader_stops_and_returns(self) -> None:
        """Check that partitions of a stopped broker have no leader until it leads them in a later epoch."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        await self.result(first.create_topic("clicks", [[2]], {}))
        await self.result(second.stop())
        gone = await self.led(first, "clicks", NO_LEADER, 1)
        self.assertEqual(gone.isr, (2,))
        again = await self.started(2)
        state = await self.led(again, "clicks", 2, 2)
        self.assertTrue(again.state.leads(2, state))

    async def test_controller_stops(self) -> None:
        """Check that another broker becomes the controller, and does what the first one could not."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        await self.result(second.create_topic("clicks", [[1], [2]], {}))
        await self.result(first.stop())
        await self.until(second, lambda state: state.controller_id == 2)
        await self.led(second, "clicks", NO_LEADER, 1)
        topic = await self.result(second.create_topic("views", [[2]], {}))
        self.assertEqual(topic.partitions[0].leader, 2)

    async def test_same_id(self) -> None:
        """Check that a broker whose id another one keeps is refused, with that one's address."""
        first = await self.started(1)
        other = self.make_store()
        await self.result(other.start(BrokerNode(1, "elsewhere", 9093)))
        self.addCleanup(lambda: Deferred.fromCoroutine(self.result(other.stop())))
        try:
            await self.result(other.register(["another directory"]))
        except SettingError as error:
            self.assertIn("host1:9092", str(error))
        else:
            raise self.failureException("the second broker is registered")
        self.assertFalse(first.state.fenced)

    async def test_past_life(self) -> None:
        """Check that a broker that was killed registers again at once: its directory ids tell who it is."""
        first = await self.started(1)
        await self.started(2)
        await self.result(first.create_topic("clicks", [[1]], {}))
        await self.cut(first)
        again = await self.started(1)
        state = await self.led(again, "clicks", 1, 1)
        self.assertTrue(again.state.leads(1, state))

    async def test_short_cut(self) -> None:
        """Check that a broker whose connection is back before its lease ends sees what it missed."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        await self.result(first.create_topic("clicks", [[2]], {}))
        await self.led(second, "clicks", 2, 0)
        await self.cut(second)
        created = await self.result(first.create_topic("views", [[1], [2]], {}))
        await self.heal(second)
        await self.until(second, lambda state: state.topics.get("views") == created and not state.fenced)
        self.assertEqual((await self.led(second, "clicks", 2, 0)).leader, 2)

    async def test_lease_ends(self) -> None:
        """Check that a broker without a connection is fenced before the others give its partitions away."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        await self.result(first.create_topic("clicks", [[2]], {}))
        await self.led(second, "clicks", 2, 0)
        fenced: list[bool] = []
        first.subscribe(lambda delta: fenced.append(second.state.fenced))
        await self.cut(second)
        await self.led(first, "clicks", NO_LEADER, 1)
        self.assertTrue(all(fenced))
        assert second.lease_remaining_s is not None
        self.assertLessEqual(second.lease_remaining_s(), 0)
        await self.heal(second)
        state = await self.led(second, "clicks", 2, 2)
        await self.until(second, lambda state: not state.fenced)
        self.assertTrue(second.state.leads(2, state))

    async def test_session_expires(self) -> None:
        """Check that a broker whose session expires is fenced, and leads in a later epoch after that."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        await self.result(first.create_topic("clicks", [[2]], {}))
        epoch = first.state.brokers[2].epoch
        await self.expire(second)
        await self.until(second, lambda state: state.fenced)
        await self.until(second, lambda state: not state.fenced and state.brokers[2].epoch > epoch)
        await self.until(first, lambda state: 2 in state.brokers and state.brokers[2].epoch > epoch)
        await self.until(first, lambda state: state.topics["clicks"].partitions[0].leader == 2)
        self.assertGreater(first.state.topics["clicks"].partitions[0].leader_epoch, 0)

    async def test_zombie_controller(self) -> None:
        """Check that a controller that was cut off writes nothing after another one was elected."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        await self.cut(first)
        await self.until(second, lambda state: state.controller_id == 2)
        await self.result(second.create_topic("clicks", [[1], [2]], {}))
        await self.heal(first)
        await self.until(first, lambda state: state.controller_id == 2 and not state.fenced)
        await self.led(first, "clicks", 1, 0)
        topic = await self.result(first.create_topic("views", [[1]], {}))
        self.assertEqual(topic.partitions[0].leader, 1)
        self.assertEqual(second.state.controller_id, 2)

    async def test_tool_creates_a_topic(self) -> None:
        """Check that a topic whose nodes a tool for Apache Kafka has made gets leaders, and a topic id."""
        first = await self.started(1)
        tool = await self.tool()
        for name, content in (
            ("old", b'{"version":1,"partitions":{"0":[1],"1":[1]}}'),
            (
                "new",
                b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[1]},'
                b'"adding_replicas":{},"removing_replicas":{}}',
            ),
        ):
            await self.result(
                tool.multi(
                    [
                        Create(f"/config/topics/{name}", b'{"version":1,"config":{"retention.ms":"5"}}'),
                        Create(f"/brokers/topics/{name}", content),
                    ]
                )
            )
        await self.led(first, "old", 1, 0)
        await self.led(first, "new", 1, 0)
        topics = first.state.topics
        self.assertEqual((len(topics["old"].partitions), topics["old"].configs), (2, {"retention.ms": "5"}))
        self.assertEqual(topics["new"].topic_id, uuid.UUID(bytes=b"testtesttesttest"))
        self.assertGreater(topics["old"].topic_id.int, 1)

    async def test_tool_deletes_a_topic(self) -> None:
        """Check that a topic that a tool marks for deletion is deleted; a mark without a topic is removed."""
        first = await self.started(1)
        await self.result(first.create_topic("clicks", [[1]], {}))
        tool = await self.tool()
        await self.result(tool.multi([Create("/admin/delete_topics/nothing")]))
        await self.result(tool.multi([Create("/admin/delete_topics/clicks")]))
        await self.until(first, lambda state: not state.topics)
        for path in (
            "/brokers/topics/clicks",
            "/config/topics/clicks",
            "/admin/delete_topics/clicks",
            "/admin/delete_topics/nothing",
        ):
            while await self.result(tool.exists(path)) is not None:  # the marks go last
                await self.result(first.allocate_producer_ids(1))
        again = await self.result(first.create_topic("clicks", [[1]], {}))
        self.assertEqual(again.partitions[0].leader, 1)

    async def test_tool_changes_configs(self) -> None:
        """Check that configs that a tool changes with Kafka's notification are seen."""
        first = await self.started(1)
        await self.result(first.create_topic("clicks", [[1]], {}))
        tool = await self.tool()
        content = b'{"version":1,"config":{"retention.ms":"9"}}'
        await self.result(
            tool.multi(
                [
                    Delete("/config/topics/clicks"),
                    Create("/config/topics/clicks", content),
                    Create(
                        "/config/changes/config_change_",
                        b'{"version":2,"entity_path":"topics/clicks"}',
                        sequential=True,
                    ),
                ]
            )
        )
        await self.until(first, lambda state: state.topics["clicks"].configs == {"retention.ms": "9"})

    async def test_missed_records(self) -> None:
        """Check that a broker whose next change records were removed reads everything again."""
        first, second = await self.started(1), await self.started(2)
        tool = await self.tool()
        await self.cut(second)
        topic = await self.result(first.create_topic("clicks", [[1]], {}))
        names = await self.result(tool.children("/kafkatx/changes"))
        await self.result(tool.multi([Delete(f"/kafkatx/changes/{name}") for name in names[:-1]]))
        await self.heal(second)
        await self.until(second, lambda state: state.topics.get("clicks") == topic)

    async def test_restart_of_all(self) -> None:
        """Check that all is there after every broker was stopped."""
        first = await self.started(1)
        topic = await self.result(first.create_topic("clicks", [[1]] * 3, {"retention.ms": "5"}))
        gone = await self.result(first.create_topic("gone", [[1]], {}))
        await self.result(first.alter_broker_configs("", lambda old: {"log.retention.ms": "7"}))
        await self.result(first.alter_group_configs("g/h", lambda old: {"a": "b"}))
        await self.result(first.record({"d": "/a"}, [Placement(topic.topic_id, 1, "d")], []))
        await self.result(first.record(None, [Placement(gone.topic_id, 0, "d")], []))
        await self.result(first.delete_topic("gone"))
        await self.result(first.stop())
        again = await self.started(1)
        await self.led(again, "clicks", 1, 1)
        state = await self.until(
            again, lambda state: all(each.leader_epoch == 1 for each in state.topics["clicks"].partitions)
        )
        self.assertEqual(state.topics["clicks"].topic_id, topic.topic_id)
        self.assertEqual(state.topics["clicks"].configs, {"retention.ms": "5"})
        self.assertEqual(state.broker_configs, {"": {"log.retention.ms": "7"}})
        self.assertEqual(state.group_configs, {"g/h": {"a": "b"}})
        self.assertEqual(again.recorded.log_dirs, {"d": "/a"})
        self.assertEqual(again.recorded.placed, {topic.topic_id: {1: "d"}})
        self.assertEqual(again.recorded.deleted, frozenset([gone.topic_id]))
        await self.result(again.record(None, [], [gone.topic_id]))

    async def test_change_without_a_connection(self) -> None:
        """Check that a change that was asked for without a connection is made when it is back."""
        first, second = await self.started(1), await self.started(2)
        await self.cut(second)
        created = second.create_topic("clicks", [[1]], {})
        await self.heal(second)
        self.assertEqual((await self.result(created)).partitions[0].leader, 1)
        await self.until(first, lambda state: "clicks" in state.topics)
