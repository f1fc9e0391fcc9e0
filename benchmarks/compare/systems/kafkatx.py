"""kafkatx, of this tree or of another one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import kafkatx
from benchmarks.broker_process import kafkatx_command
from benchmarks.compare.loads import librdkafka
from benchmarks.compare.process import Server
from benchmarks.compare.systems import kafka_topics
from benchmarks.compare.systems.system import START_S, System, log_path, serves_kafka


class Kafkatx(System):
    """The broker as ``twistd kafkatx`` starts it, with its defaults.

    :param tree: the checkout whose broker is measured; None: this one.
    :param more: settings on top of the defaults, whose listeners are further ones.
    """

    kafka = True

    def __init__(
        self, name: str = "kafkatx", tree: str | None = None, more: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._tree = tree
        self._more = dict(more or {})

    def missing(self) -> str | None:
        """Nothing: it is what runs this."""
        return None

    def version(self) -> str:
        """Its version, and Python's."""
        return f"{kafkatx.__version__} (Python {sys.version.split()[0]})"

    def settings(self) -> str:
        """The defaults."""
        return "its defaults"

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        # bytecode is kept, as for any user: an environment that forbids it compiles a checkout at each start
        environment = {"PYTHONDONTWRITEBYTECODE": ""}
        if self._tree is not None:  # python -c looks where it runs first
            environment["PYTHONPATH"] = self._tree
        listeners = [f"PLAINTEXT://127.0.0.1:{port}", *filter(None, [self._more.get("listeners")])]
        settings = {**self._more, "listeners": ",".join(listeners)}
        more = [f"{name}={value}" for name, value in settings.items()]
        command = kafkatx_command(os.path.join(folder, "data"), port, more)
        server = Server(command, log_path(folder), core, environment, self._tree)
        server.wait_for(serves_kafka(port), START_S)
        return server

    def create_topic(self, port: int, topic: str, partitions: int) -> None:
        """Implement System."""
        kafka_topics.create_topic(port, topic, partitions)

    def delete_topic(self, port: int, topic: str) -> None:
        """Implement System."""
        kafka_topics.delete_topic(port, topic)

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System."""
        return librdkafka.command(port, arguments, properties)
