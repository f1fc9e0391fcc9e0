"""Rules about partitions and the broker, each at its threshold and below it."""

from __future__ import annotations

import attrs

from kafkatx.broker.explanations.facts import Facts, Severity
from kafkatx.broker.explanations.rules import partition_rules as r
from tests.broker.explanations.situations import (
    BROKER,
    FACTS,
    GROUP,
    PARTITION,
    RuleTestCase,
    behind,
    broker,
    group,
)

NOTE, HINT, PROBLEM = Severity


class PartitionRuleTests(RuleTestCase):
    def test_no_leader(self) -> None:
        """Partitions without a leader are named, the first three of them."""
        gone = [attrs.evolve(PARTITION, partition=number, has_leader=False) for number in range(5)]
        self.says(r.no_leader, group(partitions=gone[:1]), PROBLEM, "t-0 cannot be read: it has no leader")
        self.says(r.no_leader, group(partitions=gone), PROBLEM, "t-0, t-1, t-2 and 2 more")
        self.silent(r.no_leader)

    def test_stuck_transaction(self) -> None:
        """A transaction without writes for ten seconds is a problem, with what it hides."""
        held = attrs.evolve(PARTITION, last_stable_offset=93, open_producer_id=7, open_idle_ms=10_000)
        facts = group(partitions=(held, attrs.evolve(held, partition=1, last_stable_offset=99)))
        self.says(
            r.stuck_transaction,
            facts,
            PROBLEM,
            "producer 7 in t-0",
            "1 other partition",
            "7 records",
            "at 93",
        )
        self.silent(
            r.stuck_transaction,
            group(partitions=(attrs.evolve(held, open_idle_ms=9999),)),
            group(partitions=(attrs.evolve(held, last_stable_offset=100),)),
        )

    def test_small_batches(self) -> None:
        """Many batches of few records are a hint; few, or large ones, are none."""
        small = attrs.evolve(PARTITION, records=800, batches=400)
        self.says(r.small_batches, group(partitions=(small,)), HINT, "200 batches a second of 2.0 records")
        self.silent(
            r.small_batches,
            group(partitions=(attrs.evolve(small, batches=399),)),
            group(partitions=(attrs.evolve(small, records=2000),)),
        )

    def test_cold_reads(self) -> None:
        """Reads from the disk are a hint for a group that is behind."""
        cold = attrs.evolve(BROKER, cold_reads=10)
        late = attrs.evolve(GROUP, partitions=(behind(5),))
        self.says(r.cold_reads, Facts(cold, late), HINT, "5 times a second")
        self.says(r.cold_reads, Facts(cold), HINT)
        self.silent(r.cold_reads, Facts(cold, GROUP), Facts(attrs.evolve(cold, cold_reads=9), late))


class BrokerRuleTests(RuleTestCase):
    def test_slow_disk(self) -> None:
        """Syncs of 50 ms on average are a problem."""
        self.says(r.slow_disk, broker(syncs=4, sync_s=0.2), PROBLEM, "takes 50 ms")
        self.silent(r.slow_disk, broker(syncs=4, sync_s=0.196))

    def test_saturated(self) -> None:
        """A reactor that is idle for a tenth of the time is saturated; one that is not measured is not."""
        self.says(r.saturated, broker(idle_share=0.1), PROBLEM, "90%")
        self.silent(r.saturated, broker(idle_share=0.11), broker(idle_share=None))

    def test_failures(self) -> None:
        """Failed log dirs, and a lease that has ended."""
        self.says(
            r.failed_dirs, broker(offline_dirs=("/a",)), PROBLEM, "1 log dir of broker 1 has failed: /a"
        )
        self.says(r.fenced, broker(fenced=True), PROBLEM, "fenced")
        self.silent(r.failed_dirs)
        self.silent(r.fenced, FACTS)
