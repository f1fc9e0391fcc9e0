"""``kafkatx logdirs``: what brokers have in their log directories (DescribeLogDirs)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.kafka_names import Option, accepted
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, show, show_json

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.topics import LogDir
    from kafkatx.types import TopicPartition

NONE = "-"
_DIR_COLUMNS = ("broker#", "directory", "partitions#", "bytes#", "total bytes#", "usable bytes#", "error!")
_PARTITION_COLUMNS = ("broker#", "directory", "topic", "partition#", "bytes#", "lag#", "future")


def _split(ctx: click.Context, option: click.Parameter, text: str | None) -> list[str]:
    return [] if text is None else text.split(",")


def _broker_ids(ctx: click.Context, option: click.Parameter, text: str | None) -> list[int]:
    parts = _split(ctx, option, text)
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise click.BadParameter(f"{text}: give ids with commas between them, 0,1,2 say", ctx, option)
    return list(map(int, parts))


@click.command(epilog="Example: kafkatx logdirs -t orders --json")
@click.option(
    "--broker",
    "brokers",
    metavar="ID",
    type=click.IntRange(min=0),
    multiple=True,
    help="Id of a broker to show; repeatable.",
)
@click.option("-t", "--topic", "topics", metavar="TOPIC", multiple=True, help="Topic to show; repeatable.")
@click.option("--broker-list", "more_brokers", hidden=True, callback=_broker_ids)
@click.option("--topic-list", "more_topics", cls=Option, hidden=True, callback=_split)
@accepted("--describe")
@listing_options
@cluster_options
def logdirs(
    brokers: tuple[int, ...],
    topics: tuple[str, ...],
    more_brokers: list[int],
    more_topics: list[str],
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Show log directories: sizes, lag, disks and errors.

    The lag of a partition is the number of messages that its log here lacks; a future log is to replace the
    log in another directory when it has caught up. With --json there is one object for each directory.

    \b
    Into a pipe, with tabs between the fields (- stands for what is not known):
      dir        broker directory partitions bytes total-bytes usable-bytes error
      partition  broker directory topic partition bytes lag future
    """
    from kafkatx.blocking import Admin

    with connect(bootstrap, timeout) as cluster:
        found = Admin(cluster).describe_log_dirs()
    wanted = {*brokers, *more_brokers}
    missing = wanted - set(found)
    if missing:
        raise click.UsageError(f"there is no broker {min(missing)}: there are {', '.join(map(str, found))}")
    dirs = [(broker, one) for broker, each in found.items() if broker in (wanted or found) for one in each]
    names = {*topics, *more_topics}
    if as_json:
        for broker, one in dirs:
            show_json(_as_json(broker, one, names))
    elif interactive(sys.stdout):
        print_table(_DIR_COLUMNS, [_dir_row(broker, one, "", names) for broker, one in dirs])
        rows = list(_partition_rows(dirs, "", names))
        if rows:
            show("")
            print_table(_PARTITION_COLUMNS, rows)
    else:
        heading = ["kind", *_DIR_COLUMNS] if header else []
        print_rows((("dir", *_dir_row(broker, one, NONE, names)) for broker, one in dirs), heading)
        heading = ["kind", *_PARTITION_COLUMNS] if header else []
        print_rows((("partition", *row) for row in _partition_rows(dirs, NONE, names)), heading)


def _chosen(one: LogDir, names: Collection[str]) -> list[TopicPartition]:
    return [at for at in sorted(one.sizes) if not names or at.topic in names]


def _dir_row(broker: int, one: LogDir, none: str, names: Collection[str]) -> list[object]:
    chosen = _chosen(one, names)
    space = [none if number < 0 else number for number in (one.total_bytes, one.usable_bytes)]
    error = one.error.name if one.error else none
    return [broker, one.path, len(chosen), sum(one.sizes[at] for at in chosen), *space, error]


def _partition_rows(
    dirs: Iterable[tuple[int, LogDir]], none: str, names: Collection[str]
) -> Iterator[list[object]]:
    for broker, one in dirs:
        for at in _chosen(one, names):
            future = "yes" if at in one.future else none
            yield [broker, one.path, *at, one.sizes[at], one.lags.get(at, 0), future]


def _as_json(broker: int, one: LogDir, names: Collection[str]) -> dict[str, object]:
    return {
        "broker": broker,
        "directory": one.path,
        "error": one.error.name if one.error else None,
        "total_bytes": None if one.total_bytes < 0 else one.total_bytes,
        "usable_bytes": None if one.usable_bytes < 0 else one.usable_bytes,
        "partitions": [
            {
                "topic": at.topic,
                "partition": at.partition,
                "bytes": one.sizes[at],
                "lag": one.lags.get(at, 0),
                "future": at in one.future,
            }
            for at in _chosen(one, names)
        ],
    }
