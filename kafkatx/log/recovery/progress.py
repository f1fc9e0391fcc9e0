"""The progress of opening a log dir, which is logged if it takes long: a recovery may read gigabytes."""

from __future__ import annotations

import time
from collections.abc import Callable

from twisted.logger import Logger

from kafkatx.types import TopicPartition

SAY_EVERY_S = 5.0
LOOK_EVERY_BYTES = 16 << 20


class Progress:
    """Counts logs and bytes; logs a line every ``SAY_EVERY_S`` seconds, and one per log that takes as long.

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
        self._partition: TopicPartition | None = None
        self._partition_bytes = 0
        self._began_s = self._said_s = self._partition_began_s = clock()

    def opening(self, partition: TopicPartition) -> None:
        """Begin to count for another log."""
        self._partition = partition
        self._partition_bytes = 0
        self._partition_began_s = self._clock()

    def read(self, size: int) -> None:
        """Add *size* to the number of bytes checked."""
        self._bytes += size
        self._partition_bytes += size
        if self._bytes >= self._next_look:
            self._next_look = self._bytes + LOOK_EVERY_BYTES
            self._say()

    def opened(self) -> None:
        """Count one more log as open; log its duration, if opening it took long."""
        self._opened += 1
        seconds = self._clock() - self._partition_began_s
        if self._partition is not None and seconds >= SAY_EVERY_S:
            self.log.info(
                "{path}: the log of {partition} is open after {seconds:.1f} s, {mib} MiB of it were checked",
                path=self._path,
                partition=self._partition,
                seconds=seconds,
                mib=self._partition_bytes >> 20,
            )
        self._partition = None
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
            current = ""
            if self._partition is not None:
                current = f"; the next is {self._partition}, {self._partition_bytes >> 20} MiB of it so far"
            self.log.info(
                "{path}: {opened} of {logs} logs are open, {mib} MiB were checked{current}",
                path=self._path,
                opened=self._opened,
                logs=self._logs,
                mib=self._bytes >> 20,
                current=current,
            )
