"""The two ends of a link: brokers in processes, which keep address and data when they are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping

from tests.clients.brokers import SETTINGS, ApacheBroker, Broker, OurBroker
from tests.clients.toolchains import prepare

APACHE = "apache-"
LINK = "dc1"
COMMAND_S = 900.0

_SOURCE = {**SETTINGS, "log.segment.bytes": str(32 << 20), "log.cleaner.backoff.ms": "2000"}


class Ends:
    """A source and a target with a link between them.

    :param source: ``kafkatx``, or ``apache-`` and a version of Apache Kafka.
    :ivar killed: how often each end was killed.
    """

    def __init__(self, source: str) -> None:
        self.source: Broker
        if source.startswith(APACHE):
            version = source.removeprefix(APACHE)
            prepare(f"java-{version}")
            self.source = ApacheBroker(version, _SOURCE)
        else:
            self.source = OurBroker(_SOURCE)
        self.target: Broker = OurBroker()
        self.killed = {"source": 0, "target": 0}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start both."""
        self.source.start()
        self.target.start()

    def kill(self, which: str) -> None:
        """Kill an end as ``kill -9`` does, and start it again."""
        broker: Broker = self.source if which == "source" else self.target
        with self._lock:
            broker.kill()
            broker.start()
            self.killed[which] += 1

    def close(self) -> None:
        """Kill both and remove their data."""
        self.source.close()
        self.target.close()

    def mirror(self, *arguments: str) -> str:
        """Run ``kafkatx mirror`` on the target; return what it prints.

        :raises AssertionError: it fails.
        """
        command = arguments[0]
        return run("mirror", command, *arguments[1:], "-b", self.target.bootstrap)


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run the command line; return what it prints.

    :raises AssertionError: it fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", "kafkatx", *arguments],
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"
        raise AssertionError(f"kafkatx {' '.join(arguments)} ended with {done.returncode}:\n{said}")
    return done.stdout
