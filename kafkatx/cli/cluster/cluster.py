"""``kafkatx cluster``: brokers, controller, topics and partitions, as ``kcat -L`` lists them.

Its commands are in modules of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from kafkatx.cli.cluster.import_command import import_
from kafkatx.cli.cluster.status import status
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.kafka_names import Commands, Option
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, show, show_json
from kafkatx.cli.replicas.elect import elect
from kafkatx.cli.replicas.move import drain, move, spread

if TYPE_CHECKING:
    from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata

NONE = "-"
"""Printed for a field that the broker does not send."""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND]",
    epilog="""\b
Examples:
  kafkatx cluster -t orders --json
  kafkatx cluster status
  kafkatx cluster drain 3 --execute
""",
)
@click.option(
    "-t",
    "--topic",
    "topics",
    cls=Option,
    metavar="TOPIC",
    multiple=True,
    help="Topic to show; repeatable. By default all.",
)
@listing_options
@cluster_options
@click.pass_context
def cluster(
    ctx: click.Context,
    topics: tuple[str, ...],
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Show brokers, controller, topics and partitions.

    With --json one object has everything.

    \b
    Into a pipe, with tabs between the fields (- stands for none):
      cluster    cluster-id controller-id
      broker     broker-id host port rack
      partition  topic partition leader replicas in-sync-replicas error
    """
    from kafkatx.clientcore.errors import UnknownTopic, check
    from kafkatx.errors import ErrorCode

    if ctx.invoked_subcommand is not None:
        if topics or as_json or header:
            raise click.UsageError(f"give the options after {ctx.invoked_subcommand}", ctx)
        return
    with connect(bootstrap, timeout) as connection:
        found = connection.metadata(sorted(set(topics)) or None)
    shown = dict(sorted(found.topics.items()))
    for name in topics:
        if name not in shown or shown[name].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UnknownTopic(name)
        if not shown[name].partitions:
            check(shown[name].error, f"topic {name!r}")
    if as_json:
        show_json(_as_json(found, shown))
    elif interactive(sys.stdout):
        _print_tables(found, shown)
    else:
        _print_lines(found, shown, header)


cluster.add_command(status)
cluster.add_command(import_)
for command in (elect, move, drain, spread):
    cluster.add_command(command)


def _as_json(found: ClusterMetadata, topics: Mapping[str, TopicMetadata]) -> dict[str, object]:
    return {
        "cluster_id": found.cluster_id,
        "controller": found.controller_id,
        "brokers": [
            {"id": node.id, "host": node.host, "port": node.port, "rack": node.rack}
            for _, node in sorted(found.brokers.items())
        ],
        "topics": [
            {
                "topic": topic.name,
                "topic_id": str(topic.topic_id),
                "internal": topic.internal,
                "error": problem(topic.error),
                "partitions": [
                    {
                        "partition": p.partition,
                        "leader": p.leader,
                        "leader_epoch": p.leader_epoch,
                        "replicas": list(p.replicas),
                        "isr": list(p.isr),
                        "error": problem(p.error),
                    }
                    for p in topic.partitions.values()
                ],
            }
            for topic in topics.values()
        ],
    }


def problem(code: int) -> str | None:
    """Return Kafka's name of an error code; None if there is no error."""
    from kafkatx.errors import ErrorCode

    return ErrorCode.of(code).name if code else None


def _rows(
    topics: Mapping[str, TopicMetadata], separator: str, fine: str = ""
) -> Iterator[tuple[object, ...]]:
    """Yield a row for each partition, and one for a topic that has an error.

    :param fine: printed as the error of a partition that has none.
    """
    for topic in topics.values():
        if not topic.partitions:
            yield (topic.name, NONE, NONE, NONE, NONE, problem(topic.error) or fine)
        for p in topic.partitions.values():
            replicas, isr = (separator.join(map(str, ids)) or NONE for ids in (p.replicas, p.isr))
            yield (topic.name, p.partition, p.leader, replicas, isr, _state(p) or fine)


def _state(partition: PartitionMetadata) -> str:
    """Return what is wrong with a partition, in few words."""
    if partition.leader < 0:
        return problem(partition.error) or "NO_LEADER"
    if len(partition.isr) < len(partition.replicas):
        return "UNDER_REPLICATED"
    return problem(partition.error) or ""


def _print_tables(found: ClusterMetadata, topics: Mapping[str, TopicMetadata]) -> None:
    controller = NONE if found.controller_id < 0 else found.controller_id
    nodes = [
        (node.id, f"{node.host}:{node.port}", node.rack or "") for _, node in sorted(found.brokers.items())
    ]
    print_table(
        ["broker#", "address", "rack"], nodes, f"cluster {found.cluster_id or NONE}, controller {controller}"
    )
    if not topics:
        hint("there are no topics: `kafkatx topics create NAME` creates one")
        return
    show("")
    rows = list(_rows(topics, ", "))
    print_table(["topic", "partition#", "leader#", "replicas", "in sync", "error!"], rows)


def _print_lines(found: ClusterMetadata, topics: Mapping[str, TopicMetadata], header: bool) -> None:
    heading = ["kind", "cluster id", "controller"]
    print_rows([("cluster", found.cluster_id or NONE, found.controller_id)], heading if header else ())
    heading = ["kind", "broker", "host", "port", "rack"]
    print_rows(
        (("broker", n.id, n.host, n.port, n.rack or NONE) for _, n in sorted(found.brokers.items())),
        heading if header else (),
    )
    heading = ["kind", "topic", "partition", "leader", "replicas", "in sync", "error!"]
    print_rows((("partition", *row) for row in _rows(topics, ",", NONE)), heading if header else ())
