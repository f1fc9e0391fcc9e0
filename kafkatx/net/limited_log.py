"""Log lines that clients can cause: a limited number of each kind per minute, then their count."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

MOST_LINES = 10
"""The default of kafkatx.log.lines.per.minute."""

WINDOW_S = 60.0


@attrs.define
class _Window:
    ends_s: float
    lines: int = 0
    left_out: int = 0


class LimitedLog:
    """A logger that writes a limited number of lines of a kind in ``WINDOW_S``.

    Lines of one kind have one format. At the end of the window one more line says how many were left out.
    """

    def __init__(self, log: Logger, clock: IReactorTime, most_lines: int = MOST_LINES) -> None:
        self._log = log
        self._most_lines = most_lines
        self._clock = clock
        self._windows: dict[str, _Window] = {}

    def info(self, format: str, **values: object) -> None:
        """Write a line at level info."""
        if self._may_write(format, is_info=True):
            self._log.info(format, **values)

    def warn(self, format: str, **values: object) -> None:
        """Write a warning."""
        if self._may_write(format):
            self._log.warn(format, **values)

    def failure(self, format: str, failure: Failure | None = None, **values: Any) -> None:
        """Write a failure with its traceback; the current exception where none is given."""
        if self._may_write(format):
            self._log.failure(format, failure, **values)

    def _may_write(self, format: str, is_info: bool = False) -> bool:
        now_s = self._clock.seconds()
        window = self._windows.get(format)
        if window is None or (now_s >= window.ends_s and not window.left_out):
            window = self._windows[format] = _Window(now_s + WINDOW_S)
        if window.lines < self._most_lines:
            window.lines += 1
            return True
        if not window.left_out:
            self._clock.callLater(max(0.0, window.ends_s - now_s), self._end, format, is_info)
        window.left_out += 1
        return False

    def _end(self, format: str, is_info: bool) -> None:
        window = self._windows.pop(format)
        write = self._log.info if is_info else self._log.warn
        write(
            "{count} more lines like this one were left out within {seconds:.0f} s: {kind}",
            count=window.left_out,
            seconds=WINDOW_S,
            kind=format,
        )
