"""``kafkatx cluster status``: controller, brokers, and the partitions that cannot be used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show, show_json

if TYPE_CHECKING:
    from kafkatx.cli.cluster.health import BrokerHealth, ClusterHealth

NONE = "-"
_BROKER_COLUMNS = ("broker#", "address", "rack", "leads#", "replicas#", "state")
_OFFLINE_COLUMNS = ("topic", "partition#", "replicas", "error!")


@click.command(epilog="Example: kafkatx cluster status --json")
@listing_options
@cluster_options
def status(as_json: bool, header: bool, bootstrap: str, timeout: float) -> int:
    """Show controller, brokers and partitions without a leader.

    The exit status is 1 if a partition has no leader, or a broker does not answer
    or is fenced. Each broker is asked, so all of them must be reachable from
    here. With --json one object has everything.

    \b
    Into a pipe, with tabs between the fields (- stands for none):
      cluster    cluster-id controller-id partitions led offline under-replicated
      broker     broker-id address rack leads replicas state
      offline    topic partition replicas error
    The state of a broker is live; fenced: it has lost the cluster and leads nothing; no answer; or away: it
    has replicas, but is not registered.
    """
    from kafkatx.cli.cluster.health import FENCED, SILENT, ask_brokers, health

    with connect(bootstrap, timeout) as cluster:
        found = cluster.metadata(None)
        state = health(found, ask_brokers(found, cluster.new_connection))
    if as_json:
        show_json(_as_json(state))
    elif interactive(sys.stdout):
        _print_tables(state)
    else:
        _print_lines(state, header)
    return int(bool(state.offline) or any(broker.state in (FENCED, SILENT) for broker in state.brokers))


def _as_json(state: ClusterHealth) -> dict[str, object]:
    return {
        "cluster_id": state.cluster_id,
        "controller": state.controller,
        "brokers": [attrs.asdict(broker) for broker in state.brokers],
        "partitions": {
            "all": state.partitions,
            "led": state.led,
            "offline": len(state.offline),
            "under_replicated": state.under_replicated,
        },
        "offline": [attrs.asdict(partition) for partition in state.offline],
    }


def _broker_row(broker: BrokerHealth, none: str) -> tuple[object, ...]:
    address, rack = broker.address or none, broker.rack or none
    return broker.id, address, rack, broker.leads, broker.replicas, broker.state


def _offline_rows(state: ClusterHealth, separator: str) -> list[tuple[object, ...]]:
    return [
        (one.topic, one.partition, separator.join(map(str, one.replicas)) or NONE, one.error)
        for one in state.offline
    ]


def _print_tables(state: ClusterHealth) -> None:
    controller = NONE if state.controller < 0 else state.controller
    title = f"cluster {state.cluster_id or NONE}, controller {controller}"
    print_table(_BROKER_COLUMNS, [_broker_row(broker, "") for broker in state.brokers], title)
    show("")
    counts = [f"{state.partitions} partitions, {state.led} with a leader"]
    if state.under_replicated:
        counts.append(f"{state.under_replicated} with too few in-sync replicas")
    if state.offline:
        counts.append(f"{len(state.offline)} offline:")
    show(", ".join(counts))
    if state.offline:
        print_table(_OFFLINE_COLUMNS, _offline_rows(state, ", "))


def _print_lines(state: ClusterHealth, header: bool) -> None:
    heading = ["kind", "cluster id", "controller", "partitions", "led", "offline", "under replicated"]
    counts = (state.partitions, state.led, len(state.offline), state.under_replicated)
    print_rows([("cluster", state.cluster_id or NONE, state.controller, *counts)], heading if header else ())
    heading = ["kind", *_BROKER_COLUMNS]
    print_rows((("broker", *_broker_row(one, NONE)) for one in state.brokers), heading if header else ())
    heading = ["kind", *_OFFLINE_COLUMNS]
    print_rows((("offline", *row) for row in _offline_rows(state, ",")), heading if header else ())
