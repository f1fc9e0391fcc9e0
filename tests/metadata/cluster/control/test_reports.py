"""Tests of the controller's lines in the log."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.metadata.cluster.control.reports import MOST_NAMES, report
from kafkatx.metadata.controller.isr import TopicRules
from kafkatx.metadata.controller.reconcile import reconcile
from kafkatx.metadata.controller.writes import TopicDeletion, Write
from kafkatx.types import NO_LEADER, ClusterState, PartitionState, TopicPartition
from tests.metadata.controller.cases import broker, cluster, missing, topic

LED = PartitionState(1, 4, (1, 2), (1,), 7, 50)


class ReportTests(SynchronousTestCase):
    def lines(self, state: ClusterState, writes: Sequence[Write] | None = None) -> list[tuple[str, str]]:
        """Return the level and the text of each line about some writes, or those that a state needs."""
        found: list[tuple[str, str]] = []

        @implementer(ILogObserver)
        def observer(event: LogEvent) -> None:
            found.append((event["log_level"].name, formatEvent(event)))

        globalLogPublisher.addObserver(observer)
        try:
            rules = TopicRules(unclean=True)
            report(state, reconcile(state, (), rules=lambda _: rules) if writes is None else writes)
        finally:
            globalLogPublisher.removeObserver(observer)
        return found

    def test_unclean(self) -> None:
        """An unclean election is an error that names the brokers whose records are lost."""
        ((level, line),) = self.lines(cluster([topic("T", LED)], broker(2)))
        self.assertEqual(level, LogLevel.error.name)
        self.assertIn("T-0 (broker 2; in sync: 1)", line)

    def test_last_member_lost(self) -> None:
        """The last in-sync replica that comes back after its machine went down is an error, too."""
        for state in (LED, attrs.evolve(LED, leader=NO_LEADER)):
            ((level, line),) = self.lines(cluster([topic("T", state)], broker(1, 60, clean=False)))
            self.assertEqual(level, LogLevel.error.name)
            self.assertIn("gone down, those of T-0 (in-sync replicas 1)", line)

    def test_no_leader(self) -> None:
        """A partition without a leader is a warning, once."""
        state = cluster([topic("T", LED)])
        ((level, line),) = self.lines(state)
        self.assertEqual((level, line.rpartition(": ")[2]), ("warn", "T-0"))
        self.assertEqual(self.lines(cluster([topic("T", attrs.evolve(LED, leader=NO_LEADER))])), [])

    def test_ordinary(self) -> None:
        """New partitions, clean elections, smaller ISRs and deletions are not worth a line."""
        others = [missing(1), attrs.evolve(LED, isr=(1, 2)), attrs.evolve(LED, leader=3)]
        state = cluster([topic("T", *others)], broker(1))
        self.assertEqual(len(reconcile(state, ())), 3)
        self.assertEqual(self.lines(state), [])
        self.assertEqual(self.lines(state, [TopicDeletion(topic("T"))]), [])

    def test_many(self) -> None:
        """One line names some of many partitions, and counts the others."""
        ((_, line),) = self.lines(cluster([topic("T", *[LED] * (MOST_NAMES + 5))], broker(2)))
        self.assertIn(f"{TopicPartition('T', MOST_NAMES - 1)} ", line)
        self.assertIn(" and 5 more", line)
        self.assertNotIn(f"{TopicPartition('T', MOST_NAMES)} ", line)

    def test_reassignment(self) -> None:
        """The end of a reassignment is told."""
        ending = attrs.evolve(LED, replicas=(2, 1), isr=(1, 2), adding=(2,), removing=(1,))
        ((level, line),) = self.lines(cluster([topic("T", ending)], broker(1), broker(2)))
        self.assertEqual((level, line), ("info", "replicas are reassigned: T-0 (replicas 2)"))
