"""Rules about the partitions and this broker: leaders, transactions, disks, the reactor. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.broker.explanations.facts import Explanation, Facts, PartitionFacts, Severity
from kafkatx.broker.explanations.rules.group_rules import MANY_BATCHES, SMALL_BATCH
from kafkatx.broker.explanations.rules.texts import evidence, named, number, seconds
from kafkatx.names import counted, verb

LONG_OPEN_MS = 10_000
"""A transaction whose producer has written nothing for so long is stuck."""

COLD_READS_PER_S = 5.0
"""Reads from the disk a second from which they are told of."""

SLOW_SYNC_MS = 50.0
"""The mean time of a sync to the disk from which a disk is slow."""

BUSY_SHARE = 0.9
"""The share of time from which a reactor that works is saturated."""


def _partitions(facts: Facts) -> tuple[PartitionFacts, ...]:
    return () if facts.group is None else facts.group.partitions


def no_leader(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if a partition has no leader, or its log dir has failed."""
    gone = [one for one in _partitions(facts) if not one.has_leader]
    if gone:
        yield Explanation(
            "no-leader",
            Severity.PROBLEM,
            f"{named(gone)} cannot be read: {verb(len(gone), 'it has', 'they have')} no leader, or"
            f" {verb(len(gone), 'its', 'their')} log dir has failed.",
            "See `kafkatx cluster status` and `kafkatx logdirs`.",
            evidence(partitions=len(gone)),
        )


def stuck_transaction(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if an open transaction hides records from readers of committed ones."""
    held = [
        one
        for one in _partitions(facts)
        if one.held_back and one.open_producer_id >= 0 and one.open_idle_ms >= LONG_OPEN_MS
    ]
    if held:
        worst = max(held, key=lambda one: one.held_back)
        more = f" (and in {counted(len(held) - 1, 'other partition')})" if len(held) > 1 else ""
        yield Explanation(
            "stuck-transaction",
            Severity.PROBLEM,
            f"An open transaction of producer {worst.open_producer_id} in {worst}{more} holds the last stable"
            f" offset at {worst.last_stable_offset}: readers of committed records do not get the"
            f" {counted(worst.held_back, 'record')} behind it. Its producer has written nothing for"
            f" {seconds(worst.open_idle_ms)}.",
            "It ends by transaction.timeout.ms; if it does not: `kafkatx transactions hanging`.",
            evidence(
                producer_id=worst.open_producer_id,
                last_stable_offset=worst.last_stable_offset,
                high_watermark=worst.high_watermark,
                idle_ms=worst.open_idle_ms,
            ),
        )


def small_batches(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if producers write many small batches to the partitions."""
    records = sum(one.records for one in _partitions(facts))
    batches = sum(one.batches for one in _partitions(facts))
    per_s = batches / facts.broker.window_s
    if per_s >= MANY_BATCHES and records / batches < SMALL_BATCH:
        yield Explanation(
            "small-batches",
            Severity.HINT,
            f"Producers write {number(round(per_s))} batches a second of {records / batches:.1f} records on"
            " average: each costs broker and consumers as much as a large one.",
            "Set linger.ms (5 to 50) and a larger batch.size at the producers.",
            evidence(batches_per_s=per_s, records_per_batch=records / batches),
        )


def cold_reads(facts: Facts) -> Iterator[Explanation]:
    """Yield a hint if fetches read from the disk, and the group is behind."""
    per_s = facts.broker.cold_reads / facts.broker.window_s
    if per_s >= COLD_READS_PER_S and (facts.group is None or facts.group.lag):
        yield Explanation(
            "cold-reads",
            Severity.HINT,
            f"Fetches on broker {facts.broker.node_id} read from the disk {number(round(per_s))} times a"
            " second: the records are so old that they are not in memory any more.",
            "That is as it has to be for a group that catches up; else give the machine more memory.",
            evidence(cold_reads_per_s=per_s),
        )


def slow_disk(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if syncs of the partitions take long."""
    broker = facts.broker
    if not broker.syncs:
        return
    mean_ms = broker.sync_s * 1000 / broker.syncs
    if mean_ms >= SLOW_SYNC_MS:
        yield Explanation(
            "slow-disk",
            Severity.PROBLEM,
            f"A sync to the disk of broker {broker.node_id} takes {mean_ms:.0f} ms on average: producers"
            " whose topics are flushed wait for it.",
            "Look at the disk (iostat), or flush less often: flush.messages, flush.ms.",
            evidence(syncs=broker.syncs, mean_ms=mean_ms),
        )


def failed_dirs(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if log dirs have failed."""
    failed = facts.broker.offline_dirs
    if failed:
        yield Explanation(
            "failed-log-dir",
            Severity.PROBLEM,
            f"{counted(len(failed), 'log dir')} of broker {facts.broker.node_id}"
            f" {verb(len(failed), 'has', 'have')} failed: {named(failed)}.",
            "Repair the disk and start the broker again: `kafkatx logdirs` tells the error.",
            evidence(log_dirs=len(failed)),
        )


def saturated(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if the reactor is busy nearly all the time."""
    idle = facts.broker.idle_share
    if idle is not None and 1 - idle >= BUSY_SHARE:
        yield Explanation(
            "saturated",
            Severity.PROBLEM,
            f"Broker {facts.broker.node_id} is saturated: its thread works {1 - idle:.0%} of all time.",
            "Let clients send larger batches, or spread partitions over more brokers"
            " (`kafkatx up --brokers N`, `kafkatx cluster spread`).",
            evidence(idle_share=idle),
        )


def fenced(facts: Facts) -> Iterator[Explanation]:
    """Yield a problem if the broker may act on no partition."""
    if facts.broker.fenced:
        yield Explanation(
            "fenced",
            Severity.PROBLEM,
            f"Broker {facts.broker.node_id} is fenced: it has no connection to ZooKeeper and serves nothing.",
            "Look into its log for the reason.",
            evidence(fenced=True),
        )


PARTITION_RULES = (
    no_leader,
    stuck_transaction,
    small_batches,
    cold_reads,
    slow_disk,
    failed_dirs,
    saturated,
    fenced,
)
