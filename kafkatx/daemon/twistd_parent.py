"""The report of a broker that ``twistd`` runs as a daemon to the process that waits for its start.

twistd's daemon has two processes. The first waits at a pipe, which the second writes to when ``startService``
of the application has returned; a broker knows only later whether its logs can be opened and its ports are
free. :class:`TwistdParent` takes the pipe over, so that the first process ends when that is known, with
status 1 if the broker could not start.

twistd's first process also holds the writing end of the pipe, so it would wait forever for a second process
that is killed while it starts. :class:`_Liveness` is a pipe whose writing end only the second process holds.

``kafkatx up --daemon`` does not use this module: see :mod:`kafkatx.daemon.background`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

STATUS_BYTES = 100
"""twistd reads at most this many bytes from its pipe."""


class TwistdParent:
    """The process that waits for a daemon to start; does nothing for a broker in the foreground.

    :ivar waits: True for a daemon.
    """

    def __init__(self, twistd: MutableMapping[str, Any] | None) -> None:
        """Keep the terminal open: the daemon's own standard error is /dev/null.

        :param twistd: the options of twistd itself, None for a caller that is not twistd.
        """
        self._twistd = {} if twistd is None else twistd
        self.waits = not self._twistd.get("nodaemon", True)
        self._pipe: int | None = None
        self._terminal: int | None = None
        self._liveness: _Liveness | None = None
        if self.waits:
            with suppress(OSError):
                self._terminal = os.dup(2)
            self._liveness = _Liveness()

    def take_over(self) -> None:
        """Take twistd's pipe before twistd reports success on it."""
        self._pipe = self._twistd.pop("statusPipe", None)

    def started(self) -> None:
        """Report that the daemon has started: the parent ends with status 0."""
        self._end(b"0")

    def failed(self, why: str) -> None:
        """Report that the daemon cannot start: the parent prints *why* and ends with status 1."""
        if self._terminal is not None:
            with suppress(OSError):
                os.write(self._terminal, f"kafkatx: {why}\n".encode(errors="backslashreplace"))
        self._end(b"1 the broker could not start"[:STATUS_BYTES])

    def _end(self, status: bytes) -> None:
        if self._liveness is not None:
            self._liveness.end(status)
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            with suppress(OSError):
                os.write(pipe, status)
            os.close(pipe)
        terminal, self._terminal = self._terminal, None
        if terminal is not None:
            os.close(terminal)


class _Liveness:
    """A pipe that breaks when the daemon dies: the process that forked it then ends with status 1."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self._made_by = os.getpid()
        self._armed = True
        os.register_at_fork(after_in_parent=self._forked)

    def _forked(self) -> None:
        if self._armed and os.getpid() == self._made_by:
            self._armed = False
            os.close(self._writing)
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        if not os.read(self._reading, STATUS_BYTES):
            why = "the daemon has ended before it was ready; look at its log"
            print(f"kafkatx: {why}", file=sys.__stderr__, flush=True)
            os._exit(1)

    def end(self, status: bytes) -> None:
        """Report in the daemon how the start went, and stop watching."""
        if self._armed:
            self._armed = False
            with suppress(OSError):  # the parent has ended: Ctrl-C
                os.write(self._writing, status)
            os.close(self._writing)
            os.close(self._reading)
