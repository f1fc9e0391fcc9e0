"""``kafkatx audit``: compare announced and found records, window by window."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.audit import audit_topic_option
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.options.times import BadTime, parse_time
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import say
from kafkatx.cli.pipeline.way import Asked, compare_tiers, parse_compared
from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkatx.audit.comparison import Count, Key, Window
    from kafkatx.blocking import Cluster

WRONG = 1


def _time(ctx: click.Context, option: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else parse_time(text)
    except BadTime as error:
        raise click.BadParameter(str(error), ctx, option) from error


@click.command(
    epilog="""\b
Examples:
  kafkatx audit -t orders --all
  kafkatx audit -t orders --ingested /data/orders --json
  kafkatx audit -t orders --way
"""
)
@click.option(
    "-t",
    "--topic",
    "topics",
    metavar="TOPIC",
    multiple=True,
    help="Topic to compare; repeatable. By default those of the table, or all that were announced.",
)
@click.option(
    "--ingested",
    "--to",
    "directory",
    metavar="DIR",
    type=click.Path(),
    help="Table to count in (Parquet, JSON or Avro files), instead of the topics themselves.",
)
@click.option(
    "--window-from",
    "from_ms",
    metavar="TIME",
    callback=_time,
    help="Start of the first window, 2026-11-21T10:00:00Z say.",
)
@click.option("--until", "until_ms", metavar="TIME", callback=_time, help="Time before which windows begin.")
@click.option(
    "--window",
    "window_s",
    metavar="SECONDS",
    type=FiniteRange(min=0.001, max=86_400),
    help="Length of the windows; by default as the producers' windows require.",
)
@click.option(
    "--settle",
    "settle_s",
    metavar="SECONDS",
    type=FiniteRange(min=0),
    default=60.0,
    show_default=True,
    help="Time for records and announcements to arrive: until then a window is open.",
)
@click.option(
    "-G",
    "--group",
    metavar="GROUP",
    help="Consumer group whose announcements are compared, too.",
)
@click.option("--way", is_flag=True, help="Show the numbers of all tiers, from producers to readers.")
@click.option(
    "--compare",
    "pair",
    metavar="TIER,TIER",
    callback=parse_compared,
    help="Compare two tiers only, producer,broker say; topic is what the topic has now.",
)
@click.option(
    "--also",
    metavar="HOST:PORT,...",
    multiple=True,
    help="With --way: another cluster on the way, whose audit topic is read, too; repeatable.",
)
@click.option("--by", type=click.Choice(["server"]), help="Show the announced numbers of each server.")
@click.option("--all", "show_all", is_flag=True, help="Show all windows, not only those that differ.")
@click.option("--lateness", is_flag=True, help="Show the delay of announcements and of loading.")
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE",
    type=click.Path(),
    help="Picture of all windows to draw: .png, .svg or .pdf.",
)
@listing_options
@audit_topic_option
@cluster_options
def audit(
    topics: tuple[str, ...],
    directory: str | None,
    from_ms: int | None,
    until_ms: int | None,
    window_s: float | None,
    settle_s: float,
    group: str | None,
    way: bool,
    pair: tuple[str, ...],
    also: tuple[str, ...],
    by: str | None,
    show_all: bool,
    lateness: bool,
    plot_path: str | None,
    as_json: bool,
    header: bool,
    audit_topic: str,
    bootstrap: str,
    timeout: float,
) -> int:
    """Compare the records that producers announced with those found.

    With audit.interval.ms producers announce the number of records that they have written to each topic. This
    command counts the records in the topics, or with --ingested in the table that they were loaded into. With
    --group it also compares what the consumers of a group announced. Exit code 1: records are missing or
    doubled, or the group has not read some, or read some twice.

    With --way brokers, mirrors, consumers and ingestions are compared, too, each with the tier before it, and
    sentences on stderr say what is wrong, where, and since when.

    \b
    Into a pipe, a line for each window, with tabs between the fields:
      topic window announced found missing doubled unannounced state
    """
    from kafkatx.audit.comparison import between, compare
    from kafkatx.audit.topics import read_announced
    from kafkatx.cli.pipeline.audit_rows import print_windows, summary

    if way or pair:
        _check_way(directory, group, by, lateness, plot_path)
        asked = Asked(
            topics,
            pair,
            from_ms,
            until_ms,
            None if window_s is None else round(window_s * 1000),
            round(settle_s * 1000),
            int(time.time() * 1000),
            show_all,
            as_json,
            header,
        )
        with ExitStack() as open_clusters:
            clusters = [open_clusters.enter_context(connect(one, timeout)) for one in (bootstrap, *also)]
            return WRONG if compare_tiers(clusters, audit_topic, asked) else 0
    if also:
        raise click.UsageError("--also needs --way or --compare")
    with connect(bootstrap, timeout) as cluster:
        announced = read_announced(cluster, audit_topic, group)
        chosen = set(topics) or announced.topics()
        window_ms = announced.window_ms(chosen, None if window_s is None else round(window_s * 1000))
        if window_ms is None:
            raise KafkaTXError(
                f"nothing about {' or '.join(topics) or 'any topic'} was announced in {audit_topic}"
            )
        if directory is None:
            found = _in_topics(cluster, sorted(chosen), window_ms, from_ms)
        else:
            found = _in_table(directory, window_ms, topics)
            chosen = set(topics) or {topic for topic, _ in found} or chosen
    compared = compare(
        announced.sums(chosen, window_ms),
        found,
        window_ms,
        int(time.time() * 1000),
        round(settle_s * 1000),
        consumed=announced.consumed(chosen, window_ms),
        servers=announced.servers(chosen, window_ms) if by else {},
    )
    windows = list(between(compared, from_ms, until_ms))
    shown = [window for window in windows if show_all or window.differs]
    print_windows(shown, as_json, lateness, by_server=bool(by), header=header)
    if plot_path is not None:
        _plot(windows, plot_path, directory)
    say(summary(windows, window_ms, announced.unreadable))
    return WRONG if any(window.wrong for window in windows) else 0


def _check_way(
    directory: str | None, group: str | None, by: str | None, lateness: bool, plot_path: str | None
) -> None:
    """Refuse options that belong to the other comparison.

    :raises click.UsageError: one was given.
    """
    others = {
        "--ingested": directory,
        "--group": group,
        "--by": by,
        "--lateness": lateness,
        "--plot": plot_path,
    }
    for name, value in others.items():
        if value:
            raise click.UsageError(f"{name} does not go with --way or --compare")


def _in_topics(
    cluster: Cluster, topics: Sequence[str], window_ms: int, from_ms: int | None
) -> dict[Key, Count]:
    from kafkatx.audit.topics import count_topic

    found: dict[Key, Count] = {}
    for topic in topics:
        with ProgressBar(topic, None) as bar:
            found |= count_topic(cluster, topic, window_ms, from_ms, bar.advance)
    return found


def _in_table(directory: str, window_ms: int, topics: Sequence[str]) -> dict[Key, Count]:
    from kafkatx.audit.files import BadTable

    try:
        from kafkatx.audit.tables import count_table
    except ImportError as error:
        raise BadTable(f"{error}: to read a table do pip install 'kafkatx[spark]'") from error
    with ProgressBar(directory, None) as bar:
        return count_table(directory, window_ms, topics, bar.advance).counts()


def _plot(windows: Sequence[Window], path: str, directory: str | None) -> None:
    from kafkatx.audit.plot import plot

    plot(windows, path, "the topic" if directory is None else directory)
