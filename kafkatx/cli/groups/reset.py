"""``kafkatx groups reset``: where a group goes on reading."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkatx.cli.groups.rows import print_moves
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.options.times import BadTime, parse_duration, parse_time
from kafkatx.cli.output.terminal import interactive, say

if TYPE_CHECKING:
    from kafkatx.blocking.admin.reset import Move, Target


@click.command()
@click.argument("name", metavar="GROUP")
@click.option("--to-earliest", is_flag=True, help="To the first message that there is.")
@click.option("--to-latest", is_flag=True, help="To the end: only what comes from now on.")
@click.option("--to-offset", metavar="OFFSET", type=click.IntRange(min=0), help="To this offset.")
@click.option(
    "--to-datetime",
    metavar="TIME",
    help="To the first message since 2026-11-21T10:00:00+01:00; UTC if no offset is given.",
)
@click.option("--by-duration", metavar="P1DT2H3M4S", help="To the first so long ago.")
@click.option("--shift-by", metavar="COUNT", type=int, help="So many on, or back if negative.")
@scope_options
@click.option("--execute/--dry-run", default=False, help="Do it, or only show it. [default: --dry-run]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@cluster_options
def reset(
    name: str,
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    execute: bool,
    as_json: bool,
    bootstrap: str,
    timeout: float,
    **where: Any,
) -> None:
    """Show where GROUP would go on reading, and with --execute let it.

    Without --topic: wherever it has committed an offset. The group must have no members. A place before the
    first message or beyond the end becomes that.

    \b
    A line a partition if the output is not a terminal, divided by tabs (- is none):
      topic partition old-offset new-offset lag
    """
    from kafkatx.blocking.admin.reset import carry_out, plan

    target, scope = _target(where), parse_scope(topics, partitions)
    with connect(bootstrap, timeout) as cluster:
        moves = plan(cluster, name, target, scope)
        if execute:
            carry_out(cluster, name, moves)
    print_moves(moves, as_json, interactive(sys.stdout))
    _tell(name, moves, execute)


def _target(where: Mapping[str, Any]) -> Target:
    """What the options say; of them one is given.

    :raises click.UsageError: none is, or several, or it is no time.
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
    """Say on stderr what the table does not."""
    for move in moves:
        if move.new != move.asked:
            at = f"{move.at.topic} [{move.at.partition}]"
            say(f"{at} has no offset {move.asked}: {move.new} is the nearest")
    if execute:
        say(f"set the offsets of group {name}")
    else:
        say("nothing was changed; give --execute to do this")
