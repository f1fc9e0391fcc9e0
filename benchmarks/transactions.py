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
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import attrs

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import librdkafka, load
from benchmarks.compare.loads.build import BUILT, HERE, built
from benchmarks.compare.process import Server
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import System
from benchmarks.turns import OURS, THEIRS, Figures, run

BROKER_CORE, CLIENT_CORE = 1, 0
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


Rate = Callable[[Place, str, float], float]
"""Measures for some seconds with a topic of this name; returns a rate."""


def transactions(records: int, partitions: int, place: Place, topic: str, seconds: float) -> float:
    """Return transactions a second of librdkafka."""
    place.system.create_topic(place.port, topic, partitions)
    properties = {**PLAIN, "records": records, "partitions": partitions, "transactional.id": topic}

    def transact(count: int) -> float:
        arguments = ("transact", topic, count, SIZE_BYTES)
        command = librdkafka.command(place.port, arguments, properties)
        return count / load.end(load.begin(CLIENT_CORE, command))["seconds"]

    return transact(max(PROBE, int(transact(PROBE) * seconds)))


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

CELLS: Mapping[str, Rate] = {
    "10 messages, 1 partition, librdkafka, transactions/s": partial(transactions, 10, 1),
    "10 messages, 1 partition, Java, transactions/s": partial(java_transactions, 10, 1),
    "100 messages, 10 partitions, librdkafka, transactions/s": partial(transactions, 100, 10),
    "100 messages, 10 partitions, Java, transactions/s": partial(java_transactions, 100, 10),
    "read_committed, 1 kB, librdkafka, MB/s": committed,
}


@contextmanager
def running(systems: Sequence[System]) -> Iterator[list[Place]]:
    """Start all systems, and stop each one's process until it is measured."""
    with ExitStack() as stack:
        places = []
        for system in systems:
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")))
            port = free_port()
            server = stack.enter_context(system.start(folder, port, BROKER_CORE))
            places.append(Place(system, server, port))
            server.pause()
        yield places


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transactions")
    systems = [Kafkatx(OURS), Apache(THEIRS, "4")]
    for system in systems:
        if (missing := system.missing()) is not None:
            parser.error(f"{system.name} cannot be measured: {missing}")
    run(parser, {name: partial(_named, name, cell) for name, cell in CELLS.items()}, lambda: running(systems))


def _named(name: str, rate: Rate, place: Place, topic: str, seconds: float) -> Figures:
    return {name: rate(place, topic, seconds)}


if __name__ == "__main__":
    main()
