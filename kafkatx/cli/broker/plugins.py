"""``kafkatx plugins``: the parts that are installed, and the settings that choose them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from kafkatx.cli.output.terminal import interactive, print_rows, print_table

if TYPE_CHECKING:
    from kafkatx.extension import IExtension


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
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_command(as_json: bool) -> None:
    """List the installed plugins by the interface that they provide.

    Each is imported; the last column says why one cannot be. The exit status is 1 then.
    """
    rows = _rows()
    if as_json:
        for row in rows:
            click.echo(json.dumps(row._asdict()))
    elif interactive(sys.stdout):
        print_table(("interface", "name", "factory", "what it does", "problem"), rows)
    else:
        print_rows(rows)
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
    except Exception as error:  # a third party's module may raise anything
        problem = f"cannot be imported: {described(error)}"
    return _Row(found.provides.__name__, found.name, found.factory, found.doc, problem)
