"""Tells how far the opening of a log dir has come, when that takes long: a recovery may read gigabytes."""

from __future__ import annotations

import time
from collections.abc import Callable

from twisted.logger import Logger

SAY_EVERY_S = 5.0
LOOK_EVERY_BYTES = 16 << 20


class Progress:
    """Counts logs and bytes; a line in the broker's log every ``SAY_EVERY_S`` seconds.

    :param path: the log dir's.
    :param logs: how many logs are to be opened.
    :param clock: seconds, from any start.
    """

    log = Logger()

    def __init__(self, path: str, logs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._logs = logs
        self._clock = clock
        self._opened = 0
        self._bytes = 0
        self._next_look = LOOK_EVERY_BYTES
        self._said_s = clock()

    def read(self, size: int) -> None:
        """So many bytes more were checked."""
        self._bytes += size
        if self._bytes >= self._next_look:
            self._next_look = self._bytes + LOOK_EVERY_BYTES
            self._say()

    def opened(self) -> None:
        """One more log is open."""
        self._opened += 1
        self._say()

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
