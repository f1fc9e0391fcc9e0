"""Tests of rebalance and autocommit in kafkatx.client.consumer.group, with a fake membership."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.task import Clock

from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.group.rebalance import RebalanceCallbacks, RebalanceListener
from kafkatx.client.consumer.poll import MAX_BUSY_S, Poller
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from tests.clientcore.consumer.test_partition_state import T0, T1, T2, PositionsTestCase


class RebalancingTestCase(PositionsTestCase):
    """What a consumer is made of, without a cluster."""

    def setUp(self) -> None:
        """Nobody reads yet."""
        super().setUp()
        self.clock = Clock()
        self.told: list[Any] = []
        self.polls: list[bool] = []
        self.committed: list[dict[TopicPartition, int]] = []
        self.refuse: Exception | None = None
        self.reading = Poller(self.clock, self.positions, self.polls.append)
        self.auto_commit = AutoCommit(self.clock, 1000, self.positions, self.commit)
        self.rebalancing = RebalanceCallbacks(self.positions, self.reading, self.auto_commit, self.changed)
        self.rebalancing.listener = self

    def changed(self) -> None:
        """Partitions have come or gone."""
        self.told.append("changed")

    async def commit(self, offsets: Any) -> None:
        """What is committed."""
        if self.refuse is not None:
            raise self.refuse
        self.committed.append({place: at.offset for place, at in offsets.items()})

    def run_(self, work: Coroutine[Any, Any, Any]) -> Deferred[Any]:
        """Let it run."""
        return Deferred.fromCoroutine(work)

    def take(self, limit: int = 100) -> Any:
        """What is at hand."""
        waiting = self.run_(self.reading.poll(limit, 0))
        self.clock.advance(0)
        return self.successResultOf(waiting)


class RebalancingTests(RebalancingTestCase):
    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> Any:
        """Note it, and what can be had of them."""
        held = {position.suspended for position in self.positions if position.topic_partition in partitions}
        self.told.append(("assigned", partitions, held))
        return self.answer

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> Any:
        """Note it."""
        self.told.append(("revoked", partitions))
        return self.answer

    answer: Any = None

    def test_assigned(self) -> None:
        """New partitions are there when the listener is told, and nothing is handed out before it is done."""
        new, self.answer = TopicPartition("u", 0), Deferred()
        assigning = self.run_(self.rebalancing.assigned({new}))
        self.assertEqual(self.told, [("assigned", {new}, {True})])
        self.assertNoResult(assigning)
        self.answer.callback(None)
        self.successResultOf(assigning)
        self.assertEqual(self.told[1:], ["changed"])
        self.assertFalse(self.positions[new].suspended)

    def test_assigned_nothing(self) -> None:
        """The listener hears of every rebalance, also of one that brings nothing."""
        self.successResultOf(self.run_(self.rebalancing.assigned(set())))
        self.assertEqual(self.told[0], ("assigned", set(), set()))

    def test_revoked(self) -> None:
        """What is done is committed, the listener is told, and then the partitions are gone."""
        self.fill(T0, 3)
        self.take(2)
        revoking = self.run_(self.rebalancing.revoked({T0, T1}))
        self.assertNoResult(revoking)
        self.assertEqual((self.committed, self.told), ([], []))
        self.assertEqual(self.take(), {})  # the application asks for more; of T0 there is nothing more
        self.successResultOf(revoking)
        self.assertEqual(self.committed, [{T0: 2, T1: 0}])
        self.assertEqual(self.told, [("revoked", {T0, T1}), "changed"])
        self.assertEqual(self.positions.assigned_partitions, {T2})

    def test_revoked_while_nothing_is_in_hand(self) -> None:
        """Partitions that the application has nothing of go at once; those that stay are not waited for."""
        self.fill(T2, 3)
        self.take(2)
        self.successResultOf(self.run_(self.rebalancing.revoked({T0})))
        self.assertEqual(self.positions.assigned_partitions, {T1, T2})

    def test_revoked_while_it_waits(self) -> None:
        """An application that waits for records is done with those before."""
        self.fill(T0, 1)
        self.take()
        waiting = self.run_(self.reading.poll(1, None))
        self.successResultOf(self.run_(self.rebalancing.revoked({T0})))
        self.assertEqual(self.committed, [{T0: 1}])
        self.reading.close()
        self.failureResultOf(waiting)

    def test_commit_fails(self) -> None:
        """Partitions go, though what was done of them cannot be committed."""
        self.refuse = ConnectionFailed("nobody")
        self.successResultOf(self.run_(self.rebalancing.revoked({T0})))
        self.assertEqual(self.positions.assigned_partitions, {T1, T2})

    def test_lost_and_back(self) -> None:
        """What others may have committed meanwhile is committed anew."""
        self.successResultOf(self.run_(self.auto_commit.commit([T0])))
        self.successResultOf(self.run_(self.rebalancing.lost({T0})))
        self.successResultOf(self.run_(self.rebalancing.assigned({T0})))
        self.positions[T0].set_position(0)
        self.successResultOf(self.run_(self.auto_commit.commit([T0])))
        self.assertEqual(self.committed, [{T0: 0}] * 2)

    def test_lost(self) -> None:
        """Lost partitions are gone at once, nothing is committed; by default they are revoked."""
        self.fill(T0, 3)
        hand = self.give()
        self.out(hand)
        self.successResultOf(self.run_(self.rebalancing.lost({T0})))
        self.assertEqual((list(hand.remaining), self.committed), ([], []))
        self.assertEqual(self.positions.assigned_partitions, {T1, T2})
        self.assertEqual(self.told, ["changed"])  # this listener has no on_partitions_lost

    def test_default_listener(self) -> None:
        """The listener to inherit from takes lost partitions for revoked ones."""
        told = []

        class Listener(RebalanceListener):
            def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
                told.append(partitions)

        self.rebalancing.listener = Listener()
        for step in (self.rebalancing.assigned({T0}), self.rebalancing.lost({T0})):
            self.successResultOf(self.run_(step))
        self.assertEqual(told, [{T0}])

    def test_listener_fails(self) -> None:
        """What the listener raises the application gets, once; the rebalance goes on."""
        self.answer = fail(ValueError("no"))
        self.successResultOf(self.run_(self.rebalancing.revoked({T0})))
        self.assertEqual(self.positions.assigned_partitions, {T1, T2})
        waiting = self.run_(self.reading.poll(1, 0))
        self.failureResultOf(waiting, ValueError)
        self.assertEqual(self.take(), {})
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)


class AutoCommitTests(RebalancingTestCase):
    def test_interval(self) -> None:
        """What is done is committed once in an interval, where it has changed."""
        self.fill(T0, 3)
        self.auto_commit.start()
        self.clock.advance(0.9)
        self.assertEqual(self.committed, [])
        self.clock.advance(0.1)
        self.assertEqual(self.committed, [{T0: 0, T1: 0, T2: 0}])
        self.take(2)
        self.take(1)
        for _ in range(3):
            self.clock.advance(1)
        self.assertEqual(self.committed[1:], [{T0: 2}])

    def test_tried_again(self) -> None:
        """What could not be committed is committed the next time."""
        self.auto_commit.start()
        self.refuse = ConnectionFailed("nobody")
        self.clock.advance(1)
        self.refuse = ValueError("our fault")
        self.clock.advance(1)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.refuse = None
        self.clock.advance(1)
        self.assertEqual(self.committed, [{T0: 0, T1: 0, T2: 0}])

    def test_partitions_that_come_back(self) -> None:
        """What another member may have committed meanwhile is committed anew."""
        for _ in range(2):
            self.successResultOf(self.run_(self.auto_commit.commit([T0])))
        self.assertEqual(self.committed, [{T0: 0}])
        self.auto_commit.forget([T0])
        self.successResultOf(self.run_(self.auto_commit.commit([T0])))
        self.assertEqual(self.committed, [{T0: 0}] * 2)

    def test_stop(self) -> None:
        """After stop() nothing is committed, and a commit that waits is given up."""
        cancelled: list[Any] = []

        async def commit(offsets: Any) -> None:
            await Deferred(cancelled.append)

        self.auto_commit = AutoCommit(self.clock, 1000, self.positions, commit)
        self.auto_commit.start()
        self.clock.advance(1)
        self.auto_commit.stop()
        self.assertEqual((len(cancelled), self.clock.getDelayedCalls()), (1, []))
        self.auto_commit.start()
        self.auto_commit.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ReadingTests(RebalancingTestCase):
    def test_alive(self) -> None:
        """The membership hears whether the application waits or works."""
        self.take()
        self.assertEqual(self.polls, [False])
        waiting = self.run_(self.reading.poll(1, 5))
        self.assertEqual(self.polls, [False, True])
        self.fill(T0, 1)
        self.reading.notify()
        self.successResultOf(waiting)
        self.assertEqual(self.polls, [False, True, False])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_breath(self) -> None:
        """The reactor gets its turn when it had none for long, however much is at hand."""
        self.fill(T0, *[1] * 10)
        for _ in range(3):
            self.assertTrue(self.run_(self.reading.poll(1, 0)).called)
        self.clock.rightNow += MAX_BUSY_S
        waiting = self.run_(self.reading.poll(1, 0))
        self.assertNoResult(waiting)
        self.clock.advance(0)
        self.successResultOf(waiting)
        self.assertTrue(self.run_(self.reading.poll(1, 0)).called)

    def test_woken_for_nothing(self) -> None:
        """Who is woken and finds nothing waits on."""
        waiting = self.run_(self.reading.poll(1, 5))
        self.reading.notify()
        self.assertNoResult(waiting)
        self.reading.wake()
        self.assertNoResult(waiting)
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(waiting), {})

    def test_failures(self) -> None:
        """An error for good is everybody's, another one is the next one's; who waits is told at once."""
        waiting = self.run_(self.reading.poll(1, None))
        self.reading.fail(ValueError(), permanent=False)
        self.failureResultOf(waiting, ValueError)
        self.assertEqual(self.take(), {})
        self.reading.fail(KafkaTXError(), permanent=True)
        for _ in range(2):
            self.failureResultOf(self.run_(self.reading.next_delivery(1)), KafkaTXError)
