"""``kafkatx acls``: list, add, remove."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import click

from kafkatx.cli.acls.kafka_options import given, kafka_options
from kafkatx.cli.acls.names import operations, pattern_options, principal, resource
from kafkatx.cli.options.cluster import cluster_options, connect, group_options
from kafkatx.cli.options.kafka_names import Commands, Option, accepted
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import confirm, hint, interactive, print_rows, print_table, say, show_json
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.acls import AclBinding
    from kafkatx.blocking import Cluster
    from kafkatx.security.acl.filters import AclFilter

MOST_AT_ONCE = 1000
"""The most ACLs in one request."""
COLUMNS = ("principal", "host", "permission", "operation", "pattern", "resource")


@click.group(
    cls=Commands,
    actions={"--list": "list", "--add": "add", "--remove": "remove"},
    epilog="""\b
Examples:
  kafkatx acls add alice read,describe topic:orders
  kafkatx acls add alice write topic:orders- --prefixed
  kafkatx acls list topic:orders-1
  kafkatx acls remove --principal alice --dry-run
""",
)
@group_options()
def acls() -> None:
    """List, add and remove access control lists."""


@acls.command("list", epilog="Example: kafkatx acls list topic:orders --principal alice")
@click.argument("resource_name", metavar="[TYPE:NAME]", required=False)
@click.option(
    "--principal",
    "whose",
    metavar="NAME",
    multiple=True,
    help="Principal of the ACLs: alice, or User:*; repeatable.",
)
@kafka_options
@listing_options
@cluster_options
def list_command(
    resource_name: str | None,
    whose: tuple[str, ...],
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """List ACLs: all, or those that are about a resource.

    TYPE is topic, group, transactional-id, or cluster, which has no name. Those of prefixes and of * are
    listed as well.

    \b
    Into a pipe, a line for each, tabs between fields:
      principal host permission operation pattern-type type:name
    """
    wanted = _listed(resource_name, whose)
    with connect(bootstrap, timeout) as cluster:
        found = _described(cluster, wanted)
    print_acls(found, as_json, header)
    if not found:
        hint("there are no such ACLs" if resource_name or whose else "there are no ACLs")


def _listed(resource_name: str | None, whose: Sequence[str]) -> list[AclFilter]:
    from kafkatx.acls import PatternType
    from kafkatx.security.acl.filters import AclFilter

    options = given()
    if options is not None:
        _check_alone(resource_name)
        return options.filters((), whose)
    names: list[str | None] = [principal(name) for name in whose]
    if resource_name is None:
        return [AclFilter(principal=name) for name in names or [None]]
    pattern = resource(resource_name)
    return [
        AclFilter(pattern.resource_type, pattern.name, PatternType.MATCH, name) for name in names or [None]
    ]


def _described(cluster: Cluster, wanted: Sequence[AclFilter]) -> list[AclBinding]:
    """Return the ACLs that match one of the filters, in order."""
    from kafkatx.blocking.admin.acls import Acls

    return sorted({one for each in wanted for one in Acls(cluster).describe(each)})


def _check_alone(*arguments: object) -> None:
    """Refuse arguments beside options of ``kafka-acls.sh``, which say the same."""
    if any(arguments):
        raise click.UsageError("give either arguments or the options of kafka-acls.sh")


@acls.command(
    epilog="""\b
Examples:
  kafkatx acls add alice read,describe topic:orders
  kafkatx acls add alice read group:billing
  kafkatx acls add 'User:*' all topic:secret- --prefixed --deny
  kafkatx acls add --from learned-acls.txt --dry-run
"""
)
@click.argument("whose", metavar="[PRINCIPAL", required=False)
@click.argument("what", metavar="OPERATION,...", required=False)
@click.argument("resource_name", metavar="TYPE:NAME]", required=False)
@pattern_options
@click.option(
    "--from",
    "path",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="File with an ACL a line: User:alice read topic:orders, as the authorizer learn writes it.",
)
@click.option("--dry-run", is_flag=True, help="Show the ACLs only.")
@click.option("--operation", "whats", multiple=True, hidden=True)
@kafka_options
@accepted("--force")
@cluster_options
def add(
    whose: str | None,
    what: str | None,
    resource_name: str | None,
    prefixed: bool,
    host: str | None,
    deny: bool,
    path: str | None,
    dry_run: bool,
    whats: tuple[str, ...],
    bootstrap: str,
    timeout: float,
) -> None:
    """Allow a principal operations on a resource, or deny them.

    OPERATION is read, write, create, delete, alter, describe, describe-configs, alter-configs,
    cluster-action, idempotent-write or all.
    """
    from kafkatx.blocking.admin.acls import Acls

    options = given()
    if options is not None:
        _check_alone(whose, path, prefixed, host, deny)
        added = options.bindings(whats)
    elif path is not None:
        if whose is not None:
            raise click.UsageError("give either one ACL or --from FILE")
        with click.open_file(path, encoding="utf-8") as file:
            added = _from_lines(file.read())
    elif whose is None or what is None or resource_name is None:
        raise click.UsageError("give PRINCIPAL OPERATION,... TYPE:NAME, or --from FILE")
    else:
        added = _made(whose, what, resource_name, prefixed, host, deny)
    print_acls(added)
    if dry_run:
        say("nothing was added")
        return
    with connect(bootstrap, timeout) as cluster:
        for first in range(0, len(added), MOST_AT_ONCE):
            Acls(cluster).create(added[first : first + MOST_AT_ONCE])
    say(f"{counted(len(added), 'ACL')} added")


def _from_lines(text: str) -> list[AclBinding]:
    from kafkatx.security.acl.lines import parse_lines

    return parse_lines(text.splitlines())


def _made(
    whose: str, what: str, resource_name: str, prefixed: bool, host: str | None, deny: bool
) -> list[AclBinding]:
    from kafkatx.acls import AccessControlEntry, AclBinding, AclPermission, PatternType

    pattern = resource(resource_name, PatternType.PREFIXED if prefixed else PatternType.LITERAL)
    permission = AclPermission.DENY if deny else AclPermission.ALLOW
    return [
        AclBinding(pattern, AccessControlEntry(principal(whose), host or "*", operation, permission))
        for operation in operations(what)
    ]


@acls.command(
    epilog="""\b
