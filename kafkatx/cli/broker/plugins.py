"""``kafkatx plugins``: list the installed plugins, with errors of those that cannot be imported."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import interactive, print_rows, print_table

if TYPE_CHECKING:
    from kafkatx.extension import IExtension

COLUMNS = ("interface", "name", "factory", "description", "problem")


class _Row(NamedTuple):
    interface: str
    name: str
    factory: str
    doc: str
    problem: str


@click.group()
def plugins() -> None:
    """Show the installed plugins."""


@plugins.command("list")
@listing_options
def list_command(as_json: bool, header: bool) -> None:
    """List the installed plugins by the interface that they provide.

    Each is imported. If one cannot be imported, the last column has the error, and the exit status is 1.
    """
    rows = _rows()
    if as_json:
        for row in rows:
            click.echo(json.dumps(row._asdict()))
    elif interactive(sys.stdout):
        print_table(COLUMNS, rows)
    else:
        print_rows(rows, COLUMNS if header else ())
    if any(row.problem for row in rows):
        raise click.exceptions.Exit(1)


def _rows() -> list[_Row]:
    from twisted.plugin import getPlugins

    from kafkatx import plugins as package
    from kafkatx.extension import IExtension

    return sorted(_row(found) for found in getPlugins(IExtension, package))


def _row(found: IExtension) -> _Row:
    from kafkatx.extension import described

    problem = ""
    try:
        found.load()
    except Exception as error:  # a module may raise anything
        problem = f"cannot be imported: {described(error)}"
    return _Row(found.provides.__name__, found.name, found.factory, found.doc, problem)
