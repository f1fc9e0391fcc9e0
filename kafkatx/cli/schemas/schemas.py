"""``kafkatx schemas``: list, show, register, check, compare and delete the schemas of a registry."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, group_options
from kafkatx.cli.options.kafka_names import Commands
from kafkatx.cli.options.list_format import json_option, listing_options
from kafkatx.cli.options.registry import (
    open_registry,
    read_schema,
    references_option,
    registry_option,
    type_option,
)
from kafkatx.cli.output.terminal import confirm, show, show_json
from kafkatx.cli.schemas.rows import pretty, print_subjects, schema_fields

if TYPE_CHECKING:
    from kafkatx.blocking.registry import BlockingRegistry
    from kafkatx.clientcore.registry.replies import RegisteredSchema

INCOMPATIBLE = 1
LEVELS = (
    *("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE"),
    *("FULL", "FULL_TRANSITIVE"),
)


@click.group(
    cls=Commands,
    epilog="""\b
Examples:
  kafkatx schemas list
  kafkatx schemas register orders-value order.avsc
  kafkatx schemas check orders-value order2.avsc
""",
)
@group_options()
def schemas() -> None:
    """Show, check and change the schemas of a registry."""


@schemas.command("list", epilog="Example: kafkatx schemas list orders-")
@click.argument("prefix", default="")
@click.option("--deleted", is_flag=True, help="List deleted subjects, too.")
@listing_options
@registry_option
@cluster_options
def list_subjects(
    prefix: str, deleted: bool, as_json: bool, header: bool, registry: str, bootstrap: str, timeout: float
) -> None:
    """List subjects, those whose names begin with PREFIX.

    The latest version of each is listed, with its id.

    \b
    Into a pipe, a line for each subject, with tabs between the fields:
      subject version id type
    """
    from kafkatx.clientcore.registry import requests

    with open_registry(registry, timeout) as client:
        names = [name for name in client.send(requests.subjects(prefix, deleted)) if name.startswith(prefix)]
        print_subjects((_latest(client, name, deleted) for name in names), as_json, header)


def _latest(client: BlockingRegistry, subject: str, deleted: bool) -> RegisteredSchema:
    from kafkatx.clientcore.registry import requests

    if not deleted:
        return client.send(requests.schema_version(subject))
    return client.send(
        requests.schema_version(subject, client.send(requests.versions(subject, True))[-1], True)
    )


@schemas.command("show", epilog="Example: kafkatx schemas show orders-value --version 2")
@click.argument("name", metavar="SUBJECT|ID")
@click.option("--version", type=click.IntRange(min=1), help="Version of the subject; by default the latest.")
@json_option
@registry_option
@cluster_options
def show_schema(
    name: str, version: int | None, as_json: bool, registry: str, bootstrap: str, timeout: float
) -> None:
    """Print a schema, by its subject or its id."""
    with open_registry(registry, timeout) as client:
        found = _found(client, name, version)
    if as_json:
        show_json(schema_fields(found))
        return
    for line in pretty(found.schema).splitlines():
        show(line)


def _found(client: BlockingRegistry, name: str, version: int | None) -> RegisteredSchema:
    from kafkatx.clientcore.registry import requests

    if name.isascii() and name.isdigit() and version is None:
        return client.send(requests.schema_by_id(int(name)))
    return client.send(requests.schema_version(name, version or requests.LATEST))


@schemas.command(
    epilog="""\b
Examples:
  kafkatx schemas register orders-value order.avsc
  kafkatx schemas register orders-value order.proto --reference item.proto=item:1
