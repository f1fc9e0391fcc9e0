"""Warnings of the client library, on stderr: no broker answers, offsets were not committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogPublisher
from zope.interface import implementer

from kafkatx.cli.output.terminal import say

_LEVELS = (LogLevel.warn, LogLevel.error, LogLevel.critical)


@implementer(ILogObserver)
class Warnings:
    """A log observer that prints a line for each warning and error of the client library."""

    def __call__(self, event: LogEvent) -> None:
        """Print one event of Twisted's log; called in any thread."""
        ours = str(event.get("log_namespace", "")).startswith("kafkatx.client")
        if ours and event.get("log_level") in _LEVELS:
            say("kafkatx: " + " ".join(formatEvent(event).split()))


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Print the client library's warnings inside of this context."""
    observer = Warnings()
    globalLogPublisher.addObserver(observer)
    try:
        yield
    finally:
        globalLogPublisher.removeObserver(observer)
