"""Checks of a cluster's answers."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.cluster.health import (
    FENCED,
    LIVE,
    SILENT,
    BrokerHealth,
    ClusterHealth,
    LaggingPartition,
    OfflinePartition,
)
from kafkatx.cli.doctor import cluster_checks as c
from kafkatx.cli.doctor.result import Finding, Level
from kafkatx.clientcore.admin.topics import LogDir
from kafkatx.clientcore.metadata import PartitionMetadata, TopicMetadata
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition

ONE = BrokerHealth(1, "a:1", None, 1, 1, LIVE)
GOOD = ClusterHealth("c", 1, [ONE], 3, [], [])
OK, HINT, WRONG = Level


def topic(name: str, *replicas: int) -> TopicMetadata:
    """Return a topic with one partition."""
    partition = PartitionMetadata(0, 1, 0, replicas, replicas)
    return TopicMetadata(name, {0: partition})


class ChecksTestCase(SynchronousTestCase):
    def levels(self, findings: Iterable[Finding]) -> dict[str, Level]:
        """Return the heaviest level of each check."""
        found: dict[str, Level] = {}
        for one in findings:
            found[one.check] = max(one.level, found.get(one.check, OK))
        return found

    def says(self, findings: Iterable[Finding], check: str, level: Level, *texts: str) -> None:
        """Check that one finding has a level and texts."""
        every = [one for one in findings if one.check == check and one.level is level]
        self.assertEqual(len(every), 1, every)
        for text in texts:
            self.assertIn(text, every[0].sentence)


class PartitionTests(ChecksTestCase):
    def test_in_order(self) -> None:
        """Nothing is wrong with a cluster in order."""
        self.assertEqual(set(self.levels(c.check_partitions(GOOD)).values()), {OK})

    def test_brokers(self) -> None:
        """Brokers that are silent or fenced, and a missing controller, are faults."""
        for state in (SILENT, FENCED):
            found = c.check_partitions(
                attrs.evolve(GOOD, brokers=[ONE, attrs.evolve(ONE, id=2, state=state)])
            )
            self.says(found, "brokers", WRONG, "brokers 2 are")
        self.assertIs(self.levels(c.check_partitions(attrs.evolve(GOOD, controller=-1)))["controller"], WRONG)

    def test_partitions(self) -> None:
        """Partitions without leader or replicas are named."""
        lagging = [LaggingPartition("t", n, 1, [1, 2], [1], 2 if n else 1) for n in range(7)]
        state = attrs.evolve(GOOD, under_replicated=lagging, offline=[OfflinePartition("u", 0, [3], "X")])
        found = [*c.check_partitions(state)]
        self.says(found, "offline-partitions", WRONG, "1 partition without a leader: u-0")
        self.says(found, "under-replicated", WRONG, "7 partitions", "t-4 and 2 more")
        self.says(found, "under-min-isr", WRONG, "6 partitions")

    def test_topics(self) -> None:
        """One replica in a cluster, and as many in-sync replicas as there are, are hints."""
        topics = {"a": topic("a", 1), "b": topic("b", 1, 2), "c": topic("c", 1, 2, 3)}
        found = [*c.check_topics(topics, {"a": "1", "b": "2", "c": "2"}, 3)]
        self.says(found, "replication", HINT, "1 topic with one replica", ": a")
        self.says(found, "min-insync", HINT, ": b:")
        self.assertEqual([*c.check_topics(topics, {}, 1)], [])

    def test_retention(self) -> None:
        """Topics that may keep more than the disks have are told of."""
        topics = {"a": topic("a", 1), "b": topic("b", 1, 2)}
        dirs = {1: [LogDir("/a", ErrorCode.NONE, total_bytes=100)], 2: [LogDir("/a", ErrorCode.NONE)]}
        self.says(
            c.check_retention(topics, {"a": "60", "b": "60"}, dirs), "retention", HINT, "broker 1: its topics"
        )
        for kept in ({"a": "60", "b": "40"}, {"a": "-1", "b": "40"}, {}):
            self.assertEqual([*c.check_retention(topics, kept, dirs)], [])


class BrokerTests(ChecksTestCase):
    def test_log_dirs(self) -> None:
        """A log dir that has failed is a fault."""
        good = LogDir("/a", ErrorCode.NONE, {TopicPartition("t", 0): 1})
        self.assertEqual(self.levels(c.check_log_dirs({1: [good]})), {"log-dirs": OK})
        bad = attrs.evolve(good, path="/b", error=ErrorCode.KAFKA_STORAGE_ERROR)
        self.says(c.check_log_dirs({1: [good, bad]}), "log-dirs", WRONG, "/b of broker 1")

    def test_versions_and_clocks(self) -> None:
        """Different versions, and clocks that differ by a second, are hints; by half a minute, a fault."""
        same = {1: c.BrokerAnswer("1.0", 999, {}), 2: c.BrokerAnswer("1.0", -999, {})}
        self.assertEqual(self.levels(c.check_answers(same)), {"versions": OK})
        found = [
            *c.check_answers({1: c.BrokerAnswer("1.0", 1000, {}), 2: c.BrokerAnswer("2.0", -30_000, {})})
        ]
        self.says(found, "versions", HINT, "1.0, 2.0")
        self.says(found, "clock", HINT, "broker 1 is 1.0 s ahead of")
        self.says(found, "clock", WRONG, "broker 2 is 30.0 s behind")
        self.assertEqual([*c.check_answers({})], [])

    def test_groups(self) -> None:
        """A group that is in a rebalance at both looks is stuck."""
        before = {"a": "PreparingRebalance", "b": "Stable", "c": "Assigning"}
        after = {"a": "CompletingRebalance", "b": "Assigning", "c": "Stable"}
        self.says(c.check_groups(before, after), "groups", HINT, "1 group in a rebalance", ": a")
        self.assertEqual(self.levels(c.check_groups({}, {"b": "Stable"})), {"groups": OK})

    def test_transactions(self) -> None:
        """Hanging transactions are a fault."""
        self.says(c.check_transactions(["t-0"]), "hanging-transactions", WRONG, "t-0")
        self.assertEqual(self.levels(c.check_transactions([])), {"hanging-transactions": OK})

    def test_certificates(self) -> None:
        """A certificate is a hint a month before its end, and a fault after it."""
        levels = [self.levels(c.check_certificate("a:1", days))["certificates"] for days in (30, 29.9, -0.1)]
        self.assertEqual(levels, [OK, HINT, WRONG])