"""
)
@click.argument("subject")
@click.argument("file")
@type_option
@references_option
@click.option("--normalize", is_flag=True, help="Store the normal form of the schema.")
@json_option
@registry_option
@cluster_options
def register(
    subject: str,
    file: str,
    kind: str | None,
    references: tuple[str, ...],
    normalize: bool,
    as_json: bool,
    registry: str,
    bootstrap: str,
    timeout: float,
) -> None:
    """Register the schema in FILE under SUBJECT.

    FILE may be - for standard input. The id and the version are printed.
    """
    from kafkatx.clientcore.registry import requests

    schema = read_schema(file, kind, references)
    with open_registry(registry, timeout) as client:
        number = client.send(requests.register(subject, schema, normalize)).id
        placed = client.send(requests.look_up(subject, schema, normalize))
    if as_json:
        show_json({"subject": subject, "version": placed.version, "id": number})
    else:
        show(f"{subject} version {placed.version}, id {number}")


@schemas.command(epilog="Example: kafkatx schemas check orders-value order2.avsc")
@click.argument("subject")
@click.argument("file")
@type_option
@references_option
@click.option("--version", type=click.IntRange(min=1), help="Version to compare with; by default the latest.")
@click.option("--all", "every", is_flag=True, help="Compare with all versions that the level names.")
@json_option
@registry_option
@cluster_options
def check(
    subject: str,
    file: str,
    kind: str | None,
    references: tuple[str, ...],
    version: int | None,
    every: bool,
    as_json: bool,
    registry: str,
    bootstrap: str,
    timeout: float,
) -> int:
    """Check a schema against SUBJECT's versions.

    The exit code is 1 if the schema in FILE may not become the next version.
    """
    from kafkatx.clientcore.registry import requests

    if every and version is not None:
        raise click.UsageError("--all and --version exclude each other")
    schema = read_schema(file, kind, references)
    with open_registry(registry, timeout) as client:
        verdict = client.send(requests.check(subject, schema, None if every else version or requests.LATEST))
    if as_json:
        show_json({"subject": subject, "compatible": verdict.compatible, "messages": list(verdict.messages)})
    else:
        show("compatible" if verdict.compatible else "incompatible")
        for message in verdict.messages:
            show(f"  {message}")
    return 0 if verdict.compatible else INCOMPATIBLE


@schemas.command(epilog="Example: kafkatx schemas diff orders-value 1 2")
@click.argument("subject")
@click.argument("old", metavar="[VERSION", type=click.IntRange(min=1), required=False)
@click.argument("new", metavar="[VERSION]]", type=click.IntRange(min=1), required=False)
@registry_option
@cluster_options
def diff(
    subject: str, old: int | None, new: int | None, registry: str, bootstrap: str, timeout: float
) -> None:
    """Print what differs between two versions of SUBJECT.

    By default the last two are compared.
    """
    from kafkatx.clientcore.registry import requests

    with open_registry(registry, timeout) as client:
        versions = client.send(requests.versions(subject))
        after = new or versions[-1]
        before = old or next((each for each in reversed(versions) if each < after), after)
        texts = [
            pretty(client.send(requests.schema_version(subject, version)).schema).splitlines()
            for version in (before, after)
        ]
    names = f"{subject} {before}", f"{subject} {after}"
    _show_lines(difflib.unified_diff(texts[0], texts[1], *names, lineterm=""))


def _show_lines(lines: Iterable[str]) -> None:
    for line in lines:
        show(line)


@schemas.command(epilog="Example: kafkatx schemas delete orders-value --version 2 --yes")
@click.argument("subject")
@click.option("--version", type=click.IntRange(min=1), help="Version to delete; by default all.")
@click.option("--permanent", is_flag=True, help="Delete for good what was deleted before.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@registry_option
@cluster_options
def delete(
    subject: str,
    version: int | None,
    permanent: bool,
    yes: bool,
    as_json: bool,
    registry: str,
    bootstrap: str,
    timeout: float,
) -> None:
    """Delete a subject, or one version of it.

    Messages stay readable, unless it is permanent.
    """
    from kafkatx.clientcore.registry import requests

    what = subject if version is None else f"{subject} version {version}"
    confirm(f"Delete {what}{' for good' if permanent else ''}?", yes)
    with open_registry(registry, timeout) as client:
        if version is None:
            gone = client.send(requests.delete_subject(subject, permanent))
        else:
            gone = client.send(requests.delete_version(subject, version, permanent))
    if as_json:
        show_json({"subject": subject, "versions": gone})
    else:
        show(f"deleted {subject}: {', '.join(map(str, gone))}")


@schemas.command(epilog="Example: kafkatx schemas config orders-value --set FULL")
@click.argument("subject", required=False)
@click.option("--set", "level", type=click.Choice(LEVELS, case_sensitive=False), help="Level to set.")
@click.option("--unset", is_flag=True, help="Delete the subject's level: the global one counts again.")
@json_option
@registry_option
@cluster_options
def config(
    subject: str | None,
    level: str | None,
    unset: bool,
    as_json: bool,
    registry: str,
    bootstrap: str,
    timeout: float,
) -> None:
    """Show or change the compatibility level.

    It is that of SUBJECT, or the global one.
    """
    from kafkatx.clientcore.registry import requests

    if level is not None and unset:
        raise click.UsageError("--set and --unset exclude each other")
    with open_registry(registry, timeout) as client:
        if level is not None:
            client.send(requests.set_compatibility(level.upper(), subject))
        elif unset:
            client.send(requests.delete_compatibility(subject))
        found = client.send(requests.compatibility(subject))
    if as_json:
        show_json({"subject": subject, "compatibility": found})
    else:
        show(found)
