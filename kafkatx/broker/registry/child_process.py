"""A child process that answers requests over its pipes, and is killed if an answer takes too long.

A thread could not be stopped: a regular expression or a deep value would hold it for ever. It is used from
one worker; only :meth:`ChildProcess.stop` may be called from the reactor's thread.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, TypeVar

T = TypeVar("T")


class ChildProcess:
    """A process that starts with its first request, and again after it was killed.

    :param command: what is run; its standard input is closed when this process dies.
    :param timeout_s: seconds that an answer may take.
    """

    def __init__(self, command: Sequence[str], timeout_s: float) -> None:
        self._command = command
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """The process's id; None if there is none."""
        process = self._process
        return None if process is None else process.pid

    def ask(self, exchange: Callable[[IO[bytes], IO[bytes]], T | None]) -> T | None:
        """Return the result of an exchange over the process's pipes, standard input and output.

        :param exchange: returns None if the answer is cut off.
        :return: None if the process had to be killed, has died, or may not start any more.
        """
        process = self._running()
        if process is None or process.stdin is None or process.stdout is None:
            return None
        watchdog = threading.Timer(self._timeout_s, process.kill)
        watchdog.daemon = True
        watchdog.start()
        answer: T | None = None
        try:
            with contextlib.suppress(OSError):
                answer = exchange(process.stdin, process.stdout)
        finally:
            watchdog.cancel()
            if answer is None:
                self.end()
        return answer

    def _running(self) -> subprocess.Popen[bytes] | None:
        """Return the process, a new one if there is none; None after :meth:`stop`."""
        with self._lock:
            if self._stopped:
                return None
            if self._process is None or self._process.poll() is not None:
                path = os.pathsep.join(entry for entry in sys.path if entry)
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": path},
                    start_new_session=True,  # Ctrl-C at a terminal is for the broker
                )
            return self._process

    def end(self) -> None:
        """End the process; another one starts with the next request."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def stop(self) -> None:
        """Kill the process, and start no other one; :meth:`end` is still to be called in the worker."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
