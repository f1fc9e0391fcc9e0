"""The least that a Twisted broker can do; a program beside the repository, left out where it is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.compare.loads import librdkafka
from benchmarks.compare.process import Server
from benchmarks.compare.systems.system import START_S, System, log_path, serves_kafka

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def floor_path() -> Path | None:
    """``KAFKATX_FLOOR``, or ``shared/bench/floor.py`` beside the repository or above it."""
    given = os.environ.get("KAFKATX_FLOOR")
    found = [Path(given)] if given else [parent / "shared/bench/floor.py" for parent in (ROOT, *ROOT.parents)]
    return next((path for path in found if path.exists()), None)


class Floor(System):
    """One topic of one partition; it trusts its input."""

    name = "floor"
    kafka = True
    yardstick = True
    only_topic = "t"

    def missing(self) -> str | None:
        """Implement System."""
        return None if floor_path() else "floor.py is not there; KAFKATX_FLOOR may name it"

    def version(self) -> str:
        """It has none."""
        return f"Python {sys.version.split()[0]}"

    def settings(self) -> str:
        """It has none."""
        return "one topic of one partition; no errors, groups, retention or recovery"

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        environment = {"TMPDIR": folder}
        server = Server([sys.executable, str(floor_path()), str(port)], log_path(folder), core, environment)
        server.wait_for(serves_kafka(port), START_S)
        return server

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System. It has no Fetch v4, without which Debian's librdkafka makes no record batches."""
        return librdkafka.command(port, arguments, properties, bundled=True)
