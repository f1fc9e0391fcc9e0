"""``kafkatx mirror add``, ``remove``, ``pause`` and ``resume``: they edit the settings of a link alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkatx.cli.mirror.settings import alter, of_link, report_of
from kafkatx.cli.options.cluster import cluster_options, connect, pairs
from kafkatx.cli.options.numbers import parse_bytes_per_s
from kafkatx.cli.output.terminal import confirm, say
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted, verb

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.mirror_status import MirrorReport

MOST_NAMED = 5


@click.command(
    epilog="""\b
Examples:
  kafkatx mirror add dc1 --source kafka1:9092,kafka2:9092 --topics '.*'
  kafkatx mirror add dc1 --source kafka1:9092 --topics 'orders|clicks' --groups '' --rate 20M
"""
)
@click.argument("name")
@click.option(
    "--source", "--bootstrap", "source", metavar="HOST:PORT,...", required=True, help="Brokers of the source."
)
@click.option(
    "--topics", metavar="REGEX", required=True, help="Topics to mirror: an expression for whole names."
)
@click.option(
    "--groups",
    metavar="REGEX",
    help="Groups whose offsets are copied: an expression for whole names; by default all.",
)
@click.option(
    "--rate",
    metavar="BYTES/S",
    callback=parse_bytes_per_s,
    help="Limit of what each broker fetches, for instance 20M.",
)
@click.option(
    "-s",
    "--set",
    "sets",
    metavar="NAME=VALUE",
    multiple=True,
    help="Another setting of the link, without its prefix, as request.timeout.ms=10000; repeatable.",
)
@cluster_options
def add(
    name: str,
    source: str,
    topics: str,
    groups: str | None,
    rate: int | None,
    sets: tuple[str, ...],
    bootstrap: str,
    timeout: float,
) -> None:
    """Add the link NAME, which mirrors topics of another cluster.

    The topics are created here within seconds, with all records from the first one on and all offsets as they
    are at the source. Clients may read them; only the link writes to them, until they are promoted. A topic
    that is here already is left alone, and `kafkatx mirror status` says so.
    """
    from kafkatx.clientcore.admin import mirror_links as links

    links.check_name(name)
    links.matches(topics, "")
    values = {links.BOOTSTRAP_SERVERS: source, links.TOPICS: topics, **dict(pairs("--set", sets))}
    if groups is not None:
        links.matches(groups, "")
        values[links.GROUPS] = groups
    if rate is not None:
        values[links.RATE] = str(rate)
    with connect(bootstrap, timeout) as cluster:
        from kafkatx.blocking.admin.mirrors import Mirrors

        report = Mirrors(cluster).report([name])
        if report.links or name in Mirrors(cluster).settings():
            raise KafkaTXError(
                f"there is a link {name!r} already: change its settings by `kafkatx configs alter"
                f" --broker-defaults --set {links.setting(name, 'topics')}=...`, or remove it first"
            )
        left = of_link(cluster, name).keys() - values.keys()  # of a link that was removed
        alter(cluster, name, values, sorted(left), added=[name])
    say(f"added the link {name}: `kafkatx mirror status {name}` shows its topics within seconds")
    if report.partitions:
        count = len({one.topic for one in report.partitions})
        say(
            f"{counted(count, 'topic')} of an earlier link {name} {verb(count, 'is', 'are')}"
            f" mirrored further, if it has the same source"
        )


@click.command(epilog="Example: kafkatx mirror remove dc1")
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@cluster_options
def remove(name: str, yes: bool, bootstrap: str, timeout: float) -> None:
    """Remove the link NAME with its settings; its topics stay.

    Topics that were not promoted stay read-only, with what they have. `kafkatx mirror promote` opens them for
    writers, also when the link and its source are gone; `kafkatx topics delete` deletes them.
    """
    with connect(bootstrap, timeout) as cluster:
        report = report_of(cluster, name)
        confirm(f"Remove the link {name}?", yes)
        alter(cluster, name, {}, sorted(of_link(cluster, name)), removed=[name])
    say(f"removed the link {name}")
    if unpromoted := _unpromoted(report):
        more = ", ..." if len(unpromoted) > MOST_NAMED else ""
        say(
            f"{counted(len(unpromoted), 'topic')} {verb(len(unpromoted), 'stays', 'stay')}"
            f" read-only until promoted, by `kafkatx mirror promote"
            f" {name}`: {', '.join(unpromoted[:MOST_NAMED])}{more}"
        )


def _unpromoted(report: MirrorReport) -> list[str]:
    return sorted({one.topic for one in report.partitions if one.state != "promoted"})


_topics_option = click.option(
    "-t", "--topic", "topics", metavar="TOPIC", multiple=True, help="Topic; repeatable. By default all."
)


@click.command(epilog="Example: kafkatx mirror pause dc1 -t orders")
@click.argument("name")
@_topics_option
@cluster_options
def pause(name: str, topics: tuple[str, ...], bootstrap: str, timeout: float) -> None:
    """Pause all mirrors of the link NAME, or some topics.

    They keep what they have, and readers go on. With all topics paused, new ones are paused as well.
    """
    from kafkatx.clientcore.admin import mirror_links as links

    with connect(bootstrap, timeout) as cluster:
        report_of(cluster, name, topics)
        pattern = of_link(cluster, name).get(links.PAUSED, "")
        alter(cluster, name, {links.PAUSED: links.with_topics(pattern, topics)})
    say(f"{_what(topics)} of link {name} will be paused")


@click.command(epilog="Example: kafkatx mirror resume dc1 -t orders")
@click.argument("name")
@_topics_option
@cluster_options
def resume(name: str, topics: tuple[str, ...], bootstrap: str, timeout: float) -> None:
    """Resume all paused mirrors of the link NAME, or some topics."""
    from kafkatx.clientcore.admin import mirror_links as links

    with connect(bootstrap, timeout) as cluster:
        report_of(cluster, name, topics)
        pattern = of_link(cluster, name).get(links.PAUSED, "")
        left = links.without_topics(pattern, topics, links.setting(name, links.PAUSED))
        alter(cluster, name, {links.PAUSED: left})
    say(f"{_what(topics)} of link {name} will be resumed")


def _what(topics: tuple[str, ...]) -> str:
    return ", ".join(topics) if topics else "all topics"
