"""A running system that is measured, and the measures that most experiments share."""

from __future__ import annotations

import glob
import itertools
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from benchmarks.compare.loads import load
from benchmarks.compare.process import Cpu, Server
from benchmarks.compare.systems.system import System

Metrics = dict[str, float]
_numbers = itertools.count()
DELETED_S = 5.0
CONNECTED_S, CONNECT_S = 1.0, 0.05
"""How long loads are given to connect: together, and for each."""


class Place(NamedTuple):
    """A system that runs, and how it is loaded.

    :ivar client_core: what loads run on; None: wherever.
    :ivar scale: by what the counts are multiplied.
    :ivar topics: those that were made and not deleted.
    """

    system: System
    server: Server
    port: int
    folder: str
    client_core: int | None
    scale: float
    topics: list[str]

    def count(self, count: int) -> int:
        """A number of messages, scaled."""
        return max(int(count * self.scale), 100)

    def topic(self, partitions: int = 1) -> str:
        """A new topic, or the one there is. Its name tells the sink how many partitions it has."""
        if self.system.only_topic is not None:
            return self.system.only_topic
        name = f"bench-{next(_numbers)}.{partitions}"
        self.system.create_topic(self.port, name, partitions)
        self.topics.append(name)
        return name

    def clean(self) -> None:
        """Delete the topics that were made.

        A broker removes their files a minute later. What is in them goes at once: a minute of writing at full
        speed is more than the memory that files are cached in, and what is measured next would wait for it.
        """
        while self.topics:
            topic = self.topics.pop()
            self.system.delete_topic(self.port, topic)
            end_s = time.monotonic() + DELETED_S
            while glob.glob(f"{self.folder}/data/{topic}-*[0-9]") and time.monotonic() < end_s:
                time.sleep(0.01)
        for path in glob.glob(f"{self.folder}/data/*-delete/*.log"):
            with suppress(FileNotFoundError):
                os.truncate(path, 0)

    def begin(self, arguments: Sequence[object], properties: Mapping[str, object]) -> subprocess.Popen[str]:
        """Start a load of the system's own client: ``System.load_command`` has the parameters."""
        return load.begin(self.client_core, self.system.load_command(self.port, arguments, properties))


class Cell(NamedTuple):
    """One cell of an experiment's table.

    :ivar kafka: only systems that speak Kafka's protocol have it.
    :ivar kept: only systems that keep what they are sent have it.
    """

    name: str
    measure: Callable[[Place], Metrics]
    kafka: bool = False
    kept: bool = False


class Experiment(NamedTuple):
    """Cells that are measured with the same running system.

    :ivar letter: as issue and results name it.
    :ivar source: where the seeds have it.
    :ivar metrics: those that tables and plots show, the first one first.
    :ivar systems: the names of those that can be asked; None: all brokers that speak Kafka's protocol.
    :ivar alone: each round starts the system anew for it, with empty data.
    :ivar cold: the system is not warmed up.
    """

    letter: str
    title: str
    source: str
    metrics: Sequence[str]
    cells: Sequence[Cell]
    systems: Sequence[str] | None = None
    alone: bool = False
    cold: bool = False


def produce(
    place: Place,
    topic: str,
    count: int,
    size: int,
    properties: Mapping[str, object],
    messages_a_request: int | None = None,
) -> Metrics:
    """Produce, and see what it costs the broker.

    :param messages_a_request: if it is known, CPU seconds for a million requests are given.
    """
    before = place.server.cpu()
    done = load.end(place.begin(["produce", topic, count, size], properties))
    return measured(place, done, place.server.cpu().since(before), messages_a_request)


def consume(place: Place, topic: str, count: int, properties: Mapping[str, object]) -> Metrics:
    """Consume from the beginning, and see what it costs the broker."""
    before = place.server.cpu()
    done = load.end(place.begin(["consume", topic, count], properties))
    return measured(place, done, place.server.cpu().since(before), None)


def measured(place: Place, done: Mapping[str, float], cpu: Cpu, messages_a_request: int | None) -> Metrics:
    """The metrics of a load."""
    metrics = {
        "throughput_mb_per_s": done["bytes"] / done["seconds"] / 1e6,
        "records_per_s": done["messages"] / done["seconds"],
        "broker_cpu_s_per_gb": cpu.total_s / done["bytes"] * 1e9,
        "client_busy_percent": done["cpu_s"] / done["seconds"] * 100,
        "rss_mib": place.server.rss_mib(),
        "peak_rss_mib": place.server.peak_rss_mib(),
    }
    if messages_a_request:
        requests = done["messages"] / messages_a_request
        metrics["broker_cpu_s_per_million_requests"] = cpu.total_s / requests * 1e6
    return metrics


def together(place: Place, loads: Sequence[Sequence[object]], properties: Mapping[str, object]) -> Metrics:
    """Several loads at once, which begin when all have connected: their throughput until the last ends."""
    start_s = time.time() + CONNECTED_S + CONNECT_S * len(loads)
    given = {**properties, "start": f"{start_s:.3f}"}
    running = [place.begin(arguments, given) for arguments in loads]
    time.sleep(max(0.0, start_s - time.time()))
    before = place.server.cpu()
    done = [load.end(one) for one in running]
    total = {name: sum(one[name] for one in done) for name in ("messages", "bytes", "cpu_s")}
    total["seconds"] = max(one["seconds"] for one in done)
    return measured(place, total, place.server.cpu().since(before), None)
