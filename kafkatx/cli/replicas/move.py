"""``kafkatx cluster move``, ``drain`` and ``spread``: other brokers get replicas of partitions."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click
from typing_extensions import Unpack

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.kafka_names import Option
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.output.terminal import confirm, interactive, print_rows, print_table, say, show_json
from kafkatx.cli.replicas.execution import Execution, check_none_refused, execution_options, run
from kafkatx.names import counted
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.replicas import Reassignment

_COLUMNS = ("topic", "partition#", "replicas", "adding", "removing")


def _brokers(ctx: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    ids = text.split(",")
    if not all(each.isascii() and each.isdigit() and len(each) < 10 for each in ids) or len(set(ids)) < len(
        ids
    ):
        raise click.BadParameter(f"{text}: give the ids of brokers, as 1,2,3", ctx, option)
    return tuple(map(int, ids))


@click.command(
    epilog="""\b
Examples:
  kafkatx cluster move -t orders -p 0 --to 2,3,1
  kafkatx cluster move -t orders -p 0 --to 2,3,1 --execute --throttle 50M
  kafkatx cluster move --file plan.json --execute
  kafkatx cluster move --status
  kafkatx cluster move --cancel -t orders
where plan.json is as kafka-reassign-partitions.sh reads it:
  {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3, 1]}]}
"""
)
@scope_options
@click.option(
    "--to", metavar="ID,...", callback=_brokers, help="Brokers of the replicas, the preferred leader first."
)
@click.option("--plan", metavar="JSON", help="The new replicas of partitions.")
@click.option(
    "--file",
    "source",
    cls=Option,
    aliases=["--reassignment-json-file"],
    type=click.File("r", encoding="utf-8"),
    help="File with the new replicas of partitions.",
)
@click.option("--status", "shows_status", is_flag=True, help="Show the moves in progress.")
@click.option("--cancel", is_flag=True, help="End moves in progress: the replicas stay as they were.")
@execution_options
@listing_options
@cluster_options
def move(
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    to: tuple[int, ...] | None,
    plan: str | None,
    source: IO[str] | None,
    shows_status: bool,
    cancel: bool,
    bootstrap: str,
    timeout: float,
    **how: Unpack[Execution],
) -> int:
    """Move partitions to other brokers, or order their replicas anew.

    A broker that gets a replica copies it first; clients go on meanwhile. Without --execute the plan is shown
    only. --status, when nothing is in progress any more, also removes limits that a move has left on brokers.

    \b
    Into a pipe, a line for each partition, with tabs between the fields (- stands for none):
      plan:      topic partition replicas new-replicas
      --status:  topic partition replicas adding removing
    """
    from kafkatx.clientcore.admin.replica_plans import from_json, planned

    scope = parse_scope(topics, partitions)
    ways = [to is not None, plan is not None, source is not None, shows_status, cancel]
    if sum(ways) != 1:
        raise click.UsageError("give one of --to, --plan, --file, --status and --cancel")
    if (to is not None) != bool(scope) and not (cancel or (shows_status and not scope)):
        raise click.UsageError("--to needs --topic, and --topic needs --to or --cancel")
    with connect(bootstrap, timeout) as cluster:
        if shows_status:
            return _show_status(cluster, how["as_json"], how["header"])
        if cancel:
            return _cancel(cluster, scope, how["yes"])
        if to is not None:
            wanted: Mapping[TopicPartition, tuple[int, ...]] = {
                TopicPartition(topic, partition): to
                for topic, chosen in scope.items()
                for partition in sorted(chosen or cluster.partitions(topic))
            }
        else:
            wanted = from_json(plan if plan is not None else source.read() if source is not None else "")
        moves = planned(cluster.metadata(sorted({name.topic for name in wanted})), wanted)
        return run(cluster, moves, **how)


def _cancel(cluster: Cluster, scope: Mapping[str, set[int]], yes: bool) -> int:
    from kafkatx.blocking.admin.replicas import Replicas

    replicas = Replicas(cluster)
    found = [
        name
        for name in replicas.in_progress()
        if not scope
        or (name.topic in scope and (not scope[name.topic] or name.partition in scope[name.topic]))
    ]
    if not found:
        say("no such move is in progress")
        return 0
    confirm(f"End the moves of {counted(len(found), 'partition')}?", yes)
    outcomes = replicas.reassign(dict.fromkeys(found))
    check_none_refused({name: outcome for name, outcome in outcomes.items() if outcome.error})
    say(f"ended the moves of {counted(len(found), 'partition')}")
    return 0


def _show_status(cluster: Cluster, as_json: bool, header: bool) -> int:
    from kafkatx.blocking.admin.replicas import Replicas

    replicas = Replicas(cluster)
    found = replicas.in_progress()
    if not found:
        replicas.remove_throttles(sorted(cluster.brokers()), ())
    if as_json:
        show_json({"partitions": [_as_json(name, one) for name, one in sorted(found.items())]})
    elif not interactive(sys.stdout):
        rows = [
            (*name, *(",".join(map(str, ids)) or "-" for ids in _ids(one)))
            for name, one in sorted(found.items())
        ]
        print_rows(rows, _COLUMNS if header else ())
    elif found:
        rows = [
            (*name, *(", ".join(map(str, ids)) for ids in _ids(one))) for name, one in sorted(found.items())
        ]
        print_table(_COLUMNS, rows)
    else:
        say("no move is in progress")
    return 0


def _ids(one: Reassignment) -> tuple[tuple[int, ...], ...]:
    return one.replicas, one.adding, one.removing


def _as_json(name: TopicPartition, one: Reassignment) -> dict[str, object]:
    replicas, adding, removing = map(list, _ids(one))
    return {
        "topic": name.topic,
        "partition": name.partition,
        "replicas": replicas,
        "adding": adding,
        "removing": removing,
    }


@click.command(
    epilog="""\b
Examples:
  kafkatx cluster drain 3
  kafkatx cluster drain 3 --execute --throttle 50M
"""
)
@click.argument("broker", type=click.IntRange(min=0))
@execution_options
@listing_options
@cluster_options
def drain(
    broker: int,
    bootstrap: str,
    timeout: float,
    **how: Unpack[Execution],
) -> int:
    """Move all replicas away from BROKER, before it leaves the cluster.

    They go to the live brokers with the fewest replicas, and to other racks than the partition's other
    replicas where that is possible. The broker may be away.

    \b
    Into a pipe, a line for each partition, with tabs between the fields:
      topic partition replicas new-replicas
    """
    from kafkatx.clientcore.admin import replica_plans

    with connect(bootstrap, timeout) as cluster:
        moves = replica_plans.drain(cluster.metadata(None), broker)
        return run(cluster, moves, **how)


@click.command(
    epilog="""\b
Examples:
  kafkatx cluster spread
  kafkatx cluster spread --execute --throttle 50M
"""
)
@execution_options
@listing_options
@cluster_options
def spread(
    bootstrap: str,
    timeout: float,
    **how: Unpack[Execution],
) -> int:
    """Spread replicas and leaders evenly, after a broker has joined.

    As few replicas are copied as possible, and no partition loses a rack. Where the order of replicas is
    enough, nothing is copied.

    \b
    Into a pipe, a line for each partition, with tabs between the fields:
      topic partition replicas new-replicas
    """
    from kafkatx.clientcore.admin import replica_plans

    with connect(bootstrap, timeout) as cluster:
        moves = replica_plans.spread(cluster.metadata(None))
        return run(cluster, moves, **how)
