"""``kafkatx groups``: list, describe, delete, reset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kafkatx.cli.groups import rows as group_rows
from kafkatx.cli.groups.reset import reset
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.scope import parse_scope, scope_options
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, say, show_json
from kafkatx.errors import RequestError
from kafkatx.names import printable

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.group_description import GroupDescription
    from kafkatx.clientcore.admin.groups import GroupListing
    from kafkatx.clientcore.admin.lag import Progress

FAILED = 1


@click.group()
def groups() -> None:
    """List, describe and delete consumer groups; set their offsets."""


groups.add_command(reset)


@groups.command("list")
@click.option("-s", "--state", "states", multiple=True, help="Only groups in this state; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@cluster_options
def list_command(states: tuple[str, ...], as_json: bool, bootstrap: str, timeout: float) -> None:
    """List the groups.

    A line a group if the output is not a terminal: name, state, type, protocol type, divided by tabs.
    """
    from kafkatx.blocking.admin.groups import Groups

    with connect(bootstrap, timeout) as cluster:
        wanted = {state.casefold() for state in states}
        found = [g for g in Groups(cluster).listings() if not wanted or g.state.casefold() in wanted]
    if as_json:
        for group in found:
            names = ("group", "state", "type", "protocol_type")
            fields = dict(zip(names, _columns(group, ""), strict=True))
            show_json(fields)
    elif interactive(sys.stdout):
        print_table(["group", "state", "type", "protocol"], [_columns(group, "") for group in found])
    else:
        print_rows(_columns(group, group_rows.NONE) for group in found)


def _columns(group: GroupListing, none: str) -> tuple[str, ...]:
    return (group.group_id, group.state or none, group.type, group.protocol_type or none)


@groups.command()
@click.argument("names", metavar="GROUP...", nargs=-1)
@click.option("-a", "--all", "every", is_flag=True, help="All groups.")
@click.option("-m", "--members", is_flag=True, help="The members in place of the partitions.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a group, with everything.")
@cluster_options
def describe(
    names: tuple[str, ...], every: bool, members: bool, as_json: bool, bootstrap: str, timeout: float
) -> None:
    """Show how far groups have come, partition by partition, and who reads what.

    \b
    If the output is not a terminal, a line a partition, divided by tabs (- is none):
      group topic partition committed end lag member-id host client-id
    and with --members a line a member:
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
                _print_group(group, progress(cluster, group), members, as_json)
            elif not every:  # a listed one was deleted meanwhile, or is of a type that has no offsets
                raise UnknownGroup(name)


def _print_group(group: GroupDescription, rows: list[Progress], members: bool, as_json: bool) -> None:
    if as_json:
        group_rows.print_json(group, rows)
    elif interactive(sys.stdout):
        (group_rows.print_members if members else group_rows.print_progress)(group, rows)
    elif members:
        group_rows.print_member_lines(group)
    else:
        group_rows.print_progress_lines(group, rows)


@groups.command()
@click.argument("names", metavar="GROUP...", nargs=-1, required=True)
@scope_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@cluster_options
def delete(
    names: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    yes: bool,
    bootstrap: str,
    timeout: float,
) -> int:
    """Delete groups with all their offsets; with --topic only the offsets for that.

    A group must have no members; for --topic, none that reads it. Exit code 1: a group is left.
    """
    wanted = parse_scope(topics, partitions)
    what = "the offsets in " + ", ".join(topics) + " of groups " if topics else "groups "
    if not yes:
        if not interactive(sys.stdin):
            raise click.UsageError("nobody can be asked here: give --yes")
        click.confirm(printable(f"Delete {what}{', '.join(names)}?"), abort=True, err=True)
    left = 0
    with connect(bootstrap, timeout) as cluster:
        for name in names:
            try:
                say(_delete_one(cluster, name, wanted))
            except RequestError as error:  # one group's; what keeps us from all of them ends the command
                left += 1
                say(f"kafkatx: {error}")
    return FAILED if left else 0


def _delete_one(cluster: Cluster, name: str, wanted: dict[str, set[int]]) -> str:
    """Delete one group or what is wanted of it; tell what was done."""
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
