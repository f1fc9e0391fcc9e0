"""``kafkatx mirror verify``: compare mirrored partitions with their source, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, say, show_json
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.names import counted
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.mirror_check.comparison import Tally

DIFFERENT = 1
COMPACT = "compact"
_COLUMNS = ("topic", "partition#", "from#", "to#", "batches#", "bytes#", "compacted#", "differences#")


@click.command(
    epilog="""\b
Examples:
  kafkatx mirror verify --source dc1.example:9092 -t orders -t clicks:0,1
  kafkatx mirror verify --source-config client.properties -t orders
"""
)
@click.argument("link", required=False)
@scope_options
@click.option(
    "--source",
    metavar="HOST:PORT,...",
    help="Brokers of the source; by default those of the link's settings.",
)
@click.option(
    "--source-config",
    metavar="FILE",
    type=click.Path(),
    help="Properties file with bootstrap.servers of the source, security.protocol and ssl.*.",
)
@listing_options
@cluster_options
def verify(
    link: str | None,
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    source: str | None,
    source_config: str | None,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Compare mirrored partitions with their source.

    Each batch that both sides have must have the same offsets, checksum, leader epoch and producer. Both are
    read, so this takes as long as reading the topics. Without --topic all topics of the LINK are compared.
    Left out are offsets that one side has deleted by retention, and those after the promotion of a topic.
    In a compacted topic, each side of which is compacted by itself, the copy may lack a record if it has a
    later one with its key. Exit code 1: there are differences.

    \b
    Into a pipe, with tabs between the fields:
      partition   topic partition from to batches bytes compacted differences
      difference  topic partition first-offset last-offset what
    """
    scope = parse_scope(topics, partitions)
    if source is not None and source_config is not None:
        raise click.UsageError("give --source or --source-config, not both")
    if link is None and (not scope or not (source or source_config)):
        raise click.UsageError("give the name of a LINK, or --topic with --source or --source-config")
    with connect(bootstrap, timeout) as copy:
        properties = _configured(source_config) if source_config else None
        servers = source or (properties or {}).get("bootstrap.servers") or _link_source(copy, link or "")
        names = _in_scope(copy, link, scope)
        with connect(servers, timeout, properties) as cluster:
            found = _check(cluster, copy, names)
    _print(found, as_json, header)
    different = sum(tally.different for tally in found.values())
    batches = sum(tally.batches for tally in found.values())
    say(
        f"{counted(len(found), 'partition')}, {counted(batches, 'batch')} compared,"
        f" {counted(different, 'difference')}"
    )
    return DIFFERENT if different else 0


def _configured(path: str) -> Mapping[str, str]:
    """Return the settings in a properties file, which has bootstrap servers.

    :raises SettingError: it cannot be read, or lacks them.
    """
    from kafkatx.config.properties import read_properties

    properties = read_properties(path)
    if not properties.get("bootstrap.servers"):
        raise SettingError(f"{path}: bootstrap.servers is missing: give brokers of the source as HOST:PORT")
    return properties


def _link_source(copy: Cluster, link: str) -> str:
    """Return the bootstrap servers of a link, as the brokers tell them.

    :raises KafkaTXError: there is no such link.
    """
    from kafkatx.blocking.admin.mirrors import Mirrors

    found = [one for one in Mirrors(copy).report([link]).links if one.source]
    if not found:
        raise KafkaTXError(f"there is no link {link!r} in this cluster: name the source by --source")
    return found[0].source


def _in_scope(copy: Cluster, link: str | None, scope: Mapping[str, set[int]]) -> list[TopicPartition]:
    """Return the partitions to compare: those that are named, else all of the link."""
    if scope:
        return [
            TopicPartition(topic, number)
            for topic, chosen in scope.items()
            for number in sorted(chosen or copy.partitions(topic))
        ]
    from kafkatx.blocking.admin.mirrors import Mirrors

    assert link is not None
    return [status.topic_partition for status in Mirrors(copy).report([link]).partitions]


def _check(source: Cluster, copy: Cluster, names: list[TopicPartition]) -> dict[TopicPartition, Tally]:
    """Compare partition by partition, and show how far it is."""
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.blocking.admin.mirror_check import check_partition

    topics = {name.topic for name in names}
    policies = Configs(source).values_of_topics("cleanup.policy", topics)
    ends = _ends(Configs(copy).values_of_topics(KAFKATX_MIRROR, topics))
    found = {}
    for name in names:
        compacted = COMPACT in policies.get(name.topic, "")
        with ProgressBar(f"offsets of {name}", None) as bar:
            show = partial(_show_progress, bar)
            found[name] = check_partition(source, copy, name, compacted, show, ends.get(name))
    return found


def _ends(records: Mapping[str, str]) -> dict[TopicPartition, int]:
    """Return the offsets at which topics were promoted: what follows was never at the source."""
    found = {}
    for topic, text in records.items():
        try:
            ends = MirrorRecord.parse(text).ends or ()
        except ValueError:
            continue  # the broker says of such a topic that it has failed
        found.update({TopicPartition(topic, number): end for number, end in enumerate(ends)})
    return found


def _show_progress(bar: ProgressBar, tally: Tally) -> None:
    bar.reach(tally.position - tally.start, tally.end - tally.start)


def _row(name: TopicPartition, tally: Tally) -> tuple[object, ...]:
    counts = tally.batches, tally.size_bytes, tally.compacted, tally.different
    return (*name, tally.start, tally.end, *counts)


def _print(found: Mapping[TopicPartition, Tally], as_json: bool, header: bool) -> None:
    if as_json:
        for name, tally in found.items():
            show_json({"topic": name.topic, "partition": name.partition, **attrs.asdict(tally)})
        return
    different = [
        (*name, one.first_offset, one.last_offset, one.what)
        for name, tally in found.items()
        for one in tally.differences
    ]
    rows = [_row(name, tally) for name, tally in found.items()]
    columns = ("topic", "partition#", "first offset#", "last offset#", "what")
    if not interactive(sys.stdout):
        print_rows((("partition", *row) for row in rows), ("kind", *_COLUMNS) if header else ())
        print_rows((("difference", *row) for row in different), ("kind", *columns) if header else ())
        return
    print_table(_COLUMNS, rows)
    if different:
        print_table(columns, different, "differences")
