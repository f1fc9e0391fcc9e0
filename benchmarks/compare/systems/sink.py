"""A broker that keeps nothing and costs next to nothing: about what a client can do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from benchmarks.compare.loads import librdkafka
from benchmarks.compare.loads.build import BUILT, NotBuilt, built
from benchmarks.compare.process import Server
from benchmarks.compare.systems.system import START_S, System, log_path, serves_kafka

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sink.c")


def program() -> str:
    """The path of the program, built if it is not newer than its source.

    :raises NotBuilt: a compiler is not installed.
    """
    target = os.path.join(BUILT, "sink")
    return built(SOURCE, target, ["cc", "-O2", "-o", target, SOURCE, "-lpthread"], "gcc")


class Sink(System):
    """Any topic is there; what is produced is thrown away, and what is fetched is made up (``sink.c``)."""

    name = "sink"
    kafka = True
    yardstick = True
    keeps = False

    def missing(self) -> str | None:
        """Build it."""
        try:
            program()
        except NotBuilt as error:
            return str(error)
        return None

    def version(self) -> str:
        """It has none."""
        return "a program in C"

    def settings(self) -> str:
        """Return its description."""
        return "keeps nothing: about what the client can do"

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        server = Server([program(), str(port)], log_path(folder), core, {})
        server.wait_for(serves_kafka(port), START_S)
        return server

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System."""
        return librdkafka.command(port, arguments, properties)
