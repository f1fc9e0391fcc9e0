"""The last log lines of an embedded broker, kept in memory for tests that fail.

A broker in a process of its own hands its output over line by line. A broker in a thread shares Twisted's log
with the rest of this process; :class:`ThreadLogObserver` picks the events that are the broker's.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice

from twisted.logger import ILogObserver, LogEvent, LogLevel, eventAsText
from zope.interface import implementer

MAX_LINES = 1000
BROKER_NAMESPACES = (
    "kafkatx.broker",
    "kafkatx.metadata.embedded",
    "kafkatx.group",
    "kafkatx.log",
    "kafkatx.net.",
    "kafkatx.tap",
)
"""Prefixes of the loggers that only a broker uses; its worker threads log under these names."""


class BrokerLog:
    """The last :data:`MAX_LINES` lines of a log. Threads may append and read at the same time.

    :ivar count: lines appended so far, dropped ones included.
    """

    def __init__(self) -> None:
        self.count = 0
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._lock = threading.Lock()

    def keep_all(self) -> None:
        """Drop no line from now on."""
        with self._lock:
            self._lines = deque(self._lines)

    def append(self, text: str) -> None:
        """Append *text*, of one line or several."""
        with self._lock:
            lines = text.splitlines()
            self._lines.extend(lines)
            self.count += len(lines)

    def text(self, since: int = 0) -> str:
        """Return the lines after the first *since*, as far as they are kept; each ends with a newline."""
        with self._lock:
            first = max(since - (self.count - len(self._lines)), 0)
            return "".join(f"{line}\n" for line in islice(self._lines, first, None))

    def tail(self, lines: int) -> str:
        """Return the last *lines* lines."""
        return self.text(max(self.count - lines, 0))


@implementer(ILogObserver)
class ThreadLogObserver:
    """A Twisted log observer that keeps the events of a broker in a thread of this process.

    An event is the broker's if its thread emits it, or if a worker thread does under one of
    :data:`BROKER_NAMESPACES`. With two brokers in one process each keeps the worker events of both.

    :param is_broker_thread: tells whether the current thread is the broker's.
    """

    def __init__(self, log: BrokerLog, is_broker_thread: Callable[[], bool]) -> None:
        self._log = log
        self._is_broker_thread = is_broker_thread

    def __call__(self, event: LogEvent) -> None:
        """Keep *event* if it is the broker's and not of level debug."""
        if event.get("log_level", LogLevel.info) < LogLevel.info:
            return
        if self._is_broker_thread() or event.get("log_namespace", "").startswith(BROKER_NAMESPACES):
            self._log.append(eventAsText(event))
