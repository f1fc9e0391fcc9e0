"""The part of the contract about replicas: in-sync replicas, and brokers that stop or lose log dirs."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from twisted.internet.defer import CancelledError, Deferred

from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IMetadataStore
from kafkatx.testing.contracts.cluster.case import ClusterStoreCase
from kafkatx.types import ElectionKind, IsrChange, PartitionState, TopicPartition

ONE = TopicPartition("clicks", 0)


def state_of(store: IMetadataStore, one: TopicPartition = ONE) -> PartitionState:
    """Return the state of a partition as a store knows it."""
    topic = store.state.topics[one.topic]
    return topic.partitions[one.partition]


def isr_change(
    store: IMetadataStore, isr: Sequence[int], one: TopicPartition = ONE, min_insync: int = 1
) -> IsrChange:
    """Return a change that counts on what a store knows now."""
    epochs = {each: node.epoch for each, node in store.state.brokers.items() if each in isr}
    topic_id = store.state.topics[one.topic].topic_id
    return IsrChange(topic_id, one, state_of(store, one), tuple(isr), epochs, min_insync)


class ReplicasContract(ClusterStoreCase):
    """Changes by leaders of the in-sync replicas, under faults; and what brokers say of themselves."""

    async def replicated(self, count: int = 3, partitions: int = 1) -> list[IMetadataStore]:
        """Return stores of brokers from 1 on, with a topic that broker 1 leads alone in sync."""
        stores = [await self.started(broker_id) for broker_id in range(1, count + 1)]
        first = stores[0]
        await self.until(first, lambda state: len(state.brokers) == count)
        assignment = [list(range(1, count + 1))] * partitions
        await self.result(first.create_topic(ONE.topic, assignment, {}))
        for store in stores:
            await self.led(store, ONE.topic, 1, 0)
        alone = [isr_change(first, [1], TopicPartition(ONE.topic, number)) for number in range(partitions)]
        for outcome in await self.result(first.alter_isr(alone)):
            self.assertIsInstance(outcome, PartitionState)
        return stores

    async def altered(self, store: IMetadataStore, change: IsrChange) -> PartitionState | ErrorCode:
        """Return the outcome of one change."""
        (outcome,) = await self.result(store.alter_isr([change]))
        return outcome

    async def test_isr(self) -> None:
        """Check that a leader changes in-sync replicas in its leader epoch, and that all brokers see it."""
        first, second, _ = await self.replicated()
        before = state_of(first)
        after = await self.altered(first, isr_change(first, [1, 3]))
        assert isinstance(after, PartitionState)
        self.assertEqual(after, state_of(first))
        self.assertEqual((after.isr, after.leader, after.leader_epoch), ((1, 3), 1, before.leader_epoch))
        self.assertEqual(after.partition_epoch, before.partition_epoch + 1)
        self.assertGreater(after.revision, before.revision)
        await self.until(second, lambda state: state_of(second) == after)

    async def test_leader_epoch(self) -> None:
        """Check that a leader raises its own leader epoch, and leads in it; a lower one changes nothing."""
        first, second, _ = await self.replicated()
        before = state_of(first)
        raising = attrs.evolve(isr_change(first, [1]), leader_epoch=before.leader_epoch + 5)
        after = await self.altered(first, raising)
        assert isinstance(after, PartitionState)
        self.assertEqual((after.leader, after.leader_epoch, after.isr), (1, before.leader_epoch + 5, (1,)))
        self.assertEqual(after, state_of(first))
        self.assertTrue(first.state.leads(1, after))
        await self.until(second, lambda state: state_of(second) == after)
        lower = attrs.evolve(isr_change(first, [1]), leader_epoch=before.leader_epoch)
        again = await self.altered(first, lower)
        assert isinstance(again, PartitionState)
        self.assertEqual(again.leader_epoch, after.leader_epoch)
        self.assertEqual(await self.altered(first, raising), ErrorCode.INVALID_UPDATE_VERSION)

    async def test_eligible(self) -> None:
        """Check that brokers that leave too few in-sync replicas are eligible until enough are in sync."""
        first, second, _ = await self.replicated()
        await self.altered(first, isr_change(first, [1, 2, 3], min_insync=2))
        await self.altered(first, isr_change(first, [1, 2], min_insync=2))
        self.assertEqual(state_of(first).eligible, ())
        alone = await self.altered(first, isr_change(first, [1], min_insync=2))
        assert isinstance(alone, PartitionState)
        self.assertEqual(alone.eligible, (2,))
        await self.until(second, lambda state: state_of(second) == alone)
        again = await self.altered(first, isr_change(first, [1, 3], min_insync=2))
        assert isinstance(again, PartitionState)
        self.assertEqual((again.isr, again.eligible), ((1, 3), ()))

    async def test_one_bad_change(self) -> None:
        """Check that changes of one call have outcomes of their own."""
        first, second = await self.replicated(2, partitions=4)
        topic = first.state.topics[ONE.topic]
        changes = [isr_change(first, [1, 2], TopicPartition(ONE.topic, number)) for number in range(4)]
        await self.altered(first, changes[1])
        changes[2] = isr_change(first, [1, 7], TopicPartition(ONE.topic, 2))
        outcomes = await self.result(first.alter_isr(changes))
        self.assertEqual(
            [None if isinstance(each, PartitionState) else each for each in outcomes],
            [None, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INELIGIBLE_REPLICA, None],
        )
        self.assertEqual(topic.partitions[2], state_of(first, TopicPartition(ONE.topic, 2)))
        await self.until(second, lambda state: state.topics[ONE.topic].partitions[3] == outcomes[3])

    async def test_not_the_leader(self) -> None:
        """Check that only the leader of a partition changes its in-sync replicas."""
        first, second = await self.replicated(2)
        await self.until(second, lambda state: state_of(second) == state_of(first))
        outcome = await self.altered(second, isr_change(second, [1, 2]))
        self.assertEqual(outcome, ErrorCode.INVALID_UPDATE_VERSION)

    async def test_past_life_of_a_member(self) -> None:
        """Check that a replica does not join by fetches that were counted before it registered again."""
        first, second = await self.replicated(2)
        joins = isr_change(first, [1, 2])
        epoch = first.state.brokers[2].epoch
        await self.cut(first)
        await self.result(second.stop())
        asked = first.alter_isr([joins])
        await self.started(2)
        await self.heal(first)
        self.assertEqual(await self.result(asked), [ErrorCode.INELIGIBLE_REPLICA])
        await self.until(first, lambda state: 2 in state.brokers and state.brokers[2].epoch > epoch)
        self.assertEqual(state_of(first).isr, (1,))

    async def test_dead_member(self) -> None:
        """Check that a broker that is gone does not join."""
        first, second = await self.replicated(2)
        joins = isr_change(first, [1, 2])
        await self.result(second.stop())
        self.assertEqual(await self.altered(first, joins), ErrorCode.INELIGIBLE_REPLICA)

    async def test_stopping_member(self) -> None:
        """Check that a broker that is stopping joins nothing; all see it, also after a lost session."""
        first, second = await self.replicated(2)
        epoch = first.state.brokers[2].epoch
        joins = isr_change(first, [1, 2])
        await self.result(second.begin_stopping())
        self.assertTrue(second.state.brokers[2].stopping)
        self.assertFalse(second.state.fenced)
        self.assertEqual(await self.altered(first, joins), ErrorCode.INELIGIBLE_REPLICA)
        state = await self.until(first, lambda state: state.brokers[2].stopping)
        self.assertEqual(state.brokers[2].epoch, epoch)
        await self.expire(second)
        state = await self.until(first, lambda state: 2 in state.brokers and state.brokers[2].epoch > epoch)
        self.assertTrue(state.brokers[2].stopping)
        self.assertEqual(await self.altered(first, isr_change(first, [1, 2])), ErrorCode.INELIGIBLE_REPLICA)
        await self.result(second.stop())
        again = await self.started(2)
        state = await self.until(first, lambda state: 2 in state.brokers and not state.brokers[2].stopping)
        self.assertEqual(state.brokers, again.state.brokers)
        self.assertIsInstance(await self.altered(first, isr_change(first, [1, 2])), PartitionState)

    async def test_stopping_leader(self) -> None:
        """Check that a leader that is stopping still changes its in-sync replicas."""
        (first,) = await self.replicated(1)
        await self.result(first.begin_stopping())
        if state_of(first).leader == 1:
            self.assertIsInstance(await self.altered(first, isr_change(first, [1])), PartitionState)

    async def test_unclean(self) -> None:
        """Check that all know of the last registration of a broker that may have lost records."""
        first, second = await self.replicated(2)
        await self.result(second.stop())
        again = await self.started(2, clean=False)
        state = await self.until(first, lambda state: 2 in state.brokers and not state.brokers[2].clean)
        epoch = state.brokers[2].epoch
        self.assertEqual(state.lost_epochs, {2: epoch})
        self.assertEqual((again.state.brokers[2].clean, again.state.lost_epochs), (False, {2: epoch}))
        await self.expire(again)
        state = await self.until(first, lambda state: 2 in state.brokers and state.brokers[2].epoch > epoch)
        self.assertEqual((state.brokers[2].clean, state.lost_epochs), (True, {2: epoch}))
        await self.result(again.stop())
        state = await self.until(first, lambda state: 2 not in state.brokers)
        self.assertEqual(state.lost_epochs, {2: epoch})
        again = await self.started(2)
        self.assertEqual(again.state.lost_epochs, {2: epoch})

    async def test_stale(self) -> None:
        """Check that all know of a broker with other logs than those of its last life, and elect it not."""
        first, second = await self.started(1), await self.started(2)
        await self.result(first.create_topic(ONE.topic, [[2]], {}))
        await self.led(first, ONE.topic, 2, 0)
        await self.result(second.stop())
        await self.until(first, lambda state: state_of(first).leader < 0)
        again = await self.started(2, continues=False)
        state = await self.until(first, lambda state: 2 in state.brokers)
        epoch = state.brokers[2].epoch
        self.assertEqual((state.lost_epochs, state.stale_epochs), ({2: epoch}, {2: epoch}))
        elected = await self.result(first.elect_leaders(ElectionKind.UNCLEAN, [ONE]))
        self.assertEqual(elected, {ONE: None})
        await self.until(again, lambda state: state.leads(2, state_of(again)))

    async def test_connection_lost(self) -> None:
        """Check that a change whose connection is lost has the outcome that the state shows."""
        first, second = await self.replicated(2)
        asked = first.alter_isr([isr_change(first, [1, 2])])
        await self.cut(first)
        await self.heal(first)
        (outcome,) = await self.result(asked)
        self.assertEqual(outcome, state_of(first))
        self.assertEqual(state_of(first).isr, (1, 2))
        await self.until(second, lambda state: state_of(second) == outcome)

    async def test_session_expired(self) -> None:
        """Check that a broker whose session has expired writes no state that it was given before."""
        first, second = await self.replicated(2)
        change = isr_change(first, [1, 2])
        await self.cut(first)
        await self.led(second, ONE.topic, -1, 1)
        asked = first.alter_isr([change])
        await self.heal(first)
        (outcome,) = await self.result(asked)
        self.assertEqual(outcome, ErrorCode.INVALID_UPDATE_VERSION)

    async def test_topic_created_again(self) -> None:
        """Check that no in-sync replicas of a deleted topic are written into a new one of its name."""
        first, second = await self.replicated(2)
        await self.until(second, lambda state: ONE.topic in state.topics)
        change = isr_change(first, [1, 2])
        await self.cut(first)
        asked = first.alter_isr([change])
        deleting = second.delete_topic(ONE.topic)
        await self.until(second, lambda state: state.controller_id == 2)
        await self.result(deleting)
        await self.result(second.create_topic(ONE.topic, [[2], [2]], {}))
        before = state_of(second)
        await self.heal(first)
        self.assertEqual(await self.result(asked), [ErrorCode.UNKNOWN_TOPIC_ID])
        self.assertEqual(state_of(second), before)

    async def test_stop(self) -> None:
        """Check that a change without an outcome is cancelled when the store stops."""
        first, _ = await self.replicated(2)
        change = isr_change(first, [1, 2])
        await self.cut(first)
        asked = first.alter_isr([change])
        failed: Deferred[bool] = Deferred()
        asked.addCallbacks(
            lambda _: failed.callback(False),
            lambda failure: failed.callback(failure.check(CancelledError) is not None),
        )
        await self.result(first.stop())
        self.assertTrue(await self.result(failed))

    async def test_offline(self) -> None:
        """Check that all see offline replicas, also after a lost session, until the broker starts again."""
        first, second = await self.replicated(2)
        other = TopicPartition(ONE.topic, 5)
        await self.result(second.report_offline([ONE]))
        self.assertEqual(second.state.offline, {2: {ONE}})
        await self.until(first, lambda state: state.offline == {2: {ONE}})
        self.assertFalse(first.state.has_live(2, ONE))
        self.assertEqual(await self.altered(first, isr_change(first, [1, 2])), ErrorCode.INELIGIBLE_REPLICA)
        await self.result(second.report_offline([other]))
        await self.until(first, lambda state: state.offline == {2: {ONE, other}})
        epoch = first.state.brokers[2].epoch
        await self.expire(second)
        state = await self.until(first, lambda state: 2 in state.brokers and state.brokers[2].epoch > epoch)
        self.assertEqual(state.offline, {2: {ONE, other}})
        await self.cut(second)
        await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers and not state.offline)

    async def test_not_the_controller(self) -> None:
        """Check that a broker that is not the controller refuses elections and reassignments."""
        _, second = await self.replicated(2)
        self.assertEqual(second.state.controller_id, 1)
        for asked in (
            second.elect_leaders(ElectionKind.PREFERRED, [ONE]),
            second.reassign({ONE: [2, 1]}),
        ):
            self.assertEqual(await self.failure_code(asked), ErrorCode.NOT_CONTROLLER)
