"""The part of the contract about faults: brokers that stop, are cut off, and come back."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import Delete
from kafkatx.testing.contracts.cluster.case import ClusterStoreCase, node
from kafkatx.types import NO_LEADER, BrokerNode, ClusterDelta, Placement


class FaultsContract(ClusterStoreCase):
    """Brokers that stop, are killed or cut off, and what the others do meanwhile."""

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
        """Check that a broker that was killed registers again at once: its new process has its locks."""
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

    async def test_missed_deletion(self) -> None:
        """Check that a broker learns of a deletion that it missed; a topic that is just gone is none."""
        first, second = await self.started(1), await self.started(2)
        await self.result(second.record({"d": "/d"}, [], []))
        topics = [
            await self.result(first.create_topic(name, [[2]], {})) for name in ("deleted", "gone", "new")
        ]
        await self.until(second, lambda state: len(state.topics) == 3)
        deltas: list[ClusterDelta] = []
        second.subscribe(deltas.append)
        await self.cut(second)
        for name in ("deleted", "new"):
            await self.result(first.delete_topic(name))
        await self.result(first.create_topic("new", [[1]], {}))
        tool = await self.tool()
        base = "/brokers/topics/gone"
        nodes = (f"{base}/partitions/0/state", f"{base}/partitions/0", f"{base}/partitions", base)
        await self.result(tool.multi([Delete(path) for path in nodes]))
        await self.heal(second)
        await self.until(second, lambda state: list(state.topics) == ["new"])
        deleted = {topic_id for delta in deltas for topic_id in delta.deleted}
        self.assertEqual(deleted, {topics[0].topic_id, topics[2].topic_id})

    async def test_change_without_a_connection(self) -> None:
        """Check that a change that was asked for without a connection is made when it is back."""
        first, second = await self.started(1), await self.started(2)
        await self.cut(second)
        created = second.create_topic("clicks", [[1]], {})
        await self.heal(second)
        self.assertEqual((await self.result(created)).partitions[0].leader, 1)
        await self.until(first, lambda state: "clicks" in state.topics)

    async def test_restart_of_all(self) -> None:
        """Check that all is there after every broker was stopped."""
        first = await self.started(1)
        topic = await self.result(first.create_topic("clicks", [[1]] * 3, {"retention.ms": "5"}))
        gone = await self.result(first.create_topic("gone", [[1]], {}))
        await self.result(first.alter_broker_configs("", lambda old: {"log.retention.ms": "7"}))
        await self.result(first.alter_group_configs("g/h", lambda old: {"a": "b"}))
        await self.result(first.alter_client_metrics_configs("s/t", lambda old: {"metrics": "*"}))
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
        self.assertEqual(state.client_metrics_configs, {"s/t": {"metrics": "*"}})
        self.assertEqual(again.recorded.log_dirs, {"d": "/a"})
        self.assertEqual(again.recorded.placed, {topic.topic_id: {1: "d"}})
        self.assertEqual(again.recorded.deleted, frozenset([gone.topic_id]))
        await self.result(again.record(None, [], [gone.topic_id]))
