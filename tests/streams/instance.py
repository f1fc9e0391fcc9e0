"""Instances of the word count of Kafka Streams, in processes that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent / "WordCount.java"
BUILD_S = 120.0
STOP_S = 60.0
OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


def jars(version: str) -> str:
    """Return the folder that ``make streams`` copies the jars of a version to."""
    return os.path.join(ROOT, ".interop", f"streams-{version}")


@attrs.frozen
class Application:
    """The application.

    :ivar version: the version of Kafka Streams.
    :ivar guarantee: ``processing.guarantee``.
    """

    version: str
    guarantee: str

    def build(self, folder: str) -> str:
        """Compile the program into a folder, and return the class path.

        :raises AssertionError: it cannot be compiled.
        """
        there = jars(self.version)
        command = ["javac", "-nowarn", "-d", folder, "-cp", f"{there}/*", str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        return f"{folder}:{there}/*"

    def instance(self, class_path: str, bootstrap: str, folder: str) -> Instance:
        """Return an instance that is not started, with a directory of its own."""
        command = ["java", *OPTIONS, QUIET, "-cp", class_path, SOURCE.stem]
        return Instance([*command, bootstrap, os.path.join(folder, "state"), self.guarantee], folder)


class Instance:
    """An instance of the application.

    :ivar starts: how often it was started.
    """

    def __init__(self, command: list[str], folder: str) -> None:
        self._command = command
        self._log = os.path.join(folder, "log")
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        os.makedirs(folder)

    def start(self) -> None:
        """Start it."""
        self.starts += 1
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT)

    @property
    def running(self) -> bool:
        """True if it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Kill it as ``kill -9`` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop it as SIGTERM does: it commits, and leaves its group."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(STOP_S)

    def output(self) -> list[str]:
        """Return the lines that it has written."""
        with open(self._log, errors="replace") as file:
            return file.read().splitlines()
