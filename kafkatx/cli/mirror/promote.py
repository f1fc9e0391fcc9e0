"""``kafkatx mirror promote``: open mirrored topics for writers, for good."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkatx.cli.mirror.settings import alter, of_link, report_of
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import confirm, say
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted, verb

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.mirror_status import MirrorStatus

POLL_S = 0.5
UNFINISHED = 1
PROMOTED = "promoted"


@click.command(
    epilog="""\b
Examples:
  kafkatx mirror promote dc1
  kafkatx mirror promote dc1 -t orders -t clicks --yes --wait 60
"""
)
@click.argument("name")
@click.option(
    "-t", "--topic", "topics", metavar="TOPIC", multiple=True, help="Topic; repeatable. By default all."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--wait",
    metavar="SECONDS",
    type=FiniteRange(min=0),
    default=0.0,
    help="Time to wait until all are promoted; by default the command only begins it.",
)
@cluster_options
def promote(
    name: str,
    topics: tuple[str, ...],
    yes: bool,
    wait: float,
    bootstrap: str,
    timeout: float,
) -> int:
    """Promote all mirrors of the link NAME, or some topics. This cannot be undone.

    A promoted topic takes records from producers, and none from the link any more. Groups go on at their
    offsets, those beyond the end of the topic at the end; open transactions are aborted. The source need not
    be there. What it has got and the mirror has not is not in the promoted topic: stop its producers first,
    and wait until the lag is 0.
    Exit code 1: with --wait, a topic was not promoted in that time.
    """
    from kafkatx.clientcore.admin import mirror_links as links

    with connect(bootstrap, timeout) as cluster:
        report = report_of(cluster, name, topics)
        chosen = [one for one in report.partitions if not topics or one.topic in topics]
        left = sorted({one.topic for one in chosen if one.state != PROMOTED})
        if not left:
            say(f"link {name} has no mirrors that are not promoted already")
            return 0
        _warn(chosen)
        confirm(f"Promote {counted(len(left), 'topic')} of link {name}? This cannot be undone.", yes)
        pattern = of_link(cluster, name).get(links.PROMOTED, "")
        values = {links.PROMOTED: links.with_topics(pattern, topics)}
        alter(cluster, name, values)
        if not wait:
            say(f"the promotion has begun: `kafkatx mirror status {name}` shows how far it is")
            return 0
        return _complete(cluster, name, left, wait)


def _warn(partitions: Sequence[MirrorStatus]) -> None:
    """Tell of records at the source that would not be in the promoted topics, and of open transactions."""
    behind = [one for one in partitions if one.lag > 0 and one.state != PROMOTED]
    unknown = sum(one.lag < 0 and one.state != PROMOTED for one in partitions)
    if behind:
        lag = sum(one.lag for one in behind)
        places = counted(len(behind), "partition")
        say(f"{counted(lag, 'offset')} of {places} {verb(lag, 'is', 'are')} not here yet")
    if unknown:
        say(f"the lag of {counted(unknown, 'partition')} is not known")
    unfinished = sum(one.open_transaction >= 0 and one.state != PROMOTED for one in partitions)
    if unfinished:
        say(f"{counted(unfinished, 'partition')} with open transactions, which will be aborted")


def _complete(cluster: Cluster, link: str, topics: Sequence[str], wait_s: float) -> int:
    """Wait until topics are promoted, and show how far that is."""
    from kafkatx.blocking.admin.mirrors import Mirrors

    end_s = time.monotonic() + wait_s
    with ProgressBar("promoted partitions", None) as bar:
        while True:
            found = Mirrors(cluster).report([link], topics).partitions
            done = [one for one in found if one.state == PROMOTED]
            bar.reach(len(done), len(found))
            left = sorted(set(topics) - {one.topic for one in found if one.state == PROMOTED})
            if not left and len(done) == len(found):
                break
            if time.monotonic() >= end_s:
                raise KafkaTXError(_unfinished(link, [one for one in found if one.state != PROMOTED]))
            time.sleep(POLL_S)
    say(f"{counted(len(topics), 'topic')} promoted: producers may write there")
    return 0


def _unfinished(link: str, left: Sequence[MirrorStatus]) -> str:
    """Return what to say of topics that are not promoted."""
    reason = next((f": {one.topic_partition}: {one.reason}" for one in left if one.reason), "")
    names = sorted({one.topic for one in left})
    return (
        f"{counted(len(names), 'topic')} not promoted yet{reason}; it goes on, and `kafkatx"
        f" mirror status {link}`"
        " shows how far it is"
    )
