"""``kafkatx cluster elect``: give partitions their preferred leaders, or any leader at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.output.terminal import confirm, interactive, print_rows, print_table, say, show_json
from kafkatx.errors import ErrorCode
from kafkatx.names import counted
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.replicas import Outcome

FAILED = 1
_COLUMNS = ("topic", "partition#", "leader#", "result!")


@click.command(
    epilog="""\b
Examples:
  kafkatx cluster elect
  kafkatx cluster elect -t orders -p 0
  kafkatx cluster elect -t orders -p 0 --unclean
"""
)
@scope_options
@click.option(
    "--unclean",
    is_flag=True,
    help="Elect a replica that is not in sync, for partitions without a leader. Records that only the lost "
    "replicas have are gone for ever.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@listing_options
@cluster_options
def elect(
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    unclean: bool,
    yes: bool,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Give partitions to their preferred leaders, their first replicas.

    Without --topic all partitions that another replica leads. With --unclean partitions without a leader get
    one that may lack records; it must name its partitions. Exit code 1: a partition was not given its leader.

    \b
    Into a pipe, a line for each partition, with tabs between the fields (- stands for none):
      topic partition leader result
    """
    from kafkatx.blocking.admin.replicas import Replicas
    from kafkatx.clientcore.admin.replicas import PREFERRED, UNCLEAN

    scope = parse_scope(topics, partitions)
    if unclean and not scope:
        raise click.UsageError("--unclean loses records: name the partitions with --topic")
    with connect(bootstrap, timeout) as cluster:
        wanted = _in_scope(cluster, scope) if scope else None
        if unclean:
            count = len(wanted or ())
            confirm(
                f"Elect leaders for {counted(count, 'partition')} although records may be lost for ever?", yes
            )
        found = Replicas(cluster).elect(UNCLEAN if unclean else PREFERRED, wanted)
        leaders = _leaders(cluster, found)
    _print(found, leaders, as_json, header)
    failed = [
        one for one in found.values() if one.error not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    ]
    return FAILED if failed else 0


def _in_scope(cluster: Cluster, scope: Mapping[str, set[int]]) -> list[TopicPartition]:
    return [
        TopicPartition(topic, partition)
        for topic, chosen in scope.items()
        for partition in sorted(chosen or cluster.partitions(topic))
    ]


def _leaders(cluster: Cluster, found: Mapping[TopicPartition, Outcome]) -> dict[TopicPartition, int]:
    topics = cluster.metadata(sorted({name.topic for name in found})).topics if found else {}
    return {
        TopicPartition(topic.name, partition.partition): partition.leader
        for topic in topics.values()
        for partition in topic.partitions.values()
    }


def _print(
    found: Mapping[TopicPartition, Outcome],
    leaders: Mapping[TopicPartition, int],
    as_json: bool,
    header: bool,
) -> None:
    rows = [
        (name.topic, name.partition, leaders.get(name, -1), _result(one))
        for name, one in sorted(found.items())
    ]
    if as_json:
        keys = ("topic", "partition", "leader", "result")
        show_json({"partitions": [dict(zip(keys, row, strict=True)) for row in rows]})
    elif interactive(sys.stdout):
        if rows:
            print_table(_COLUMNS, rows)
        else:
            say("all partitions are led by their preferred leaders")
    else:
        print_rows(rows, _COLUMNS if header else ())


def _result(outcome: Outcome) -> str:
    if not outcome.error:
        return "elected"
    if outcome.error is ErrorCode.ELECTION_NOT_NEEDED:
        return "not needed"
    return f"{outcome.error.name}: {outcome.message}" if outcome.message else outcome.error.name