Examples:
  kafkatx acls remove topic:orders --dry-run
  kafkatx acls remove topic:orders --principal alice --operation read --yes
"""
)
@click.argument("resource_name", metavar="[TYPE:NAME]", required=False)
@click.option(
    "--principal", "whose", metavar="NAME", multiple=True, help="Principal of the ACLs; repeatable."
)
@click.option(
    "--operation", "what", metavar="OPERATION", multiple=True, help="Operation of the ACLs; repeatable."
)
@pattern_options
@click.option("--dry-run", is_flag=True, help="Show the ACLs that would be removed.")
@click.option(
    "-y", "--yes", cls=Option, aliases=["--force"], is_flag=True, help="Do not ask for confirmation."
)
@kafka_options
@cluster_options
def remove(
    resource_name: str | None,
    whose: tuple[str, ...],
    what: tuple[str, ...],
    prefixed: bool,
    host: str | None,
    deny: bool,
    dry_run: bool,
    yes: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Remove the ACLs that have all that is given.

    Others than those that are shown stay. A resource is the one of exactly this name; topic:* is the pattern
    for all topics, and no others. Without --prefixed the ACLs of a prefix stay.
    """
    from kafkatx.blocking.admin.acls import Acls
    from kafkatx.clientcore.admin.security.acls import exactly

    wanted = _removed(resource_name, whose, what, prefixed, host, deny)
    with connect(bootstrap, timeout) as cluster:
        found = _described(cluster, wanted)
        print_acls(found)
        if not found or dry_run:
            say(
                f"nothing was removed; {counted(len(found), 'ACL')} would be"
                if found
                else "there are no such ACLs"
            )
            return
        confirm(f"Remove {counted(len(found), 'ACL')}?", yes)
        removed: list[AclBinding] = []
        for first in range(0, len(found), MOST_AT_ONCE):
            removed += Acls(cluster).delete(map(exactly, found[first : first + MOST_AT_ONCE]))
    say(f"{counted(len(removed), 'ACL')} removed")


def _removed(
    resource_name: str | None,
    whose: Sequence[str],
    what: Sequence[str],
    prefixed: bool,
    host: str | None,
    deny: bool,
) -> list[AclFilter]:
    from kafkatx.acls import AclOperation, AclPermission, PatternType, ResourceType
    from kafkatx.security.acl.filters import AclFilter

    options = given()
    if options is not None:
        _check_alone(resource_name, prefixed, host, deny)
        if not any(options.resources()):
            raise click.UsageError("name a resource: --topic, --group, --cluster or --transactional-id")
        return options.filters(what, whose)
    if resource_name is None and not whose:
        raise click.UsageError("give TYPE:NAME or --principal")
    pattern = None if resource_name is None else resource(resource_name)
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    chosen = [one for text in what for one in operations(text)] or [AclOperation.ANY]
    names: list[str | None] = [principal(name) for name in whose]
    return [
        AclFilter(
            ResourceType.ANY if pattern is None else pattern.resource_type,
            None if pattern is None else pattern.name,
            PatternType.ANY if pattern is None and not prefixed else pattern_type,
            name,
            host,
            operation,
            AclPermission.DENY if deny else AclPermission.ANY,
        )
        for name, operation in product(names or [None], chosen)
    ]


def print_acls(found: Sequence[AclBinding], as_json: bool = False, header: bool = False) -> None:
    """Print ACLs: as a table, as lines, or as JSON."""
    from kafkatx.acls import enum_text

    rows = [
        (
            entry.principal,
            entry.host,
            enum_text(entry.permission),
            enum_text(entry.operation),
            enum_text(pattern.pattern_type),
            f"{enum_text(pattern.resource_type)}:{pattern.name}",
        )
        for pattern, entry in found
    ]
    if as_json:
        for row in rows:
            show_json(dict(zip(COLUMNS, row, strict=True)))
    elif not interactive(sys.stdout):
        print_rows(rows, COLUMNS if header else ())
    elif rows:
        print_table(COLUMNS, rows)
