"""``kafkatx transactions``: list, describe, hanging, abort."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect, group_options
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import confirm, hint, interactive, print_rows, print_table, say, show_json
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster

NONE = "-"
LONG_MS = 900_000
"""The longest transaction that brokers allow by default (``transaction.max.timeout.ms``)."""


@click.group(
    epilog="""\b
Examples:
  kafkatx transactions list --state Ongoing --pattern 'billing-.*'
  kafkatx transactions describe billing-1
  kafkatx transactions hanging orders
  kafkatx transactions abort orders 3 --start-offset 1007 --yes
"""
)
@group_options()
def transactions() -> None:
    """List and describe transactions; find hanging ones, and abort them."""


@transactions.command("list", epilog="Example: kafkatx transactions list --state Ongoing --json")
@click.option(
    "-s",
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    help="State of the transactional ids to list: Ongoing, Empty, PrepareCommit, ...; repeatable.",
)
@click.option(
    "--pattern",
    metavar="REGEX",
    help="Regular expression that the whole transactional id matches, in RE2's syntax.",
)
@listing_options
@cluster_options
def list_command(
    states: tuple[str, ...], pattern: str | None, as_json: bool, header: bool, bootstrap: str, timeout: float
) -> None:
    """List the transactional ids.

    \b
    Into a pipe, a line for each, tabs between fields:
      transactional-id coordinator producer-id state
    """
    from kafkatx.blocking.admin.transactions import Transactions

    with connect(bootstrap, timeout) as cluster:
        found = Transactions(cluster).listings(states, pattern=pattern)
    columns = ["transactional id", "coordinator", "producer id", "state"]
    _print(columns, found, as_json, header)
    if not found:
        hint(
            "there are no transactional ids"
            + (" in that state" if states else "")
            + (" with that pattern" if pattern else "")
        )


@transactions.command(epilog="Example: kafkatx transactions describe billing-1")
@click.argument("names", metavar="TRANSACTIONAL_ID...", nargs=-1, required=True)
@listing_options
@cluster_options
def describe(names: tuple[str, ...], as_json: bool, header: bool, bootstrap: str, timeout: float) -> None:
    """Show the state of transactional ids.

    The partitions are those of their open transactions.

    \b
    Into a pipe, a line for each, tabs between fields (- is none):
      transactional-id coordinator state producer-id epoch timeout-ms open-ms partitions
    """
    from kafkatx.blocking.admin.transactions import Transactions

    now_ms = int(time.time() * 1000)
    rows = []
    with connect(bootstrap, timeout) as cluster:
        for name in names:
            one = Transactions(cluster).describe(name)
            open_ms = now_ms - one.start_ms if one.start_ms >= 0 else None
            identity = (one.state, one.producer_id, one.producer_epoch, one.timeout_ms)
            places = " ".join(map(str, one.partitions)) or None
            rows.append((one.transactional_id, one.coordinator, *identity, open_ms, places))
    columns = ["transactional id", "coordinator", "state", "producer id", "epoch", "timeout ms", "open ms"]
    _print([*columns, "partitions"], rows, as_json, header)


@transactions.command(epilog="Example: kafkatx transactions hanging orders --older-than-ms 60000")
@click.argument("topics", metavar="[TOPIC...]", nargs=-1)
@click.option(
    "--older-than-ms",
    metavar="MS",
    type=click.IntRange(min=0),
    default=LONG_MS,
    show_default=True,
    help="Time for which the producer has written nothing.",
)
@listing_options
@cluster_options
def hanging(
    topics: tuple[str, ...], older_than_ms: int, as_json: bool, header: bool, bootstrap: str, timeout: float
) -> None:
    """Show open transactions that no coordinator will end.

    Readers of committed records wait at them for ever. Without a topic all topics are looked at.

    \b
    Into a pipe, a line for each, tabs between fields:
      topic partition start-offset producer-id epoch last-write-ms
    """
    from kafkatx.blocking.admin.transactions import Transactions

    now_ms = int(time.time() * 1000)
    with connect(bootstrap, timeout) as cluster:
        found = Transactions(cluster).hanging(_partitions(cluster, topics), older_than_ms, now_ms)
    columns = ["topic", "partition", "start offset", "producer id", "epoch", "last write ms"]
    rows = [
        (*one.partition, one.start_offset, one.producer_id, one.producer_epoch, one.last_ms) for one in found
    ]
    _print(columns, rows, as_json, header)
    if not found:
        hint("there are no hanging transactions")


@transactions.command(epilog="Example: kafkatx transactions abort orders 3 --start-offset 1007 --yes")
@click.argument("topic")
@click.argument("partition", type=click.IntRange(min=0))
@click.option(
    "--start-offset",
    metavar="OFFSET",
    type=click.IntRange(min=0),
    required=True,
    help="First offset of the transaction, as `kafkatx transactions hanging` shows it.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@cluster_options
def abort(topic: str, partition: int, start_offset: int, yes: bool, bootstrap: str, timeout: float) -> None:
    """Abort a hanging transaction in a partition.

    A marker is written behind the back of the coordinator: a transaction that is not hanging would be torn.
    """
    from kafkatx.blocking.admin.transactions import Transactions

    place = TopicPartition(topic, partition)
    with connect(bootstrap, timeout) as cluster:
        found = Transactions(cluster)
        wanted = [one for one in found.open([place]) if one.start_offset == start_offset]
        if not wanted:
            raise click.ClickException(f"{place} has no open transaction from offset {start_offset} on")
        confirm(f"Abort the transaction of producer {wanted[0].producer_id} in {place}?", yes)
        found.abort(wanted[0])
    say(f"aborted the transaction of producer {wanted[0].producer_id} in {place}")


def _partitions(cluster: Cluster, topics: Sequence[str]) -> list[TopicPartition]:
    names = topics or sorted(cluster.metadata(None).topics)
    return [TopicPartition(name, number) for name in names for number in cluster.partitions(name)]


def _print(columns: list[str], rows: Sequence[Sequence[object]], as_json: bool, header: bool) -> None:
    """Print rows as a table, as JSON objects, or as lines for a program."""
    if as_json:
        names = [column.replace(" ", "_") for column in columns]
        for row in rows:
            show_json(dict(zip(names, row, strict=True)))
        return
    shown = [[NONE if value is None else str(value) for value in row] for row in rows]
    if not interactive(sys.stdout):
        print_rows(shown, columns if header else ())
    elif rows:
        print_table(columns, shown)
