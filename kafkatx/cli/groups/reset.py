"""``kafkatx groups reset``: set the offsets of a group."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkatx.cli.groups.rows import print_moves
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.kafka_names import accepted, names_argument, refused
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.options.times import BadTime, parse_duration, parse_time
from kafkatx.cli.output.terminal import interactive, say

if TYPE_CHECKING:
    from kafkatx.blocking.admin.reset import Move, Target


_UNSUPPORTED = {
    "--all-groups": "reset one group after another; `kafkatx groups list` lists them",
    "--to-current": "without it offsets stay as they are; --json prints them",
    "--from-file": "give --to-offset for each partition",
    "--export": "use --json",
}


@click.command(
    epilog="\b\nExample:\n  kafkatx groups reset billing --to-datetime 2026-11-21T10:00:00Z --execute"
)
@names_argument("name", "--group", metavar="GROUP")
@click.option("--to-earliest", is_flag=True, help="Go to the first message.")
@click.option("--to-latest", is_flag=True, help="Go to the end: read only new messages.")
@click.option("--to-offset", metavar="OFFSET", type=click.IntRange(min=0), help="Go to this offset.")
@click.option(
    "--to-datetime",
    metavar="TIME",
    help="Go to the first message at or after a time: 2026-11-21T10:00:00+01:00; without an offset UTC.",
)
@click.option(
    "--by-duration", metavar="DURATION", help="Go to the first message of the last P1DT2H3M4S, or PT90S."
)
@click.option("--shift-by", metavar="COUNT", type=int, help="Go COUNT offsets forward, or back if negative.")
@scope_options
@click.option(
    "--execute/--dry-run", default=False, help="Set the offsets, or only show them.  [default: dry-run]"
)
@listing_options
@accepted("--all-topics")
@refused(_UNSUPPORTED)
@cluster_options
def reset(
    name: str,
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    execute: bool,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
    **where: Any,
) -> None:
    """Show new offsets for a group; with --execute set them.

    Without --topic that is for all partitions with a committed offset. The group must not have members. An
    offset before the first message or beyond the end becomes the nearest one that exists.

    \b
    Into a pipe, a line for each partition, tabs between fields (- is none):
      topic partition old-offset new-offset lag
    """
    from kafkatx.blocking.admin.reset import carry_out, plan

    target, scope = _target(where), parse_scope(topics, partitions)
    with connect(bootstrap, timeout) as cluster:
        moves = plan(cluster, name, target, scope)
        if execute:
            carry_out(cluster, name, moves)
    print_moves(moves, as_json, interactive(sys.stdout), header)
    _tell(name, moves, execute)


def _target(where: Mapping[str, Any]) -> Target:
    """Return the target that the options name.

    :raises click.UsageError: not exactly one is given, or its time is wrong.
    """
    from kafkatx.blocking.admin.reset import Kind, Target

    makers: dict[str, Callable[[Any], Target]] = {
        "to_earliest": lambda _: Target(Kind.EARLIEST),
        "to_latest": lambda _: Target(Kind.LATEST),
        "to_offset": lambda offset: Target(Kind.OFFSET, offset),
        "to_datetime": lambda text: Target(Kind.TIME, parse_time(text)),
        "by_duration": lambda text: Target(Kind.TIME, int(time.time() * 1000) - parse_duration(text)),
        "shift_by": lambda count: Target(Kind.SHIFT, count),
    }
    given = [name for name in makers if where[name] is not None and where[name] is not False]
    if len(given) != 1:
        raise click.UsageError(
            "give one of --to-earliest, --to-latest, --to-offset, --to-datetime, --by-duration, --shift-by"
        )
    try:
        return makers[given[0]](where[given[0]])
    except BadTime as error:
        raise click.UsageError(str(error)) from error


def _tell(name: str, moves: list[Move], execute: bool) -> None:
    """Say on stderr which offsets were out of range, and if anything was changed."""
    for move in moves:
        if move.new != move.target_offset:
            at = f"{move.at.topic} [{move.at.partition}]"
            say(f"{at} has no offset {move.target_offset}: {move.new} is the nearest")
    if execute:
        say(f"set the offsets of group {name}")
    else:
        say("nothing was changed; give --execute to do this")
