"""``kafkatx groups``: list, describe, delete, reset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kafkatx.cli.groups import rows as group_rows
from kafkatx.cli.groups.reset import reset
from kafkatx.cli.options.cluster import cluster_options, connect, group_options
from kafkatx.cli.options.kafka_names import Commands, Option, accepted, names_argument, refused
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.output.terminal import confirm, hint, interactive, print_rows, print_table, say, show_json
from kafkatx.errors import RequestError

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.group_description import GroupDescription
    from kafkatx.clientcore.admin.groups import GroupListing
    from kafkatx.clientcore.admin.lag import Progress

FAILED = 1


@click.group(
    cls=Commands,
    actions={
        "--list": "list",
        "--describe": "describe",
        "--delete": "delete",
        "--delete-offsets": "delete --offsets-only",
        "--reset-offsets": "reset",
    },
    epilog="""\b
Examples:
  kafkatx groups list --state Stable
  kafkatx groups describe billing
  kafkatx groups reset billing --to-earliest --execute
  kafkatx groups delete billing --yes
""",
)
@group_options()
def groups() -> None:
    """List, describe and delete consumer groups; set their offsets."""


groups.add_command(reset)


@groups.command("list", epilog="Example: kafkatx groups list --state Empty --json")
@click.option(
    "-s",
    "--state",
    "states",
    multiple=True,
    is_flag=False,
    flag_value="",
    metavar="STATE",
    help="State of the groups to list: Stable, Empty, ...; repeatable.",
)
@listing_options
@refused({"--type": "the third column is the type of the group"})
@cluster_options
def list_command(
    states: tuple[str, ...], as_json: bool, header: bool, bootstrap: str, timeout: float
) -> None:
    """List the groups.

    \b
    Into a pipe, a line for each group, tabs between fields (- is none):
      group state type protocol-type
    """
    from kafkatx.blocking.admin.groups import Groups

    wanted = {state.strip().casefold() for text in states for state in text.split(",") if state}
    with connect(bootstrap, timeout) as cluster:
        found = [g for g in Groups(cluster).listings() if not wanted or g.state.casefold() in wanted]
    columns = ["group", "state", "type", "protocol type"]
    if as_json:
        names = [column.replace(" ", "_") for column in columns]
        for group in found:
            show_json(dict(zip(names, _columns(group, ""), strict=True)))
    elif not interactive(sys.stdout):
        print_rows([_columns(group, group_rows.NONE) for group in found], columns if header else ())
    elif found:
        print_table(columns, [_columns(group, "") for group in found])
    if not found:
        hint("there are no groups" + (" in that state" if wanted else ""))


def _columns(group: GroupListing, none: str) -> tuple[str, ...]:
    return (group.group_id, group.state or none, group.type, group.protocol_type or none)


@groups.command(epilog="Example: kafkatx groups describe billing --members")
@names_argument("names", "--group", metavar="GROUP...", nargs=-1)
@click.option(
    "-a", "--all", "every", cls=Option, aliases=["--all-groups"], is_flag=True, help="Describe all groups."
)
@click.option("-m", "--members", is_flag=True, help="Show the members in place of the partitions.")
@listing_options
@accepted("--offsets", "--verbose")
@refused({"--state": "`kafkatx groups list` shows the states"})
@cluster_options
def describe(
    names: tuple[str, ...],
    every: bool,
    members: bool,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Show offsets, lag and members of groups.

    With --json there is one object for each group, with everything.

    \b
    Into a pipe, a line for each partition, tabs between fields (- is none):
      group topic partition committed end lag member-id host client-id
    and with --members a line for each member:
      group member-id instance-id client-id host count partitions
    """
    from kafkatx.blocking.admin.groups import Groups
    from kafkatx.blocking.admin.lag import progress
    from kafkatx.clientcore.admin.group_description import DEAD
    from kafkatx.clientcore.admin.groups import UnknownGroup

    if bool(names) == every:
        raise click.UsageError("name the groups, or give --all")
    with connect(bootstrap, timeout) as cluster:
        found = Groups(cluster)
        for name in [group.group_id for group in found.listings()] if every else names:
            group = found.describe(name)
            if group.state != DEAD:
                _print_group(group, progress(cluster, group), members, as_json, header)
                header = False  # once
            elif not every:  # a listed one was deleted since, or is of a type without offsets
                raise UnknownGroup(name)


def _print_group(
    group: GroupDescription, rows: list[Progress], members: bool, as_json: bool, header: bool
) -> None:
    if as_json:
        group_rows.print_json(group, rows)
    elif interactive(sys.stdout):
        (group_rows.print_members if members else group_rows.print_progress)(group, rows)
    elif members:
        group_rows.print_member_lines(group, header)
    else:
        group_rows.print_progress_lines(group, rows, header)


@groups.command(epilog="Example: kafkatx groups delete billing -t orders --yes")
@names_argument("names", "--group", metavar="GROUP...", nargs=-1, required=True)
@scope_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--offsets-only", is_flag=True, hidden=True)
@refused({"--all-groups": "name the groups; `kafkatx groups list` lists them"})
@cluster_options
def delete(
    names: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    yes: bool,
    offsets_only: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Delete groups, or their offsets in a topic.

    Without --topic groups are deleted with all their offsets.

    A group must not have members; for --topic, none that reads it. Exit code 1: a group is left.
    """
    wanted = parse_scope(topics, partitions)
    if offsets_only and not wanted:
        raise click.UsageError("--delete-offsets: give --topic, too")
    what = "the offsets in " + ", ".join(topics) + " of groups " if topics else "groups "
    confirm(f"Delete {what}{', '.join(names)}?", yes)
    left = 0
    with connect(bootstrap, timeout) as cluster:
        for name in names:
            try:
                say(_delete_one(cluster, name, wanted))
            except RequestError as error:  # one group's; other errors end the command
                left += 1
                say(f"kafkatx: {error}")
    return FAILED if left else 0


def _delete_one(cluster: Cluster, name: str, wanted: dict[str, set[int]]) -> str:
    """Delete one group, or its offsets in *wanted*; return a line about it."""
    from kafkatx.blocking.admin.groups import Groups

    found = Groups(cluster)
    if not wanted:
        found.delete(name)
        return f"deleted group {name}"
    gone = [
        at
        for at in found.offsets(name)
        if at.topic in wanted and at.partition in (wanted[at.topic] or {at.partition})
    ]
    if not gone:
        return f"group {name} has no offsets there"
    found.delete_offsets(name, gone)
    return f"deleted the offsets of group {name} in {group_rows.partitions_text(gone)}"
