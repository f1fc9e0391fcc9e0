"""Broker processes under measurement: starting them, their CPU seconds and memory."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

TICKS = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def kafkatx_command(data_dir: str, port: int, settings: Sequence[str] = ()) -> list[str]:
    """The command that starts a broker as a user does."""
    command = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()"]
    command += ["--nodaemon", "--pidfile=", "kafkatx"]
    for setting in (f"log.dirs={data_dir}", f"listeners=PLAINTEXT://127.0.0.1:{port}", *settings):
        command += ["--set", setting]
    return command


class Measured:
    """A broker process; a context manager that ends it."""

    def __init__(self, command: Sequence[str], port: int) -> None:
        self.started_s = time.perf_counter()
        self.port = port
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Measured:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def wait_until_listening(self) -> None:
        """Wait for the port to take connections.

        :raises TimeoutError: it did not within 20 s.
        """
        deadline = time.perf_counter() + 20
        while time.perf_counter() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.005)
        raise TimeoutError(f"nothing listens on port {self.port}")

    def cpu_s(self) -> float:
        """User and system CPU seconds so far."""
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_mib(self) -> float:
        """Resident memory in MiB."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as status:
            found = re.search(r"VmRSS:\s+(\d+)", status.read())
        return int(found[1]) / 1024 if found else 0.0
