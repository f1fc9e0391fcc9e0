"""stdout, and what people see: lines, tables and progress bars. rich is imported when the first is drawn.

Names, settings, errors and records are chosen by others. They reach the terminal through the functions here
only, which escape what it would take for commands (:func:`kafkatx.names.printable`), and never as markup.
"""

from __future__ import annotations

import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from kafkatx.names import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""Work that is done sooner shows no progress bar."""

_UNSAFE_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_UNSAFE_BYTES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f-\xff]")


def interactive(stream: IO[Any]) -> bool:
    """Whether a person looks at this stream."""
    return stream.isatty()


def say(text: str) -> None:
    """Print a line on stderr."""
    click.echo(printable(text), err=True)


def show(text: str) -> None:
    """Print a line on stdout."""
    click.echo(printable(text))


def show_json(fields: Any, compact: bool = False) -> None:
    """Print an object of JSON as a line on stdout; *compact* is without spaces."""
    separators = (",", ":") if compact else None
    click.echo(json_escaped(json.dumps(fields, ensure_ascii=False, separators=separators)))


def json_escaped(text: str) -> str:
    """JSON with escapes for those characters too that JSON itself allows and terminals obey."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def readable(data: bytes) -> bytes:
    """Bytes of a record as a terminal may get them: :func:`printable` but for newlines and tabs."""
    if _UNSAFE_BYTES.search(data) is None:
        return data
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines).encode()


def readable_line(data: bytes) -> bytes:
    """As :func:`readable`, on one line and without tabs."""
    return printable(data.decode("utf-8", "surrogateescape")).encode()


def stdout_bytes() -> IO[bytes]:
    """stdout for bytes. What is written to it is written whole.

    Where Python is told not to buffer (PYTHONUNBUFFERED: in containers, say) ``sys.stdout.buffer`` is the
    bare descriptor, and a signal that is taken meanwhile cuts a write to it short without an error.
    """
    out = sys.stdout.buffer
    return open(out.fileno(), "wb", closefd=False) if isinstance(out, io.RawIOBase) else out


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Draw a table on stdout; columns whose names end in ``#`` hold numbers, without the ``#``."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heading = None if title is None else Text(printable(title))
    table = Table(title=heading, title_justify="left", box=SIMPLE_HEAD)
    for column in columns:
        name = column.removesuffix("#")
        table.add_column(name, justify="left" if name == column else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    Console(file=sys.stdout).print(table)


def print_rows(rows: Iterable[Sequence[object]]) -> None:
    """Print rows for another program: fields divided by tabs, nothing else."""
    for row in rows:
        print(*(printable(str(cell)) for cell in row), sep="\t")  # noqa: T201  # stdout is what the command is for


class ProgressBar:
    """A bar on stderr for work that lasts; nothing at all unless stderr is a terminal.

    A context manager. There is no thread: it moves when :meth:`advance` is called, at most ten times a
    second.

    :param total: how much there is to do, None if nobody knows; in bytes if *in_bytes*.
    """

    REFRESH_S = 0.1

    def __init__(
        self,
        what: str,
        total: float | None,
        *,
        in_bytes: bool = False,
        clock: Callable[[], float] = time.monotonic,
        enabled: bool | None = None,
    ) -> None:
        self._what = printable(what)
        self._total = total
        self._in_bytes = in_bytes
        self._clock = clock
        self._enabled = interactive(sys.stderr) if enabled is None else enabled
        self._done = 0.0
        self._next = clock() + PATIENCE_S
        self._drawn: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._drawn is not None:
            progress, task = self._drawn
            progress.update(task, completed=self._done)
            progress.stop()

    def advance(self, amount: float) -> None:
        """So much more is done."""
        self.reach(self._done + amount, self._total)

    def reach(self, done: float, total: float | None) -> None:
        """So much is done by now, of what may have become more."""
        self._done, self._total = done, total
        if not self._enabled or self._clock() < self._next:
            return
        self._next = self._clock() + self.REFRESH_S
        if self._drawn is None:
            self._drawn = self._draw()
        progress, task = self._drawn
        progress.update(task, completed=self._done, total=self._total)
        progress.refresh()

    def _draw(self) -> tuple[Progress, TaskID]:
        from rich import progress as bars
        from rich.console import Console

        amount: tuple[bars.ProgressColumn, ...]
        if self._in_bytes:
            amount = (bars.DownloadColumn(), bars.TransferSpeedColumn())
        else:
            amount = (bars.MofNCompleteColumn(),)
        drawn = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            *amount,
            bars.TimeRemainingColumn(),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        drawn.start()
        return drawn, drawn.add_task(self._what, total=self._total)
