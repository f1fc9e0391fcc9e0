"""Plans are shown, executed and waited for: shared by ``kafkatx cluster move``, ``drain`` and ``spread``.

It sends requests through the blocking client and prints progress.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click
from typing_extensions import Unpack

from kafkatx.cli.options.numbers import parse_bytes_per_s
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import confirm, hint, interactive, print_rows, print_table, say, show_json
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.replica_plans import Move
    from kafkatx.clientcore.admin.replicas import Outcome
    from kafkatx.types import TopicPartition

F = TypeVar("F", bound=Callable[..., object])

FAILED = 1
POLL_S = 0.5
AT_ONCE = 500
"""Partitions in one request."""
_COLUMNS = ("topic", "partition#", "replicas", "new replicas")


class Incomplete(KafkaTXError):
    """Some partitions could not be moved."""


def execution_options(command: F) -> F:
    """Add ``--execute``, ``--throttle``, ``--no-wait`` and ``--yes``."""
    for option in (
        click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
        click.option("--no-wait", is_flag=True, help="Return as soon as the move has begun."),
        click.option(
            "--throttle",
            metavar="BYTES/S",
            callback=parse_bytes_per_s,
            help="Limit of the copies of each broker, for instance 50M; removed when they are complete.",
        ),
        click.option("--execute", is_flag=True, help="Do it; without this the plan is only shown."),
    ):
        command = option(command)
    return command


class Execution(TypedDict):
    """The values of :func:`execution_options` and of ``listing_options``."""

    execute: bool
    throttle: int | None
    no_wait: bool
    yes: bool
    as_json: bool
    header: bool


def run(cluster: Cluster, moves: Sequence[Move], **how: Unpack[Execution]) -> int:
    """Show a plan; with ``--execute`` carry it out, and wait until it is complete."""
    from kafkatx.clientcore.admin.replica_plans import to_json

    throttle = how["throttle"]
    if not how["execute"]:
        show_plan(moves, how["as_json"], how["header"])
        if moves and interactive(sys.stdout):
            hint("this is the plan; --execute carries it out")
        return 0
    if not moves:
        say("nothing has to be moved")
        return 0
    copies = sum(move.copied for move in moves)
    confirm(
        f"Move {counted(len(moves), 'partition')}, which copies {counted(copies, 'replica')}?", how["yes"]
    )
    say(f"to undo: kafkatx cluster move --execute --plan '{to_json(moves, before=True)}'")
    begin(cluster, moves, throttle)
    if how["no_wait"]:
        say("the move has begun; kafkatx cluster move --status shows it")
        return 0
    try:
        complete(cluster, {move.topic_partition for move in moves})
    except KeyboardInterrupt:
        say("the move goes on without this command; kafkatx cluster move --status shows it, --cancel ends it")
        raise
    if throttle is not None:
        unthrottle(cluster, {move.topic_partition.topic for move in moves})
    say(f"complete: {counted(len(moves), 'partition')} moved")
    return 0


def show_plan(moves: Sequence[Move], as_json: bool, header: bool) -> None:
    """Print a plan, as JSON in the form that ``--plan`` takes."""
    from kafkatx.clientcore.admin.replica_plans import to_json

    if as_json:
        import json

        show_json(json.loads(to_json(moves)), compact=True)
        return
    separator = ", " if interactive(sys.stdout) else ","
    rows = [
        (
            *move.topic_partition,
            separator.join(map(str, move.before)),
            separator.join(map(str, move.after)),
        )
        for move in moves
    ]
    if interactive(sys.stdout):
        if rows:
            print_table(_COLUMNS, rows)
        else:
            say("nothing has to be moved")
    else:
        print_rows(rows, _COLUMNS if header else ())


def begin(cluster: Cluster, moves: Sequence[Move], throttle: int | None) -> None:
    """Limit the copies, if asked for, and begin to move the partitions.

    :raises Incomplete: some were refused.
    """
    from kafkatx.blocking.admin.replicas import Replicas

    replicas = Replicas(cluster)
    if throttle is not None:
        leaders, followers = throttled(moves)
        replicas.throttle(sorted(cluster.brokers()), leaders, followers, throttle)
    refused: dict[TopicPartition, Outcome] = {}
    for at in range(0, len(moves), AT_ONCE):
        wanted = {move.topic_partition: move.after for move in moves[at : at + AT_ONCE]}
        outcomes = replicas.reassign(wanted)
        refused.update((name, outcome) for name, outcome in outcomes.items() if outcome.error)
    check_none_refused(refused)


def check_none_refused(refused: Mapping[TopicPartition, Outcome]) -> None:
    """Raise the error of partitions that the controller has refused.

    :raises Incomplete: there are some.
    """
    if refused:
        name, outcome = next(iter(refused.items()))
        more = f", and {len(refused) - 1} more partitions" if len(refused) > 1 else ""
        raise Incomplete(f"{name}: {outcome.error.name}: {outcome.message or ''}{more}")


def throttled(moves: Sequence[Move]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the replicas to throttle by topic: those that are copied, and those that copy."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for move in moves:
        new = [broker for broker in move.after if broker not in move.before]
        if new:
            topic, partition = move.topic_partition
            leaders.setdefault(topic, []).extend(f"{partition}:{broker}" for broker in move.before)
            followers.setdefault(topic, []).extend(f"{partition}:{broker}" for broker in new)
    return leaders, followers


def complete(cluster: Cluster, names: set[TopicPartition]) -> None:
    """Wait until no reassignment of these partitions is in progress, and show how far it is."""
    from kafkatx.blocking.admin.replicas import Replicas

    replicas = Replicas(cluster)
    with ProgressBar("partitions moved", len(names)) as bar:
        while left := names & replicas.in_progress().keys():
            bar.reach(len(names) - len(left), len(names))
            time.sleep(POLL_S)
        bar.reach(len(names), len(names))


def unthrottle(cluster: Cluster, topics: set[str]) -> None:
    """Remove the limits of copies, unless other moves are still in progress."""
    from kafkatx.blocking.admin.replicas import Replicas

    replicas = Replicas(cluster)
    if replicas.in_progress():
        say("other moves are in progress: the limit stays; kafkatx cluster move --status removes it later")
    else:
        replicas.remove_throttles(sorted(cluster.brokers()), sorted(topics))
