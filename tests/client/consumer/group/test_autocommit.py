"""Tests of kafkatx.client.consumer.group.autocommit."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.clientcore.errors import ConnectionFailed
from tests.client.consumer.group.parts import RebalanceTestCase
from tests.clientcore.consumer.partitions import T0, T1, T2


class AutoCommitTests(RebalanceTestCase):
    def test_interval(self) -> None:
        """Processed offsets are committed once per interval if they have changed."""
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
        """Offsets of a failed commit are committed with the next one."""
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
        """Offsets that another member may have committed since are committed again."""
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

        self.auto_commit = AutoCommit(self.clock, 1000, self.subscriptions, commit)
        self.auto_commit.start()
        self.clock.advance(1)
        self.auto_commit.stop()
        self.assertEqual((len(cancelled), self.clock.getDelayedCalls()), (1, []))
        self.auto_commit.start()
        self.auto_commit.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
