"""stdout and stderr: lines, tables, JSON, and what only a person at a terminal gets.

Names, settings, errors and records are chosen by others. They reach the terminal only through the functions
here, which escape what it would take for commands (:func:`kafkatx.names.printable`).
"""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING

import click

from kafkatx.cli.output.table import fold, heading, layout
from kafkatx.names import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSAFE_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_UNSAFE_BYTES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f-\xff]")
_WIDTH, _HEIGHT = 80, 24


def interactive(stream: IO[str] | IO[bytes]) -> bool:
    """Return True if *stream* is a terminal."""
    return stream.isatty()


def say(text: str) -> None:
    """Print a line on stderr."""
    click.echo(printable(text), err=True)


def hint(text: str) -> None:
    """Print a line on stderr if that is a terminal: advice for a person, noise for a program."""
    if interactive(sys.stderr):
        say(text)


def show(text: str) -> None:
    """Print a line on stdout."""
    click.echo(printable(text))


def show_folded(text: str) -> None:
    """Print text on stdout, in lines that fit into the terminal and break between words."""
    for line in fold(printable(text), _width()):
        click.echo(line)


def _width() -> int:
    return shutil.get_terminal_size((_WIDTH, _HEIGHT)).columns


def confirm(question: str, yes: bool) -> None:
    """Ask *question* on stderr, unless *yes* has answered it.

    :raises click.Abort: the answer is no.
    :raises click.UsageError: standard input is not a terminal.
    """
    if yes:
        return
    if not interactive(sys.stdin):
        raise click.UsageError("standard input is not a terminal: give --yes to confirm")
    click.confirm(printable(question), abort=True, err=True)


def ask_password(question: str) -> str | None:
    """Ask for a password on stderr, without showing it; None if standard input is not a terminal."""
    if not interactive(sys.stdin):
        return None
    given: str = click.prompt(printable(question), hide_input=True, default="", show_default=False, err=True)
    return given


def show_json(fields: Mapping[str, object], compact: bool = False) -> None:
    """Print an object of JSON as a line on stdout; *compact* is without spaces."""
    separators = (",", ":") if compact else None
    click.echo(json_escaped(json.dumps(fields, ensure_ascii=False, separators=separators)))


def json_escaped(text: str) -> str:
    """Escape those characters of JSON, too, that JSON itself allows and terminals obey."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return the member of a JSON object for bytes: as text, or as ``NAME_base64`` if they are not UTF-8."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def readable(data: bytes) -> bytes:
    """Return bytes of a record as a terminal may get them: :func:`printable` but for newlines and tabs."""
    if _UNSAFE_BYTES.search(data) is None:
        return data
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines).encode()


def readable_line(data: bytes) -> bytes:
    """Return bytes of a record as :func:`readable` does, on one line and without tabs."""
    return printable(data.decode("utf-8", "surrogateescape")).encode()


def stdout_bytes() -> IO[bytes]:
    """Return stdout for bytes. Each write is complete.

    If Python is told not to buffer (PYTHONUNBUFFERED, as in containers) ``sys.stdout.buffer`` is the bare
    descriptor, and a signal can cut a write to it short without an error.
    """
    out = sys.stdout.buffer
    return open(out.fileno(), "wb", closefd=False) if isinstance(out, io.RawIOBase) else out


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Draw a table on stdout, as wide as the terminal at most.

    :param columns: names, with the endings of :mod:`kafkatx.cli.output.table`: ``#`` for numbers, ``!`` for
        text that is not wrapped, ``|`` for a bar.
    """
    if title is not None:
        show_folded(title)
    texts = [[printable(str(cell)) for cell in row] for row in rows]
    for line in layout(columns, texts, _width(), lambda text: click.style(text, bold=True)):
        click.echo(line)


def print_rows(rows: Iterable[Sequence[object]], columns: Sequence[str] = ()) -> None:
    """Print rows for another program, with tabs between the fields.

    :param columns: printed as the first line, if there are any; as for :func:`print_table`.
    """
    if columns:
        show_line([heading(column).replace(" ", "_") for column in columns])
    for row in rows:
        show_line(row)


def show_line(fields: Sequence[object]) -> None:
    """Print one row for another program."""
    print(*(printable(str(field)) for field in fields), sep="\t")  # noqa: T201  # stdout is what the command is for
