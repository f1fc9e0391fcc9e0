"""A broker in a process of its own: ``twistd kafkatx`` as a user starts it, but ending with its parent.

:mod:`kafkatx.testing.child` notices the parent's end through the broker's standard input, a pipe.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping

from kafkatx.testing.broker_log import BrokerLog
from kafkatx.testing.errors import BrokerDidNotStart

READY = re.compile(r"kafkatx is ready: broker \d+ at (\S+),")
REASON = re.compile(r"^kafkatx: (.+)$", re.MULTILINE)
STOP_S = 30.0
TAIL_LINES = 10


class BrokerProcess:
    """One broker that can be started, stopped and killed again and again."""

    def __init__(self, settings: Mapping[str, str], log: BrokerLog) -> None:
        self._settings = settings
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._settled = threading.Event()
        self._bootstrap = ""

    @property
    def pid(self) -> int | None:
        """The id of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """True if there is a process that has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self, timeout_s: float) -> str:
        """Start the broker and return its address for clients.

        :raises BrokerDidNotStart: the settings are wrong, a port is taken, a directory cannot be used.
        """
        command = [sys.executable, "-c", "from kafkatx.testing.child import main; main()"]
        command += ["--nodaemon", "--pidfile=", "kafkatx"]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        self._settled.clear()
        self._bootstrap = ""
        begin = self._log.count
        self._process = process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()
        if not self._settled.wait(timeout_s):
            self.kill()
            raise BrokerDidNotStart(self._why(f"the broker was not ready within {timeout_s:g} s", begin))
        if not self._bootstrap:
            self.kill()
            raise BrokerDidNotStart(self._why(f"the broker ended with status {process.returncode}", begin))
        return self._bootstrap

    def _why(self, otherwise: str, begin: int) -> str:
        """Return the reason that the broker has given since line *begin* of its log.

        Without one it is *otherwise* and the last lines of the log.
        """
        found = REASON.findall(self._log.text(begin))
        if found:
            return str(found[-1])
        tail = self._log.tail(min(TAIL_LINES, self._log.count - begin))
        return f"{otherwise}; the last lines of its log:\n{tail}" if tail else f"{otherwise} and said nothing"

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Read the log so that the pipe stays empty; note when the broker is ready or has ended."""
        assert process.stdout is not None
        for line in process.stdout:
            self._log.append(line)
            found = READY.search(line)
            if found:
                self._bootstrap = found[1]
                self._settled.set()
        self._settled.set()

    def cut(self) -> None:
        """Refuse: the connections of another process are its own.

        :raises RuntimeError: always.
        """
        raise RuntimeError('only a broker in a thread can be cut off: EmbeddedBroker(run_in="thread")')

    heal = cut

    def freeze(self) -> None:
        """Send SIGSTOP. Does nothing if the process is not running."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Send SIGCONT. Does nothing if the process is not running."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Send SIGTERM and wait for the process to end. Does nothing if it is not running."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL and wait for the process to end. Does nothing if it is not running."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            os.kill(process.pid, number)
            os.kill(process.pid, signal.SIGCONT)  # it may be frozen
        process.wait(STOP_S)
        if self._reader is not None:
            self._reader.join(STOP_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
