"""Checks of a cluster, from what its brokers answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from kafkatx.cli.cluster.health import FENCED, SILENT
from kafkatx.cli.doctor.result import Finding, hint, ok, wrong
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.cli.cluster.health import ClusterHealth
    from kafkatx.clientcore.admin.topics import LogDir
    from kafkatx.clientcore.metadata import TopicMetadata

NAMED = 5
SKEW_MS = 1000
"""The difference of clocks that is told of; a clock is compared with that of the machine here."""

LARGE_SKEW_MS = 30_000
DAYS_LEFT = 30
"""Days before its end from which a certificate is told of."""

REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


@attrs.frozen
class BrokerAnswer:
    """The answer of a broker of kafkatx about itself.

    :ivar skew_ms: its clock minus the one here, less half of the time that the request took.
    """

    version: str
    skew_ms: int
    facts: Mapping[str, str]


def named(names: Sequence[object]) -> str:
    """Return the first names, and how many there are besides."""
    more = len(names) - NAMED
    return ", ".join(map(str, names[:NAMED])) + (f" and {more} more" if more > 0 else "")


def check_partitions(state: ClusterHealth) -> Iterator[Finding]:
    """Check brokers and partitions."""
    see = "See `kafkatx cluster status`, and the logs of these brokers."
    silent = [one.id for one in state.brokers if one.state == SILENT]
    if silent:
        yield wrong("brokers", f"brokers {named(silent)} are registered and do not answer here", see)
    fenced = [one.id for one in state.brokers if one.state == FENCED]
    if fenced:
        yield wrong("brokers", f"brokers {named(fenced)} are fenced: they have lost ZooKeeper", see)
    if not silent and not fenced:
        yield ok("brokers", f"all of {counted(len(state.brokers), 'broker')} answer")
    if state.controller < 0:
        yield wrong("controller", "there is no controller", see)
    for check, places, what in (
        ("offline-partitions", state.offline, "without a leader"),
        ("under-min-isr", state.under_min_isr, "with too few in-sync replicas for acks=all"),
        ("under-replicated", state.under_replicated, "without all replicas in sync"),
    ):
        names = [f"{one.topic}-{one.partition}" for one in places]
        if names:
            yield wrong(check, f"{counted(len(names), 'partition')} {what}: {named(names)}", see)
        else:
            yield ok(check, f"none of {counted(state.partitions, 'partition')}")


def check_topics(
    topics: Mapping[str, TopicMetadata], least: Mapping[str, str], brokers: int
) -> Iterator[Finding]:
    """Check the replicas of topics.

    :param least: ``min.insync.replicas`` by topic, as far as it is known.
    """
    copies = {
        name: min((len(one.replicas) for one in topic.partitions.values()), default=0)
        for name, topic in topics.items()
    }
    alone = sorted(name for name, count in copies.items() if count == 1)
    if brokers > 1 and alone:
        yield hint(
            "replication",
            f"{counted(len(alone), 'topic')} with one replica in a cluster of"
            f" {counted(brokers, 'broker')}: {named(alone)}",
            "`kafkatx cluster move` gives them more.",
        )
    above = sorted(
        name
        for name, text in least.items()
        if text.isdecimal() and copies.get(name, 0) > 1 and int(text) >= copies[name]
    )
    if above:
        yield hint(
            "min-insync",
            f"{counted(len(above), 'topic')} with acks=all only while every replica is in sync"
            f" (min.insync.replicas):"
            f" {named(above)}: one lost replica stops their producers",
            "Set min.insync.replicas to one less than the replicas: `kafkatx configs alter -t TOPIC`.",
        )


def check_retention(
    topics: Mapping[str, TopicMetadata], kept: Mapping[str, str], dirs: Mapping[int, Sequence[LogDir]]
) -> Iterator[Finding]:
    """Check that what topics may keep by size fits on the disks of each broker.

    :param kept: ``retention.bytes`` by topic, as far as it is known.
    """
    for broker, each in sorted(dirs.items()):
        room = sum(one.total_bytes for one in each if one.total_bytes > 0)
        most = sum(
            int(kept[name])
            for name, topic in topics.items()
            if kept.get(name, "").isdecimal()
            for partition in topic.partitions.values()
            if broker in partition.replicas
        )
        if 0 < room < most:
            yield hint(
                "retention",
                f"broker {broker}: its topics may keep {most >> 30:,} GiB by retention.bytes, and its disks"
                f" have {room >> 30:,} GiB",
                "Lower retention.bytes, or bound topics by retention.ms.",
            )


def check_log_dirs(dirs: Mapping[int, Sequence[LogDir]]) -> Iterator[Finding]:
    """Check the log dirs of all brokers."""
    failed = [f"{one.path} of broker {broker}" for broker, each in dirs.items() for one in each if one.error]
    if failed:
        yield wrong(
            "log-dirs",
            f"log dirs have failed: {named(failed)}",
            "Repair the disks and start the brokers again; `kafkatx logdirs` tells the errors.",
        )
    else:
        yield ok("log-dirs", f"none of {sum(map(len, dirs.values()))} log dirs has failed")


def check_answers(answers: Mapping[int, BrokerAnswer]) -> Iterator[Finding]:
    """Check versions and clocks."""
    versions = sorted({one.version for one in answers.values()})
    if len(versions) > 1:
        yield hint(
            "versions",
            f"the brokers have different versions: {', '.join(versions)}",
            "Bring all of them to the newest one.",
        )
    elif versions:
        yield ok("versions", f"all brokers have version {versions[0]}")
    for broker, one in sorted(answers.items()):
        if abs(one.skew_ms) >= SKEW_MS:
            text = f"the clock of broker {broker} is {abs(one.skew_ms) / 1000:.1f} s"
            text += " ahead of" if one.skew_ms > 0 else " behind"
            fix = "Use NTP on all machines: timestamps, retention and transactions go by the clock."
            make = wrong if abs(one.skew_ms) >= LARGE_SKEW_MS else hint
            yield make("clock", f"{text} the one here", fix)


def check_groups(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Finding]:
    """Check groups by their states at two times, some seconds apart."""
    stuck = sorted(
        name for name, state in after.items() if state in REBALANCING and before.get(name) in REBALANCING
    )
    if stuck:
        yield hint(
            "groups",
            f"{counted(len(stuck), 'group')} in a rebalance for some seconds: {named(stuck)}",
            "`kafkatx explain-lag GROUP` says more.",
        )
    else:
        yield ok("groups", f"none of {counted(len(after), 'group')} is stuck in a rebalance")


def check_transactions(hanging: Sequence[str]) -> Iterator[Finding]:
    """Check hanging transactions, given as texts of their partitions."""
    if hanging:
        yield wrong(
            "hanging-transactions",
            f"hanging transactions hold up readers of {named(hanging)}",
            "`kafkatx transactions hanging` shows them, `kafkatx transactions abort` ends one.",
        )
    else:
        yield ok("hanging-transactions", "there are none")


def check_certificate(address: str, days: float) -> Iterator[Finding]:
    """Check how long the certificate of an address is valid."""
    if days < 0:
        yield wrong("certificates", f"{address}: its certificate has expired", "Replace it")
    elif days < DAYS_LEFT:
        yield hint(
            "certificates",
            f"{address}: its certificate expires in {days:.0f} days",
            "Put a new one in its place; the broker reads it by itself.",
        )
    else:
        yield ok("certificates", f"{address}: its certificate is valid for {days:.0f} days")
