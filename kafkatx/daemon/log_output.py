"""The log of ``kafkatx up``: events of Twisted's logger as lines of text or JSON on standard error.

Nothing here blocks the reactor: lines for a pipe or terminal that does not take them are dropped and counted,
and the count is logged once there is room again.
"""

from __future__ import annotations

import json
import os
import select
import stat
import threading
from collections.abc import Callable
from datetime import datetime, timezone

import attrs
from twisted.logger import (
    FilteringLogObserver,
    ILogObserver,
    LogEvent,
    LogLevel,
    LogLevelFilterPredicate,
    PredicateResult,
    formatEvent,
    globalLogBeginner,
)
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.names import printable

STDERR = 2
LEVELS = ("debug", "info", "warn", "error")
FORMATS = ("text", "json")


@attrs.frozen
class LogLine:
    """One event.

    :ivar time_s: seconds since 1970.
    :ivar failure: the traceback, or None.
    :ivar broker: the name of the broker that logs it, if there are several.
    """

    time_s: float
    level: str
    logger: str
    message: str
    failure: str | None = None
    broker: str = ""

    @property
    def time(self) -> str:
        """The time in UTC by RFC 3339, with milliseconds."""
        moment = datetime.fromtimestamp(self.time_s, timezone.utc)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line_of(event: LogEvent) -> LogLine:
    """Read an event of Twisted's logger."""
    level = event.get("log_level", LogLevel.info)
    failure = event.get("log_failure")
    traceback = failure.getTraceback() if isinstance(failure, Failure) else None
    message = formatEvent(event)
    return LogLine(
        event.get("log_time", 0.0), level.name, event.get("log_namespace", "-"), message, traceback
    )


def as_text(line: LogLine) -> str:
    """Format as ``time level message``; a traceback follows in indented lines.

    The name of one of several brokers is in front: ``[2] time level message``.
    """
    name = f"[{line.broker}] " if line.broker else ""
    rows = [f"{name}{line.time} {line.level} {printable(line.message)}"]
    if line.failure is not None:
        rows += [f"{name}    {printable(row)}" for row in line.failure.splitlines()]
    return "\n".join(rows) + "\n"


def as_json(line: LogLine) -> str:
    """Format as one JSON object: time, level, logger, message and, if there are any, broker and failure."""
    fields = {"time": line.time, "level": line.level, "logger": line.logger, "message": line.message}
    if line.broker:
        fields["broker"] = line.broker
    if line.failure is not None:
        fields["failure"] = line.failure
    return json.dumps(fields) + "\n"


class LogWriter:
    """Writes text to a descriptor without waiting for it. For any thread."""

    def __init__(self, descriptor: int = STDERR) -> None:
        self.descriptor = descriptor
        self._lock = threading.RLock()
        self._torn = False

    def write(self, text: str) -> bool:
        """Write *text*; return False if the descriptor did not take all of it."""
        data = text.encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                # A file takes everything. A pipe that is writable takes PIPE_BUF bytes at once (poll(7)).
                size = len(data) if self._is_file() else select.PIPE_BUF
                if self._torn:
                    data = b"\n" + data
                while data:
                    if not self._writable():
                        return False
                    written = os.write(self.descriptor, data[:size])
                    data = data[written:]
                    self._torn = bool(data)
            except (OSError, ValueError):
                return False
        return True

    def _is_file(self) -> bool:
        return stat.S_ISREG(os.fstat(self.descriptor).st_mode)

    def _writable(self) -> bool:
        return bool(select.select([], [self.descriptor], [], 0)[1])


@implementer(ILogObserver)
class LineObserver:
    """Writes each event as a line, and says how many lines were dropped."""

    def __init__(self, format_line: Callable[[LogLine], str], writer: LogWriter, broker: str = "") -> None:
        self._format = format_line
        self._broker = broker
        self._writer = writer
        self._dropped = 0

    def __call__(self, event: LogEvent) -> None:
        """Write one event; called in any thread."""
        line = attrs.evolve(line_of(event), broker=self._broker)
        if self._dropped:
            gap = attrs.evolve(
                line,
                level="warn",
                logger=__name__,
                message=f"{self._dropped} lines of the log were dropped: standard error did not take them",
                failure=None,
            )
            if self._writer.write(self._format(gap)):
                self._dropped = 0
        if self._dropped or not self._writer.write(self._format(line)):
            self._dropped += 1


def wanted(level: str) -> Callable[[LogEvent], object]:
    """Return a predicate for events of *level* and above; Twisted's own lines count only from warn on.

    With ``debug`` Twisted's own lines are logged as well.
    """
    lowest = LogLevelFilterPredicate(LogLevel.levelWithName(level))

    def predicate(event: LogEvent) -> object:
        namespace = str(event.get("log_namespace", ""))
        quiet = event.get("log_level") in (LogLevel.debug, LogLevel.info)
        if quiet and level != "debug" and (namespace == "log_legacy" or namespace.startswith("twisted.")):
            return PredicateResult.no
        return lowest(event)

    return predicate


def begin(level: str, log_format: str, broker: str = "") -> None:
    """Log to standard error from now on, also what was logged before.

    :param level: one of :data:`LEVELS`.
    :param log_format: one of :data:`FORMATS`.
    :param broker: the name of this broker, if there are several.
    """
    observer = LineObserver(as_json if log_format == "json" else as_text, LogWriter(), broker)
    filtered = FilteringLogObserver(observer, [wanted(level)])  # type: ignore[list-item]
    globalLogBeginner.beginLoggingTo([filtered], redirectStandardIO=False)
