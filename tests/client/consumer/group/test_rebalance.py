"""Tests of rebalance and autocommit in kafkatx.client.consumer.group, with a fake membership."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail

from kafkatx.client.consumer.group.rebalance import RebalanceListener
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.types import TopicPartition
from tests.client.consumer.group.parts import RebalanceTestCase
from tests.clientcore.consumer.partitions import T0, T1, T2


class RebalanceCallbacksTests(RebalanceTestCase):
    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> Any:
        """Record it, and the records that are available."""
        held = {state.suspended for state in self.subscriptions if state.topic_partition in partitions}
        self.told.append(("assigned", partitions, held))
        return self.answer

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> Any:
        """Record it."""
        self.told.append(("revoked", partitions))
        return self.answer

    answer: Any = None

    def test_assigned(self) -> None:
        """New partitions are there when the listener is told, and nothing is handed out before it is done."""
        new, self.answer = TopicPartition("u", 0), Deferred()
        assigning = self.run_(self.callbacks.assigned({new}))
        self.assertEqual(self.told, [("assigned", {new}, {True})])
        self.assertNoResult(assigning)
        self.answer.callback(None)
        self.successResultOf(assigning)
        self.assertEqual(self.told[1:], ["changed"])
        self.assertFalse(self.subscriptions[new].suspended)

    def test_assigned_nothing(self) -> None:
        """The listener is called in every rebalance, even without new partitions."""
        self.successResultOf(self.run_(self.callbacks.assigned(set())))
        self.assertEqual(self.told[0], ("assigned", set(), set()))

    def test_revoked(self) -> None:
        """Processed offsets are committed, the listener is called, and then the partitions are removed."""
        self.fill(T0, 3)
        self.take(2)
        revoking = self.run_(self.callbacks.revoked({T0, T1}))
        self.assertNoResult(revoking)
        self.assertEqual((self.committed, self.told), ([], []))
        self.assertEqual(self.take(), {})  # the application asks for more; T0 has nothing more
        self.successResultOf(revoking)
        self.assertEqual(self.committed, [{T0: 2, T1: 0}])
        self.assertEqual(self.told, [("revoked", {T0, T1}), "changed"])
        self.assertEqual(self.subscriptions.assigned_partitions, {T2})

    def test_revoked_while_nothing_is_in_hand(self) -> None:
        """Partitions without records in the application are revoked at once."""
        self.fill(T2, 3)
        self.take(2)
        self.successResultOf(self.run_(self.callbacks.revoked({T0})))
        self.assertEqual(self.subscriptions.assigned_partitions, {T1, T2})

    def test_revoked_while_it_waits(self) -> None:
        """A waiting application has finished its earlier records."""
        self.fill(T0, 1)
        self.take()
        waiting = self.run_(self.poller.poll(1, None))
        self.successResultOf(self.run_(self.callbacks.revoked({T0})))
        self.assertEqual(self.committed, [{T0: 1}])
        self.poller.close()
        self.failureResultOf(waiting)

    def test_commit_fails(self) -> None:
        """Partitions are revoked even if their offsets cannot be committed."""
        self.refuse = ConnectionFailed("nobody")
        self.successResultOf(self.run_(self.callbacks.revoked({T0})))
        self.assertEqual(self.subscriptions.assigned_partitions, {T1, T2})

    def test_lost_and_back(self) -> None:
        """Offsets that others may have committed since are committed again."""
        self.successResultOf(self.run_(self.auto_commit.commit([T0])))
        self.successResultOf(self.run_(self.callbacks.lost({T0})))
        self.successResultOf(self.run_(self.callbacks.assigned({T0})))
        self.subscriptions[T0].set_position(0)
        self.successResultOf(self.run_(self.auto_commit.commit([T0])))
        self.assertEqual(self.committed, [{T0: 0}] * 2)

    def test_lost(self) -> None:
        """Lost partitions are removed at once without a commit; by default the listener sees them revoked."""
        self.fill(T0, 3)
        delivery = self.give()
        self.out(delivery)
        self.successResultOf(self.run_(self.callbacks.lost({T0})))
        self.assertEqual((list(delivery.remaining), self.committed), ([], []))
        self.assertEqual(self.subscriptions.assigned_partitions, {T1, T2})
        self.assertEqual(self.told, ["changed"])  # this listener has no on_partitions_lost

    def test_default_listener(self) -> None:
        """The listener to inherit from takes lost partitions for revoked ones."""
        told = []

        class Listener(RebalanceListener):
            def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
                told.append(partitions)

        self.callbacks.listener = Listener()
        for step in (self.callbacks.assigned({T0}), self.callbacks.lost({T0})):
            self.successResultOf(self.run_(step))
        self.assertEqual(told, [{T0}])

    def test_listener_fails(self) -> None:
        """The listener's error is raised to the application, once; the rebalance goes on."""
        self.answer = fail(ValueError("no"))
        self.successResultOf(self.run_(self.callbacks.revoked({T0})))
        self.assertEqual(self.subscriptions.assigned_partitions, {T1, T2})
        waiting = self.run_(self.poller.poll(1, 0))
        self.failureResultOf(waiting, ValueError)
        self.assertEqual(self.take(), {})
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
