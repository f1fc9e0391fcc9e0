"""Options of commands that list something: the form of the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])


def json_option(command: F) -> F:
    """Add ``--json``, passed as *as_json*."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")(command)


def listing_options(command: F) -> F:
    """Add ``--json`` and ``--header``, passed as *as_json* and *header*."""
    header = click.option(
        "--header", is_flag=True, help="Print the names of the columns first, also into a pipe."
    )
    return json_option(header(command))
