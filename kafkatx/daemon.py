"""A broker as a process of its own: how twistd's daemon tells whether it could start, and what SIGHUP does.

twistd's daemon has two processes. The first waits at a pipe, which the second writes to when ``startService``
of the application has returned; a broker knows only later whether its logs can be opened and its ports are
free. :class:`Parent` takes the pipe over, so that the first process ends when that is known, with status 1 if
the broker could not start.

twistd's first process has the pipe's other end too, so it would wait for ever for a second one that is killed
while it starts. A pipe of our own, whose end only the second has, tells it of that.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger

STATUS_BYTES = 100
"""twistd reads no more than this from its pipe."""

_log = Logger()


class Parent:
    """The process that waits for a daemon to start; nobody where the broker is in the foreground.

    :ivar waits: true for a daemon.
    """

    def __init__(self, twistd: MutableMapping[str, Any] | None) -> None:
        """Remember where a person looks at; the daemon's own standard error is /dev/null.

        :param twistd: the options of twistd itself, None for a caller that is not twistd.
        """
        self._twistd = {} if twistd is None else twistd
        self.waits = not self._twistd.get("nodaemon", True)
        self._pipe: int | None = None
        self._terminal: int | None = None
        self._alive: _Alive | None = None
        if self.waits:
            with suppress(OSError):
                self._terminal = os.dup(2)
            self._alive = _Alive()

    def take_over(self) -> None:
        """Take twistd's pipe, before twistd itself writes to it that all is well."""
        self._pipe = self._twistd.pop("statusPipe", None)

    def started(self) -> None:
        """The daemon has started: the parent ends with status 0."""
        self._end(b"0")

    def failed(self, why: str) -> None:
        """The daemon cannot start: the parent ends with status 1, and *why* is on its terminal."""
        if self._terminal is not None:
            with suppress(OSError):
                os.write(self._terminal, f"kafkatx: {why}\n".encode(errors="backslashreplace"))
        self._end(b"1 the broker could not start"[:STATUS_BYTES])

    def _end(self, status: bytes) -> None:
        if self._alive is not None:
            self._alive.end(status)
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            with suppress(OSError):
                os.write(pipe, status)
            os.close(pipe)
        terminal, self._terminal = self._terminal, None
        if terminal is not None:
            os.close(terminal)


class _Alive:
    """A pipe whose end only the daemon has: the process that forks it ends with status 1 if it breaks."""

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
        """Say in the daemon how the start went: it need not be watched any more."""
        if self._armed:
            self._armed = False
            with suppress(OSError):  # nobody waits: Ctrl-C at the parent
                os.write(self._writing, status)
            os.close(self._writing)
            os.close(self._reading)


class Process:
    """What the process of a broker does beside the broker: it tells the parent, and hears SIGHUP."""

    def __init__(self, parent: Parent, reload: Callable[[], object], reactor: Any) -> None:
        """Make it.

        :param reload: called in the reactor's thread when a daemon gets SIGHUP.
        """
        self.parent = parent
        self._reload = reload
        self._reactor = reactor
        self._before: Any = None

    def start(self) -> None:
        """Take the parent over; from now on SIGHUP is heard."""
        self.parent.take_over()
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
            return
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
            self._before = signal.signal(signal.SIGHUP, self._hang_up)

    def stop(self) -> None:
        """SIGHUP does again what it did before."""
        before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGHUP, before)

    def _hang_up(self, *_: object) -> None:
        """SIGHUP came: in the foreground the terminal has gone, a daemon is to read its settings again."""
        self._reactor.callFromThread(self._reload if self.parent.waits else self._end)

    def _end(self) -> None:
        _log.info("Received SIGHUP, shutting down.")
        self._reactor.callWhenRunning(_stop, self._reactor)


def _stop(reactor: Any) -> None:
    with suppress(ReactorNotRunning):  # another signal came before
        reactor.stop()
