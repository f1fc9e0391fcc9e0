"""Transactions a second, and the consumption of committed messages, beside Apache Kafka 4.

    python -m benchmarks.transactions [--rounds N] [--seconds S] [--cells TEXT]

The brokers run with their defaults, pinned to one core, the clients to the other; while one is measured the
other is stopped. Both are started once and warmed up by every cell, for what a JVM compiles late. Cells:

*   Transactions of 10 messages of 100 B to 1 partition, and of 100 messages to 10 partitions, each as fast as
    one producer makes them one after the other: of librdkafka (version 1 of the protocol; ``load.c``) and of
    Apache Kafka's Java client (version 2; ``TransactionLoad.java``).
*   ``read_committed``: librdkafka reads a partition of transactions of 100 messages of 1 kB, of which each
    tenth is aborted.

The table has the median over the rounds with the range; ratios are those within a round. Each system is first
in every other round.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import attrs

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import librdkafka, load
from benchmarks.compare.loads.build import BUILT, HERE, built
from benchmarks.compare.machine import Watch, machine
from benchmarks.compare.process import Server
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import System

BROKER_CORE, CLIENT_CORE = 1, 0
OURS, THEIRS = "kafkatx", "kafka-4"
SIZE_BYTES = 100
PROBE = 100
"""Transactions that tell how many fill the seconds of a cell."""
READ_TRANSACTIONS, READ_RECORDS, READ_BYTES, ABORTED = 3000, 100, 1000, 10
JAVA = "TransactionLoad"
JAVA_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC")
PLAIN = {"linger.ms": 0, "compression.type": "none"}
COMMITTED = "isolation.level=read_committed"


@attrs.frozen
class Place:
    """A running system."""

    system: System
    server: Server
    port: int


Cell = Callable[[Place, str, float], float]
"""Measures for some seconds with a topic of this name; returns a rate."""


def transactions(records: int, partitions: int, place: Place, topic: str, seconds: float) -> float:
    """Return transactions a second of librdkafka."""
    place.system.create_topic(place.port, topic, partitions)
    properties = {**PLAIN, "records": records, "partitions": partitions, "transactional.id": topic}

    def run(count: int) -> float:
        arguments = ("transact", topic, count, SIZE_BYTES)
        command = librdkafka.command(place.port, arguments, properties)
        return count / load.end(load.begin(CLIENT_CORE, command))["seconds"]

    return run(max(PROBE, int(run(PROBE) * seconds)))


def java_transactions(records: int, partitions: int, place: Place, topic: str, seconds: float) -> float:
    """Return transactions a second of Apache Kafka's client, in the second half of the time."""
    place.system.create_topic(place.port, topic, partitions)
    jars = os.path.join(Apache(THEIRS, "4").jars, "*")
    source, target = os.path.join(HERE, f"{JAVA}.java"), os.path.join(BUILT, f"{JAVA}.class")
    built(source, target, ["javac", "-cp", jars, "-d", BUILT, source], "default-jdk-headless")
    arguments = (place.port, topic, 2 * seconds, SIZE_BYTES, records, partitions)
    command = ["java", *JAVA_OPTIONS, "-cp", f"{BUILT}:{jars}", JAVA, *map(str, arguments)]
    found = load.end(load.begin(CLIENT_CORE, command))
    return found["messages"] / found["seconds"]


def committed(place: Place, topic: str, seconds: float) -> float:
    """Return MB a second of committed messages that librdkafka reads, of a topic that is written once."""
    written = f"read-{place.port}"
    properties = {**PLAIN, "records": READ_RECORDS, "aborted": ABORTED, "transactional.id": written}
    if written not in _WRITTEN:
        place.system.create_topic(place.port, written, 1)
        arguments = ("transact", written, READ_TRANSACTIONS, READ_BYTES)
        done = load.end(load.begin(CLIENT_CORE, librdkafka.command(place.port, arguments, properties)))
        _WRITTEN[written] = int(done["messages"])
    name, _, level = COMMITTED.partition("=")
    command = librdkafka.command(place.port, ("consume", written, _WRITTEN[written]), {name: level})
    found = load.end(load.begin(CLIENT_CORE, command))
    return found["bytes"] / found["seconds"] / 1e6


