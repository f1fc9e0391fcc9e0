"""Tests of the automatic election of preferred leaders."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.cluster.control.balance import Balance
from kafkatx.metadata.cluster.control.options import ControllerOptions
from kafkatx.metadata.cluster.state.image import Image
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.controller.writes import Answers
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from kafkatx.types import PartitionState, TopicPartition
from tests.metadata.controller.cases import broker, cluster, topic

AWAY = PartitionState(2, 4, (1, 2), (1, 2), 7, 50)


class BalanceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a cluster in which broker 1 leads nothing of what prefers it."""
        self.clock = Clock()
        self.view = View(MemoryTree(MemoryServer(self.clock), 6.0), self.clock)
        self.show(AWAY)
        self.elected: list[list[TopicPartition]] = []
        self.answer: Deferred[Answers] = succeed({})

    def show(self, partition: PartitionState) -> None:
        """Show one partition in the image."""
        state = cluster([topic("T", partition)], broker(1), broker(2))
        self.view.image = Image(state, topics=dict(state.topics))

    def elect(self, partitions: Sequence[TopicPartition]) -> Deferred[Answers]:
        """Note an election."""
        self.elected.append(list(partitions))
        return self.answer

    def make(self, interval_s: float | None = 300.0) -> Balance:
        """Return a balance that has begun."""
        options = ControllerOptions(balance_interval_s=interval_s)
        balance = Balance(self.clock, self.view, options, self.elect)
        balance.start()
        return balance

    def test_interval(self) -> None:
        """Partitions are given back after each interval in which a broker lacks too many."""
        balance = self.make()
        balance.start()
        self.clock.advance(299)
        self.assertEqual(self.elected, [])
        self.clock.advance(1)
        self.assertEqual(self.elected, [[TopicPartition("T", 0)]])
        self.show(attrs.evolve(AWAY, leader=1))
        self.clock.advance(300)
        self.assertEqual(len(self.elected), 1)
        self.show(AWAY)
        self.clock.advance(300)
        self.assertEqual(len(self.elected), 2)

    def test_stopped(self) -> None:
        """Nothing is elected any more when the role has ended, and no timer is left."""
        balance = self.make()
        balance.stop()
        balance.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_off(self) -> None:
        """No timer runs if the setting is off."""
        self.make(None)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_errors(self) -> None:
        """Elections that fail are tried again after the next interval."""
        self.make()
        self.answer = fail(RequestError(ErrorCode.NOT_CONTROLLER, "no"))
        self.clock.advance(300)
        self.answer = succeed({TopicPartition("T", 0): RequestError(ErrorCode.REQUEST_TIMED_OUT, "late")})
        self.clock.advance(300)
        self.assertEqual(len(self.elected), 2)
