"""``kafkatx offsets``: where partitions begin and end, or which offset belongs to a time."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.kafka_names import accepted, names_argument, refused
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.positions import EARLIEST, LATEST
from kafkatx.cli.options.scope import parse_scope
from kafkatx.cli.options.times import BadTime, parse_time
from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, say, show_json
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster

FAILED = 1
MAX_TIMESTAMP = -3
_WORDS = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": MAX_TIMESTAMP,
    "-1": LATEST,
    "-2": EARLIEST,
    "-3": MAX_TIMESTAMP,
}
NONE = "-"


def _time(ctx: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Return the time that ListOffsets is asked for, in ms or as one of its negative numbers."""
    if text is None or text in _WORDS:
        return None if text is None else _WORDS[text]
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    try:
        return parse_time(text)
    except BadTime as error:
        reason = f"{error}, milliseconds, earliest, latest or max-timestamp"
        raise click.BadParameter(reason, ctx, option) from error


def _numbers(ctx: click.Context, option: click.Parameter, text: str | None) -> list[int]:
    """Return the partitions of Kafka's ``--partitions 0,1``."""
    parts = [] if text is None else text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise click.BadParameter(f"{text}: give numbers with commas between them, 0,1,2 say", ctx, option)
    return list(map(int, parts))


@click.command(
    epilog="""\b
Examples:
  kafkatx offsets orders
  kafkatx offsets orders:0,1 --time 2026-11-21T10:00:00+01:00
"""
)
@names_argument("topics", "--topic", metavar="[TOPIC[:N,...]]...", nargs=-1)
@click.option(
    "-p",
    "--partition",
    "partitions",
    metavar="N",
    type=click.IntRange(min=0),
    multiple=True,
    help="Partition of the topic; repeatable.",
)
@click.option("--partitions", "more", hidden=True, callback=_numbers)
@click.option(
    "--time",
    "time_ms",
    metavar="TIME",
    callback=_time,
    help="Show the first offset at or after this time: 2026-11-21T10:00:00Z, milliseconds since 1970, "
    "earliest, latest or max-timestamp.",
)
@listing_options
@accepted("--exclude-internal-topics")
@refused({"--topic-partitions": "write `kafkatx offsets TOPIC:0,1 TOPIC`"})
@cluster_options
def offsets(
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    more: list[int],
    time_ms: int | None,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Show the offsets of partitions.

    Without TOPIC those of all topics are shown. The earliest offset is that of the first message; the latest
    is the one that the next message gets. The difference is the number of messages, or more if the topic is
    compacted. Exit code 1: a partition has no leader.

    \b
    Into a pipe, a line for each partition, with tabs between the fields:
      topic partition earliest latest count
    and with --time (- stands for none):
      topic partition offset timestamp-in-ms
    """
    scope = parse_scope(topics, (*partitions, *more))
    with connect(bootstrap, timeout) as cluster:
        found, leaderless = _partitions(cluster, scope)
        if time_ms is None:
            columns = ["topic", "partition#", "earliest#", "latest#", "count#"]
            rows = _ranges(cluster, found)
        else:
            columns = ["topic", "partition#", "offset#", "timestamp ms#"]
            rows = _at_time(cluster, found, time_ms)
    _print(columns, rows, as_json, header)
    if not found and not leaderless:
        hint("there are no topics")
    for at in leaderless:
        say(f"kafkatx: {at.topic} [{at.partition}] has no leader now: its offsets are not known")
    return FAILED if leaderless else 0


def _partitions(
    cluster: Cluster, scope: Mapping[str, set[int]]
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Return the partitions that have a leader, and those that have none.

    :raises UnknownTopic: a topic does not exist.
    :raises click.UsageError: a partition does not.
    """
    metadata = cluster.metadata(None)
    if not scope:
        scope = {name: set() for name, topic in sorted(metadata.topics.items()) if not topic.internal}
    led: list[TopicPartition] = []
    leaderless: list[TopicPartition] = []
    for name, numbers in scope.items():
        known = cluster.topic(name).partitions
        missing = numbers - set(known)
        if missing:
            raise click.UsageError(
                f"topic {name} has no partition {min(missing)}: it has 0 to {len(known) - 1}"
            )
        for number in sorted(numbers or known):
            (led if known[number].leader >= 0 else leaderless).append(TopicPartition(name, number))
    return led, leaderless


def _ranges(cluster: Cluster, partitions: Sequence[TopicPartition]) -> list[list[object]]:
    earliest, latest = (cluster.offsets_of(dict.fromkeys(partitions, time)) for time in (EARLIEST, LATEST))
    return [[*at, earliest[at][0], latest[at][0], latest[at][0] - earliest[at][0]] for at in partitions]


def _at_time(cluster: Cluster, partitions: Sequence[TopicPartition], time_ms: int) -> list[list[object]]:
    found = cluster.offsets_of(dict.fromkeys(partitions, time_ms))
    return [[*at, *(None if number < 0 else number for number in found[at])] for at in partitions]


def _print(columns: Sequence[str], rows: Sequence[Sequence[object]], as_json: bool, header: bool) -> None:
    if as_json:
        names = [column.rstrip("#").replace(" ", "_") for column in columns]
        for row in rows:
            show_json(dict(zip(names, row, strict=True)))
        return
    shown = [[NONE if field is None else field for field in row] for row in rows]
    if not interactive(sys.stdout):
        print_rows(shown, columns if header else ())
    elif shown:
        print_table(columns, shown)