_WRITTEN: dict[str, int] = {}
"""The committed messages of topics that are read."""

CELLS: Mapping[str, Cell] = {
    "10 messages, 1 partition, librdkafka, transactions/s": partial(transactions, 10, 1),
    "10 messages, 1 partition, Java, transactions/s": partial(java_transactions, 10, 1),
    "100 messages, 10 partitions, librdkafka, transactions/s": partial(transactions, 100, 10),
    "100 messages, 10 partitions, Java, transactions/s": partial(java_transactions, 100, 10),
    "read_committed, 1 kB, librdkafka, MB/s": committed,
}


@contextmanager
def running(systems: Sequence[System]) -> Iterator[list[Place]]:
    """Start all systems, and stop each one's process until :func:`awake`."""
    with ExitStack() as stack:
        places = []
        for system in systems:
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")))
            port = free_port()
            server = stack.enter_context(system.start(folder, port, BROKER_CORE))
            places.append(Place(system, server, port))
            server.pause()
        yield places


@contextmanager
def awake(place: Place) -> Iterator[None]:
    """Wake a system, and stop it again at the end."""
    place.server.go_on()
    place.system.wake(place.port)
    try:
        yield
    finally:
        place.server.pause()


def measure(place: Place, cells: Mapping[str, Cell], seconds: float, turn: str) -> dict[str, float]:
    """Measure all cells of one system; one that fails is left out."""
    found = {}
    with awake(place):
        for number, (name, cell) in enumerate(cells.items()):
            told = f"round {turn}: {place.system.name}: {name}"
            try:
                found[name] = cell(place, f"t-{turn}-{number}", seconds)
            except RuntimeError as error:
                print(f"{told}: failed: {error}", flush=True)
            else:
                print(f"{told}: {found[name]:.1f}", flush=True)
    return found


def table(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> str:
    """Return a Markdown table of the rounds' figures by system and cell."""
    lines = ["| | kafkatx | Apache Kafka 4 | ratio |", "|---|---|---|---|"]
    for name in CELLS:
        both = [one for one in rounds if name in one[OURS] and name in one[THEIRS]]
        if not both:
            continue
        ours, theirs = ([one[system][name] for one in both] for system in (OURS, THEIRS))
        ratios = [one[OURS][name] / one[THEIRS][name] for one in both]
        cells = (name, spread(ours, ",.0f"), spread(theirs, ",.0f"), spread(ratios, ".2f"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spread(values: Sequence[float], form: str) -> str:
    """Return ``median (lowest-highest)``."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transactions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a cell with transactions")
    parser.add_argument("--cells", default="", help="measure cells whose names have this text")
    given = parser.parse_args()
    systems = [Kafkatx(OURS), Apache(THEIRS, "4")]
    for system in systems:
        if (missing := system.missing()) is not None:
            parser.error(f"{system.name} cannot be measured: {missing}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the brokers are to end, too
    cells = {name: cell for name, cell in CELLS.items() if given.cells in name}
    begun_s, watch, rounds = time.monotonic(), Watch(), []
    with running(systems) as places:
        for place in places:
            measure(place, cells, given.seconds, "warm")
        for number in range(given.rounds):
            order = places if number % 2 == 0 else places[::-1]
            rounds.append({p.system.name: measure(p, cells, given.seconds, str(number)) for p in order})
    told = ", ".join(f"{system.name} {system.version()}" for system in systems)
    print(
        f"\n{given.rounds} rounds in {time.monotonic() - begun_s:.0f} s; {told}; {machine()};"
        f" {watch.stolen_percent():.0f}% of a core taken by the host\n"
    )
    print(table(rounds))


if __name__ == "__main__":
    main()
