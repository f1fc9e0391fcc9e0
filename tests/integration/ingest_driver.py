"""A driver to be killed: ``python -m tests.integration.ingest_driver JSON``. It ingests one topic, once.

The JSON object has ``bootstrap``, ``topic``, ``to``, ``spark`` (false: tasks run in this process),
``options`` of the ingestion, and perhaps

*   ``kill_at``: ``METHOD:N:before`` or ``METHOD:N:after``, the call of one of ``LocalFiles``' methods at
    which this process gets SIGKILL; or ``tasks``: as soon as a task has begun a file;
*   ``kill_workers``: so many of Spark's Python workers are killed, at random moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafkatx.spark.ingest import Bounds, IngestOptions, ingest
from kafkatx.spark.ingest.table.files import LocalFiles
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Subscribe

POLL_S = 0.005


def die() -> None:
    """Kill it with ``kill -9``."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(point: str, to: str) -> None:
    """See to it that this process dies there."""
    if point == "tasks":
        threading.Thread(target=_die_when_staged, args=[to], daemon=True).start()
        return
    name, number, when = point.split(":")
    method, left = getattr(LocalFiles, name), [int(number)]

    def counted(*arguments: Any) -> Any:
        left[0] -= 1
        if not left[0] and when == "before":
            die()
        result = method(*arguments)
        if not left[0]:
            die()
        return result

    setattr(LocalFiles, name, counted)


def _die_when_staged(to: str) -> None:
    while not any(path.is_file() for path in Path(to, "_kafkatx/staging").glob("**/*")):
        time.sleep(POLL_S)
    die()


def kill_workers(count: int) -> None:
    """Kill that many Python workers of this process's Spark, each within a second after it was seen."""

    def kill() -> None:
        killed: set[int] = set()
        while len(killed) < count:
            found = [pid for pid in workers(os.getpid()) if pid not in killed]
            time.sleep(random.uniform(0, 1))
            if found:
                killed.add(found[0])
                try:
                    os.kill(found[0], signal.SIGKILL)
                except ProcessLookupError:
                    continue

    threading.Thread(target=kill, daemon=True).start()


def workers(ancestor: int) -> list[int]:
    """The workers below a process: it starts a JVM, that a daemon of PySpark, and that the workers."""
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(path.parent.name))
    daemons = [pid for java in below.get(ancestor, ()) for pid in below.get(java, ())]
    return [pid for daemon in daemons for pid in below.get(daemon, ())]


def main(given: dict[str, Any], run: Callable[..., Any] = ingest) -> None:
    """Ingest, if nothing kills it."""
    given["options"]["bounds"] = Bounds(**given["options"].pop("bounds", {}))
    options = IngestOptions(
        ClientSettings(given["bootstrap"]), Subscribe((given["topic"],)), given["to"], **given["options"]
    )
    if given.get("kill_at"):
        kill_at(given["kill_at"], given["to"])
    if not given["spark"]:
        from tests.spark.ingest.fakes import FakeSpark

        run(FakeSpark(), options)
        return
    from kafkatx.spark.session import spark_session

    log = Path(tempfile.gettempdir(), f"ingest-driver-{os.getpid()}.log")
    with spark_session(str(log), "local[2]") as spark:
        kill_workers(given.get("kill_workers", 0))
        run(spark, options)
    log.unlink()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
