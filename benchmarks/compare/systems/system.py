"""The interface between the runner and a system."""

from __future__ import annotations

import os
import socket
import struct
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from benchmarks.compare.process import Server

START_S = 60.0
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class System(Protocol):
    """A system; nothing of it is started before :meth:`start`.

    :ivar name: as ``results.json`` has it.
    :ivar kafka: whether Kafka's clients can talk to it.
    :ivar yardstick: it is no broker for use, and measured only in the experiments that name it.
    :ivar keeps: whether what is produced is there afterwards.
    :ivar only_topic: the one topic that there is, for good.
    """

    name: str
    kafka: bool
    yardstick: bool = False
    keeps: bool = True
    only_topic: str | None = None

    @abstractmethod
    def missing(self) -> str | None:
        """Return the reason why it cannot be measured on this machine, or None. Fetches what it needs."""

    @abstractmethod
    def version(self) -> str:
        """Its version."""

    @abstractmethod
    def settings(self) -> str:
        """Return its configuration in one line."""

    @abstractmethod
    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Start it with empty data in a folder, and wait until it serves."""

    def wake(self, port: int) -> None:
        """Wait until it serves as before, after its processes were stopped for a while and went on.

        Here: it does at once.
        """
        return

    def create_topic(self, port: int, topic: str, partitions: int) -> None:
        """Make a topic, or a queue where the system has these. Here: it is made when it is first used."""
        return

    def delete_topic(self, port: int, topic: str) -> None:
        """Delete it. Here: it stays, as queues may whose messages have been taken."""
        return

    @abstractmethod
    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """The command of a load: a client of the system's own protocol, at full speed.

        :param arguments: ``produce TOPIC COUNT SIZE`` or ``consume TOPIC COUNT``; where the system speaks
            Kafka's protocol all that ``load.c`` takes.
        :param properties: librdkafka's; other clients have none of these, and send message by message.
        :raises NotBuilt: the client is not there.
        """


def serves_kafka(port: int) -> Callable[[], bool]:
    """A function that says whether a broker answers ApiVersions by now."""

    def served() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as connection:
                connection.sendall(API_VERSIONS)
                return len(connection.recv(4)) == 4
        except OSError:
            return False

    return served


def says(port: int, first: bytes, answer: bytes) -> Callable[[], bool]:
    """A function that says whether what listens has by now sent something with *answer* in it.

    :param first: what is sent to it.
    """

    def served() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as connection:
                connection.sendall(first)
                return answer in connection.recv(1024)
        except OSError:
            return False

    return served


def log_path(folder: str) -> str:
    """Return the path of a server's output."""
    return os.path.join(folder, "server.log")
