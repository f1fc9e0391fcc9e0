"""``kafkatx cluster status``: controller, brokers, and the partitions that are offline or lack replicas."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show, show_json
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkatx.blocking import Cluster
    from kafkatx.cli.cluster.health import BrokerHealth, ClusterHealth, LaggingPartition

NONE = "-"
_BROKER_COLUMNS = ("broker#", "address", "rack", "leads#", "replicas#", "state")
_OFFLINE_COLUMNS = ("topic", "partition#", "replicas", "error!", "leader#", "in sync")
_LAGGING_COLUMNS = ("topic", "partition#", "leader#", "replicas", "in sync", "min#")
_UNDER_MIN_ISR, _UNDER_REPLICATED = "under-min-isr", "under-replicated"
SHOWN = 20
"""Partitions of each kind that a terminal shows without --all."""


@click.command(epilog="Example: kafkatx cluster status --json")
@listing_options
@click.option("--all", "show_all", is_flag=True, help="Name all partitions, not the first 20 of each kind.")
@cluster_options
def status(as_json: bool, header: bool, show_all: bool, bootstrap: str, timeout: float) -> int:
    """Show brokers, and partitions without a leader or enough replicas.

    The exit status is 1 if a partition has no leader, or a broker does not answer
    or is fenced. Each broker is asked, so all of them must be reachable from
    here. A terminal shows the first 20 partitions of each kind; a pipe and
    --json, one object with everything, always have them all.

    \b
    Into a pipe, with tabs between the fields (- stands for none):
      cluster    cluster-id controller-id partitions led offline
                 under-replicated under-min-isr
      broker     broker-id address rack leads replicas state
      offline    topic partition replicas error leader in-sync
      under-min-isr     topic partition leader replicas in-sync min
      under-replicated  topic partition leader replicas in-sync min
    Partitions under min.insync.replicas are under-replicated, too. The state of a broker is live; fenced: it
    has lost the cluster and leads nothing; no answer; or away: it has replicas, but is not registered.
    """
    from kafkatx.cli.cluster.health import FENCED, SILENT, ask_brokers, health, with_min_isr

    with connect(bootstrap, timeout) as cluster:
        found = cluster.metadata(None)
        state = health(found, ask_brokers(found, cluster.new_connection))
        state = with_min_isr(state, _min_isr(cluster, state))
    if as_json:
        show_json(_as_json(state))
    elif interactive(sys.stdout):
        _print_tables(state, None if show_all else SHOWN)
    else:
        _print_lines(state, header)
    return int(bool(state.offline) or any(broker.state in (FENCED, SILENT) for broker in state.brokers))


def _min_isr(cluster: Cluster, state: ClusterHealth) -> dict[str, str]:
    """Return ``min.insync.replicas`` of the topics that lack in-sync replicas, of those that show it."""
    from kafkatx.blocking.admin.configs import Configs

    topics = {partition.topic for partition in state.under_replicated}
    try:
        return Configs(cluster).values_of_topics("min.insync.replicas", topics)
    except KafkaTXError:
        return {}


def _as_json(state: ClusterHealth) -> dict[str, object]:
    return {
        "cluster_id": state.cluster_id,
        "controller": state.controller,
        "brokers": [attrs.asdict(broker) for broker in state.brokers],
        "partitions": {
            "all": state.partitions,
            "led": state.led,
            "offline": len(state.offline),
            "under_replicated": len(state.under_replicated),
            "under_min_isr": len(state.under_min_isr),
        },
        "offline": [attrs.asdict(partition) for partition in state.offline],
        "under_min_isr": [attrs.asdict(partition) for partition in state.under_min_isr],
        "under_replicated": [attrs.asdict(partition) for partition in state.under_replicated],
    }


def _broker_row(broker: BrokerHealth, none: str) -> tuple[object, ...]:
    address, rack = broker.address or none, broker.rack or none
    return broker.id, address, rack, broker.leads, broker.replicas, broker.state


def _ids(brokers: Sequence[int], separator: str) -> str:
    return separator.join(map(str, brokers)) or NONE


def _offline_rows(state: ClusterHealth, separator: str) -> list[tuple[object, ...]]:
    return [
        (
            one.topic,
            one.partition,
            _ids(one.replicas, separator),
            one.error,
            one.leader,
            _ids(one.isr, separator),
        )
        for one in state.offline
    ]


def _lagging(state: ClusterHealth) -> list[tuple[str, list[LaggingPartition]]]:
    """Return the partitions that lack replicas, by kind."""
    return [(_UNDER_MIN_ISR, state.under_min_isr), (_UNDER_REPLICATED, state.under_replicated)]


def _lagging_rows(partitions: Sequence[LaggingPartition], separator: str) -> list[tuple[object, ...]]:
    return [
        (
            one.topic,
            one.partition,
            one.leader,
            _ids(one.replicas, separator),
            _ids(one.isr, separator),
            NONE if one.min_isr is None else one.min_isr,
        )
        for one in partitions
    ]


def _print_tables(state: ClusterHealth, shown: int | None) -> None:
    """Print tables for a person.

    :param shown: number of partitions of each kind to name; None: all.
    """
    controller = NONE if state.controller < 0 else state.controller
    title = f"cluster {state.cluster_id or NONE}, controller {controller}"
    print_table(_BROKER_COLUMNS, [_broker_row(broker, "") for broker in state.brokers], title)
    show("")
    counts = [f"{counted(state.partitions, 'partition')}, {state.led} with a leader"]
    if state.offline:
        counts.append(f"{len(state.offline)} offline")
    if state.under_min_isr:
        counts.append(f"{len(state.under_min_isr)} under min.insync.replicas")
    if state.under_replicated:
        counts.append(f"{len(state.under_replicated)} with too few in-sync replicas")
    show(", ".join(counts))
    _print_some("offline", _OFFLINE_COLUMNS, _offline_rows(state, ", "), shown)
    for kind, partitions in _lagging(state):
        _print_some(kind, _LAGGING_COLUMNS, _lagging_rows(partitions, ", "), shown)


def _print_some(
    title: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]], shown: int | None
) -> None:
    if not rows:
        return
    show("")
    print_table(columns, rows[:shown], title)
    if shown is not None and len(rows) > shown:
        show(f"and {len(rows) - shown} more: --all names them")


def _print_lines(state: ClusterHealth, header: bool) -> None:
    heading = ["kind", "cluster id", "controller", "partitions", "led", "offline"]
    heading += ["under replicated", "under min isr"]
    counts = state.partitions, state.led, len(state.offline), len(state.under_replicated)
    line = "cluster", state.cluster_id or NONE, state.controller, *counts, len(state.under_min_isr)
    print_rows([line], heading if header else ())
    heading = ["kind", *_BROKER_COLUMNS]
    print_rows((("broker", *_broker_row(one, NONE)) for one in state.brokers), heading if header else ())
    heading = ["kind", *_OFFLINE_COLUMNS]
    print_rows((("offline", *row) for row in _offline_rows(state, ",")), heading if header else ())
    heading = ["kind", *_LAGGING_COLUMNS]
    rows: list[tuple[object, ...]] = [
        (kind, *row) for kind, partitions in _lagging(state) for row in _lagging_rows(partitions, ",")
    ]
    print_rows(rows, heading if header else ())
