"""Programs that copy a topic: MirrorMaker 2, ``kafkatx mirror run``, and a link in the brokers of kafkatx.

A mover starts its target, then copies the topic ``load`` of a source until it is stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from benchmarks.broker_process import free_port
from benchmarks.compare.process import Server
from benchmarks.compare.systems.apache import JVM, Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import System, log_path
from tests.clients.toolchains import BUILT

TOPIC = "load"
TASKS = 4
JARS = os.path.join(BUILT, "mirror-maker")
HERE = os.path.dirname(os.path.abspath(__file__))


def fetch() -> None:
    """Fetch MirrorMaker 2 from Maven unless it is there."""
    if os.path.isdir(JARS):
        return
    command = ["mvn", "--quiet", "--batch-mode", f"--file={HERE}/pom.xml", "dependency:copy-dependencies"]
    subprocess.run([*command, "-DincludeScope=runtime", f"-DoutputDirectory={JARS}"], check=True)


class Mover(Protocol):
    """Something that copies a topic.

    :ivar name: as the figures have it.
    :ivar copy: the name of the copy.
    :ivar port: the port of the target.
    """

    name: str
    copy: str
    port: int

    @abstractmethod
    def start_target(self, folder: str) -> None:
        """Start the target with empty data."""

    @abstractmethod
    def start(self, folder: str, source: str) -> None:
        """Begin to copy."""

    @abstractmethod
    def servers(self) -> Sequence[Server]:
        """Return its processes, with the target's."""


class _WithTarget:
    """The part that is the same for all: the target and the processes."""

    def __init__(self, name: str, copy: str, target: System) -> None:
        self.name, self.copy = name, copy
        self.port = 0
        self._system = target
        self._servers: list[Server] = []

    def start_target(self, folder: str) -> None:
        """Start the target with empty data."""
        self.port = free_port()
        self._servers = [self._system.start(folder, self.port, None)]

    def servers(self) -> Sequence[Server]:
        """Return its processes, with the target's."""
        return self._servers


class MirrorMaker(_WithTarget):
    """MirrorMaker 2 as a process of its own, as ``connect-mirror-maker.sh`` starts it."""

    def start(self, folder: str, source: str) -> None:
        """Begin to copy."""
        path = os.path.join(folder, "mm2.properties")
        settings = {
            "clusters": "dc1,central",
            "dc1.bootstrap.servers": source,
            "central.bootstrap.servers": f"127.0.0.1:{self.port}",
            "dc1->central.enabled": "true",
            "dc1->central.topics": TOPIC,
            "central->dc1.enabled": "false",
            "tasks.max": str(TASKS),
            "replication.factor": "1",
            "checkpoints.topic.replication.factor": "1",
            "heartbeats.topic.replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1",
            "config.storage.replication.factor": "1",
        }
        with open(path, "w") as file:
            file.writelines(f"{name}={value}\n" for name, value in settings.items())
        heap = [option for option in JVM if not option.startswith("-Xm")]
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        command = ["java", "-Xms256M", "-Xmx2G", *heap, "-cp", f"{JARS}/*", main, path]
        os.makedirs(os.path.join(folder, "mm2"))
        self._servers.append(Server(command, log_path(os.path.join(folder, "mm2")), None, {}))


class Run(_WithTarget):
    """``kafkatx mirror run``."""

    def start(self, folder: str, source: str) -> None:
        """Begin to copy."""
        path = os.path.join(folder, "mirror.properties")
        with open(path, "w") as file:
            file.write(
                f"sources=dc1\nsource.dc1.bootstrap.servers={source}\n"
                f"target.bootstrap.servers=127.0.0.1:{self.port}\ntopics={TOPIC}\n"
            )
        command = [sys.executable, "-m", "kafkatx", "mirror", "run", "--config", path]
        os.makedirs(os.path.join(folder, "mirror"))
        self._servers.append(Server(command, log_path(os.path.join(folder, "mirror")), None, {}))


class Link(_WithTarget):
    """A link in the target's broker."""

    def start(self, folder: str, source: str) -> None:
        """Begin to copy."""
        command = [sys.executable, "-m", "kafkatx", "mirror", "add", "dc1"]
        given = ["--source", source, "--topics", TOPIC, "-b", f"127.0.0.1:{self.port}"]
        subprocess.run([*command, *given], check=True, capture_output=True)


def movers() -> dict[str, Mover]:
    """Return the movers by name."""
    made: list[Mover] = [
        MirrorMaker("MirrorMaker 2 to Apache Kafka", f"dc1.{TOPIC}", Apache("kafka-4", "4")),
        MirrorMaker("MirrorMaker 2 to kafkatx", f"dc1.{TOPIC}", Kafkatx()),
        Run("kafkatx mirror run", f"dc1.{TOPIC}", Kafkatx()),
        Link("link in kafkatx", TOPIC, Kafkatx()),
    ]
    return {mover.name: mover for mover in made}
