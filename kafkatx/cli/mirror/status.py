"""``kafkatx mirror status``: links, and how far their mirrors are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, show_json
from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorReport, MirrorStatus

PROBLEMS = 1
NONE = "-"
_LINKS = ("link", "source", "groups#", "skipped#", "groups' age s#", "broker#", "problem")
_TOPICS = ("link", "topic", "state!", "partitions#", "lag#", "lag s#", "copied bytes#", "remark")
_PARTITIONS = ("link", "topic", "partition#", "state!", "lag#", "lag ms#", "start#", "end#", "remark")


@click.command(
    epilog="""\b
Examples:
  kafkatx mirror status
  kafkatx mirror status dc1 --partitions
"""
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("-p", "--partitions", is_flag=True, help="Show each partition in place of topics.")
@listing_options
@cluster_options
def status(
    names: tuple[str, ...], partitions: bool, as_json: bool, header: bool, bootstrap: str, timeout: float
) -> int:
    """Show links, and how far their mirrors are.

    The lag is the number of offsets that the source has and the mirror has not, and the time since the last
    record came while there were some. Exit code 1: a link does not reach its source, a topic is not mirrored,
    or a mirror has failed.

    \b
    Into a pipe, with tabs between the fields (- stands for unknown or none):
      link       link source groups skipped groups-age-ms broker problem
      partition  link topic partition state lag lag-ms start end remark
    """
    from kafkatx.blocking.admin.mirrors import Mirrors

    with connect(bootstrap, timeout) as cluster:
        report = Mirrors(cluster).report(names or None)
    unknown = sorted(
        set(names) - {one.name for one in report.links} - {one.link for one in report.partitions}
    )
    if unknown:
        raise KafkaTXError(f"there is no link {unknown[0]!r}, and no mirror of one")
    _print(report, partitions, as_json, header)
    bad = any(map(_problem, report.links)) or any(one.state == "failed" for one in report.partitions)
    return PROBLEMS if bad else 0


def _print(report: MirrorReport, partitions: bool, as_json: bool, header: bool) -> None:
    if as_json:
        for link in report.links:
            show_json({"kind": "link", **attrs.asdict(link)})
        for one in report.partitions:
            show_json({"kind": "partition", **attrs.asdict(one), "lag": one.lag})
        return
    if not interactive(sys.stdout):
        columns = ("kind", *_LINKS), ("kind", *_PARTITIONS)
        links = (("link", *_link_row(link, link.groups_age_ms)) for link in report.links)
        rows = (("partition", *_partition_row(one)) for one in report.partitions)
        print_rows(links, columns[0] if header else ())
        print_rows(rows, columns[1] if header else ())
        return
    if report.links:
        print_table(_LINKS, [_link_row(link, _seconds(link.groups_age_ms)) for link in report.links])
    if partitions and report.partitions:
        print_table(_PARTITIONS, [_partition_row(one) for one in report.partitions])
    elif report.partitions:
        print_table(_TOPICS, _topic_rows(report.partitions))
    if not report.links and not report.partitions:
        hint("there are no links: `kafkatx mirror add` adds one")


def _problem(link: LinkStatus) -> str:
    return link.error or link.groups_error


def _link_row(link: LinkStatus, age: object) -> tuple[object, ...]:
    """Return the row of a link; only the controller's broker knows of groups."""
    knows = link.groups >= 0
    counts = (link.groups, link.skipped_groups) if knows else (NONE, NONE)
    shown = NONE if link.groups_age_ms < 0 else age
    return link.name, link.source, *counts, shown, link.broker, _problem(link) or NONE


def _partition_row(one: MirrorStatus) -> tuple[object, ...]:
    return (
        one.link,
        one.topic,
        one.partition,
        one.state,
        *map(_known, (one.lag, one.lag_ms, one.log_start, one.log_end)),
        one.reason or NONE,
    )


def _topic_rows(partitions: Iterable[MirrorStatus]) -> list[tuple[object, ...]]:
    """Return a row for each topic: the sum of its partitions, and the first remark."""
    topics: dict[tuple[str, str], list[MirrorStatus]] = {}
    for one in partitions:
        topics.setdefault((one.link, one.topic), []).append(one)
    return [(*name, *_summary(some)) for name, some in sorted(topics.items())]


def _summary(some: Sequence[MirrorStatus]) -> tuple[object, ...]:
    states = sorted({one.state for one in some})
    known = [one for one in some if one.lag >= 0]
    lag = sum(one.lag for one in known) if len(known) == len(some) else -1
    lag_ms = max((one.lag_ms for one in some), default=-1)
    remarks = [one.reason for one in some if one.reason]
    copied = sum(one.bytes_copied for one in some)
    return (
        ", ".join(states),
        len(some),
        _known(lag),
        NONE if lag_ms < 0 else _seconds(lag_ms),
        copied,
        remarks[0] if remarks else NONE,
    )


def _seconds(time_ms: int) -> str:
    return f"{time_ms / 1000:.1f}"


def _known(number: int) -> object:
    return NONE if number < 0 else number
