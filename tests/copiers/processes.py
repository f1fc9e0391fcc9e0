"""The processes of copiers: each is started again when it has ended, or was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import Counter, deque
from collections.abc import Callable

from tests.clients.toolchains import ROOT

_STOP_S = 90.0
_RESTART_S = 1.0
_AGAIN_S = 5.0
"""The pause before a program is started again that has ended well: it has read everything."""


class Copier:
    """A member of a copier's group.

    :param log: the path of a file that gets what its processes print, but for their reports.
    :param by_input: True if the end of its input stops it; else SIGTERM does.
    :param tell: prints a line.
    :ivar ended: transactions that its processes have reported, by their end.
    :ivar killed: how often it was killed.
    :ivar gave_up: how often its process has ended by itself with an error.
    """

    def __init__(
        self, name: str, command: list[str], log: str, by_input: bool, tell: Callable[[str], None]
    ) -> None:
        self.name = name
        self.ended: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.killed = self.gave_up = 0
        self._command = command
        self._log = log
        self._by_input = by_input
        self._tell = tell
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._noise: deque[str] = deque(maxlen=12)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start it."""
        self._thread.start()

    def kill(self) -> None:
        """``kill -9``; it is started again."""
        with self._lock:
            process = self._process
            if process is not None and process.poll() is None:
                self.killed += 1
                os.killpg(process.pid, signal.SIGKILL)

    def end(self) -> None:
        """``kill -9``, for good."""
        self._stopping.set()
        self.kill()

    def stop(self) -> None:
        """Tell it to stop, and wait until it has ended."""
        self._stopping.set()
        with self._lock:
            process = self._process
            if process is not None and process.stdin is not None:
                process.stdin.close()
                if not self._by_input:
                    process.terminate()
        self._thread.join(_STOP_S)
        if self._thread.is_alive():
            self._tell(f"{self.name}: it does not stop; killed")
            self.kill()
            self._thread.join(_STOP_S)

    def _run(self) -> None:
        while not self._stopping.is_set():
            killed = self.killed
            status = self._run_once()
            if status > 0 and not self._stopping.is_set():
                self.gave_up += 1
                noise = "".join(f"\n      {line.rstrip()}" for line in self._noise)
                self._tell(f"{self.name} ended with {status}{noise}")
            if self.killed == killed:
                self._stopping.wait(_RESTART_S if status else _AGAIN_S)

    def _run_once(self) -> int:
        process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with self._lock:
            self._process = process
            self._noise.clear()
        assert process.stdout is not None
        with open(self._log, "a") as log:
            log.write(f"--- process {process.pid}\n")
            for line in process.stdout:
                if not self._hear(line):
                    log.write(line)
                    log.flush()
            status = process.wait()
            log.write(f"--- ended with {status}\n")
        with self._lock:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        return status

    def _hear(self, line: str) -> bool:
        """Take a line in; return False if it is no report of a transaction."""
        try:
            said = json.loads(line)
            self.ended[said["ended"]] += 1
        except (ValueError, KeyError, TypeError):
            self._noise.append(line)
            return False
        if why := said.get("why"):
            self.reasons[why.partition(":")[0]] += 1
        return True
