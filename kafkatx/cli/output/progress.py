"""A progress bar on stderr. rich is imported when the first one is drawn."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import interactive
from kafkatx.names import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""Work that takes less time shows no progress bar."""


class ProgressBar:
    """A bar on stderr for work that takes longer than PATIENCE_S; nothing unless stderr is a terminal.

    A context manager. It has no thread: calls of :meth:`advance` and :meth:`reach` redraw it, at most ten
    times a second.

    :param total: the amount of work, None if it is not known; in bytes if *in_bytes*.
    :param enabled: None draws if stderr is a terminal.
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
        """Add *amount* to the work that is done."""
        self.reach(self._done + amount, self._total)

    def reach(self, done: float, total: float | None) -> None:
        """Set how much work is done, and how much there is in all."""
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
