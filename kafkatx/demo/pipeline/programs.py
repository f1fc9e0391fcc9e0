"""The programs of the deployment: processes with a log, which end with this one, however it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from kafkatx.errors import KafkaTXError

START_S = 90.0
STOP_S = 60.0
POLL_S = 0.05
TAIL_LINES = 8
LEASH = "kafkatx.demo.pipeline.leash"


class ProgramFailed(KafkaTXError):
    """A program ended by itself, or was not ready in time; the message has the end of its log."""


class Program:
    """A process that runs a module of Python. Ctrl-C in a terminal does not reach it.

    :ivar log: the file with everything that it prints.
    :ivar stdin: its standard input; None unless it reads that.
    """

    def __init__(
        self, folder: Path, name: str, module: str, arguments: Sequence[str], *, reads: bool = False
    ) -> None:
        """Start it.

        :param folder: where the log is, *name*.log; also the process's directory.
        :param reads: the program reads its standard input, and ends when that ends.
        """
        self.name = name
        self.log = folder / f"{name}.log"
        started = [module, *arguments] if reads else [LEASH, module, *arguments]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *started],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        self._pipe: IO[bytes] = self._process.stdin
        self.stdin = self._pipe if reads else None

    def wait_for(self, pattern: str, timeout_s: float = START_S) -> str:
        """Wait until the log has a match of a regular expression; return its first group, or all of it.

        :raises ProgramFailed: the program ended before, or the time is over.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            ended = self._process.poll() is not None
            found = re.search(pattern, self.text())
            if found:
                return found[found.re.groups and 1]
            if ended:
                raise ProgramFailed(self._told(f"ended with status {self._process.returncode}"))
            if time.monotonic() > deadline_s:
                raise ProgramFailed(self._told(f"was not ready within {timeout_s:g} s"))
            time.sleep(POLL_S)

    def check(self) -> None:
        """See whether it runs.

        :raises ProgramFailed: it does not.
        """
        if self._process.poll() is not None:
            raise ProgramFailed(self._told(f"ended with status {self._process.returncode}"))

    def finish(self, timeout_s: float = STOP_S) -> None:
        """End its standard input, and wait until it has ended.

        :raises ProgramFailed: it ended with another status than 0, or not in time.
        """
        with suppress(OSError):
            self._pipe.close()
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ProgramFailed(self._told(f"did not end within {timeout_s:g} s")) from None
        if status:
            raise ProgramFailed(self._told(f"ended with status {status}"))

    def stop(self) -> None:
        """Stop it as SIGTERM does, and wait for its end; kill it if that takes too long."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with suppress(OSError):
            self._pipe.close()

    def text(self) -> str:
        """Return everything that it has printed."""
        return self.log.read_text(errors="replace")

    def reports(self) -> Iterator[dict[str, object]]:
        """Yield each complete line of its log that is an object of JSON."""
        for line in self.text().split("\n")[:-1]:
            if line.startswith("{"):
                yield json.loads(line)

    def _told(self, what: str) -> str:
        lines = self.text().splitlines()[-TAIL_LINES:]
        said = "; the last lines of its log:\n  " + "\n  ".join(lines) if lines else " and said nothing"
        return f"{self.name} {what}{said}"
