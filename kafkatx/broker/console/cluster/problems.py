"""The problems of the cluster, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.counts import Counts, Trouble
from kafkatx.broker.console.cluster.disks import Disk

ERROR, WARNING = "error", "warning"

FULL = 0.1
"""The part of a disk that should be free."""


@attrs.frozen
class Problem:
    """A problem.

    :ivar link: the place in the console that shows it.
    """

    severity: str
    text: str
    link: str


def problems(broker: Broker, counts: Counts, disks: Sequence[Disk] = ()) -> Iterator[Problem]:
    """Yield the problems of a cluster, the worst first."""
    state = broker.metadata.state
    if state.fenced:
        yield Problem(
            ERROR,
            "This broker has no connection to the state of the cluster, and serves nothing.",
            "#/brokers",
        )
    for log_dir in broker.store.dirs:
        if log_dir.error is not None:
            yield Problem(
                ERROR,
                f"The log dir {log_dir.path} of broker {broker.node_id} has failed: {log_dir.error}. Its"
                " partitions are offline until the broker is started with a disk that works.",
                f"#/brokers/{broker.node_id}",
            )
    if state.controller_id < 0:
        yield Problem(ERROR, "No broker is the controller: no leader can be elected.", "#/brokers")
    away = sorted(set(counts.brokers) - set(state.brokers))
    if away:
        named = (
            f"Broker {away[0]} is not live, and has"
            if len(away) == 1
            else f"Brokers {_listed(away)} are not live, and have"
        )
        yield Problem(ERROR, f"{named} replicas of partitions.", "#/brokers")
    if counts.offline.count:
        yield Problem(
            ERROR,
            f"{_partitions(counts.offline, 'has', 'have')} no leader: start a broker that has an in-sync"
            " replica.",
            _link(counts.offline),
        )
    if counts.under_min_isr.count:
        yield Problem(
            ERROR,
            f"{_partitions(counts.under_min_isr, 'has', 'have')} fewer in-sync replicas than"
            " min.insync.replicas: producers with acks=all are refused.",
            _link(counts.under_min_isr),
        )
    for disk in disks:
        if disk.free_share < FULL:
            yield Problem(
                WARNING,
                f"The disk of log dir {disk.path} of broker {broker.node_id} has {disk.free_share:.1%} free"
                " space: when it is full the log dir fails. Delete records, or shorten their retention.",
                f"#/brokers/{broker.node_id}",
            )
    if counts.under_replicated.count:
        yield Problem(
            WARNING,
            f"{_partitions(counts.under_replicated, 'lacks', 'lack')} in-sync replicas.",
            _link(counts.under_replicated),
        )


def _partitions(trouble: Trouble, one: str, many: str) -> str:
    names = _listed(trouble.names)
    if trouble.count == 1:
        return f"Partition {names} {one}"
    among = f", among them {names}," if trouble.count > len(trouble.names) else f" ({names})"
    return f"{trouble.count} partitions{among} {many}"


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, names))


def _link(trouble: Trouble) -> str:
    return f"#/topics/{trouble.names[0].topic}"
