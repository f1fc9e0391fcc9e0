"""The progress of opening a log dir, which is logged if it takes long: a recovery may read gigabytes."""

from __future__ import annotations

import time
from collections.abc import Callable

from twisted.logger import Logger

SAY_EVERY_S = 5.0
LOOK_EVERY_BYTES = 16 << 20


class Progress:
    """Counts logs and bytes; logs a line every ``SAY_EVERY_S`` seconds, and one at the end after such a line.

    :param path: of the log dir.
    :param logs: the number of logs to open.
    :param clock: returns seconds, from any start.
    """

    log = Logger()

    def __init__(self, path: str, logs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._logs = logs
        self._clock = clock
        self._opened = 0
        self._bytes = 0
        self._next_look = LOOK_EVERY_BYTES
        self._began_s = self._said_s = clock()

    def read(self, size: int) -> None:
        """Add *size* to the number of bytes checked."""
        self._bytes += size
        if self._bytes >= self._next_look:
            self._next_look = self._bytes + LOOK_EVERY_BYTES
            self._say()

    def opened(self) -> None:
        """Count one more log as open."""
        self._opened += 1
        self._say()

    def finished(self) -> None:
        """Log the duration, if opening took long."""
        seconds = self._clock() - self._began_s
        if seconds >= SAY_EVERY_S:
            self.log.info(
                "{path}: all {logs} logs are open after {seconds:.1f} s, {mib} MiB were checked",
                path=self._path,
                logs=self._logs,
                seconds=seconds,
                mib=self._bytes >> 20,
            )

    def _say(self) -> None:
        now_s = self._clock()
        if now_s - self._said_s >= SAY_EVERY_S and self._opened < self._logs:
            self._said_s = now_s
            self.log.info(
                "{path}: {opened} of {logs} logs are open, {mib} MiB were checked",
                path=self._path,
                opened=self._opened,
                logs=self._logs,
                mib=self._bytes >> 20,
            )
