"""Throughput of several broker processes on two cores, beside one process and Apache Kafka on the same cores.

    python -m benchmarks.brokers [--rounds N] [--brokers N] [--systems NAME,...] [--seconds N]

The systems are ``one`` (one kafkatx broker), ``many`` (``kafkatx up --brokers N``) and ``apache`` (Apache
Kafka 3.9, one broker). In each round each of them starts with empty data, on the first two cores; a topic
with four partitions is made, and four processes send requests that were made beforehand, each to one
partition at its leader. They do not decode answers, so that they cost next to nothing. They run on the
other cores, or on a machine with two cores on the same ones. The table has the median over the rounds, and
the range; ratios are those within a round.

The last columns tell what bounds the throughput: the share of the brokers' cores that brokers and loads
took. If it is 100 % together, the processors are the bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import load, replay
from benchmarks.compare.loads.replay import Batch
from benchmarks.compare.process import Server
from benchmarks.compare.systems import kafka_topics
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import START_S, log_path, serves_kafka
from kafkatx.blocking import Cluster
from kafkatx.errors import KafkaTXError
from kafkatx.records.builder import build_values

CORES = sorted(os.sched_getaffinity(0))
BROKER_CORES = CORES[:2]
LOAD_CORES = CORES[2:] or CORES
PARTITIONS = 4
VALUE_BYTES = 200
MOST_REQUESTS = 10_000_000
FETCH_BYTES = 1 << 20
LATEST = -1
BASE, MANY = "one", "many"


@attrs.frozen
class Load:
    """Requests that are sent again and again.

    :ivar values: number of messages in a produce request.
    :ivar fetches: the messages of this load are read afterwards.
    """

    name: str
    values: int
    fetches: bool = False


LOADS = (Load("produce, 1 message a request", 1), Load("produce, 80 messages a request", 80, True))


@attrs.frozen
class Measured:
    """The figures of one load on one system in one round.

    :ivar busy: share of the brokers' cores that the brokers took.
    :ivar loaded: the same for the loads, if they run on the same cores.
    """

    requests_per_s: float
    mb_per_s: float
    busy: float
    loaded: float


@contextmanager
def on_cores(cores: Sequence[int]) -> Iterator[None]:
    """Start processes on some cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def start_one(folder: str, port: int, brokers: int) -> Server:
    """Start one kafkatx broker."""
    return Kafkatx().start(folder, port, None)


def start_many(folder: str, port: int, brokers: int) -> Server:
    """Start a supervisor with several brokers, which share the bootstrap port."""
    command = [sys.executable, "-m", "kafkatx", "up", "--brokers", str(brokers), "--port", str(port)]
    command += ["--data", os.path.join(folder, "data")]
    server = Server(command, log_path(folder), None, {"PYTHONDONTWRITEBYTECODE": ""})
    server.wait_for(lambda: serves_kafka(port)() and _registered(port) == brokers, START_S)
    return server


def start_apache(folder: str, port: int, brokers: int) -> Server:
    """Start Apache Kafka with the settings that it is distributed with."""
    return Apache("kafka-3.9", "3.9").start(folder, port, None)


SYSTEMS: Mapping[str, Callable[[str, int, int], Server]] = {
    BASE: start_one,
    MANY: start_many,
    "apache": start_apache,
}


def _registered(port: int) -> int:
    """Return how many brokers a cluster has; 0 if none of them answers."""
    try:
        with Cluster(f"127.0.0.1:{port}") as cluster:
            return len(cluster.brokers())
    except KafkaTXError:
        return 0


def measure(system: str, brokers: int, seconds: int) -> dict[str, Measured]:
    """Start a system, load it, and stop it."""
    found = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as folder:
        port = free_port()
        with on_cores(BROKER_CORES):
            server = SYSTEMS[system](folder, port, brokers)
        with server:
            for number, one in enumerate(LOADS):
                topic = f"load-{number}"
                ports = _make_topic(port, topic)
                found[one.name] = _produce(server, folder, topic, ports, one, seconds)
                if one.fetches:
                    found["fetch"] = _fetch(server, folder, topic, port, ports)
    return found


def _make_topic(port: int, topic: str) -> list[int]:
    """Make a topic; return the port of the leader of each partition."""
    kafka_topics.create_topic(port, topic, PARTITIONS)
    deadline = time.monotonic() + START_S
    with Cluster(f"127.0.0.1:{port}") as cluster:
        while True:
            found = cluster.metadata([topic])
            leaders = [found.brokers.get(p.leader) for p in found.topics[topic].partitions.values()]
            ports = [node.port for node in leaders if node is not None]
            if len(ports) == PARTITIONS:
                cluster.offsets(
                    topic, dict.fromkeys(range(PARTITIONS), LATEST)
                )  # each leader knows that it is
                return ports
            if time.monotonic() > deadline:
                raise RuntimeError(f"partitions of {topic} have no leader: {found}")
            time.sleep(0.1)


def _produce(
    server: Server, folder: str, topic: str, ports: Sequence[int], one: Load, seconds: int
) -> Measured:
    batch = Batch(build_values([b"x" * VALUE_BYTES] * one.values, int(time.time() * 1000)), one.values)
    commands = []
    for partition, port in enumerate(ports):
        request = replay.produce_request(topic, 1, batch.data, partition)
        path = _kept(folder, f"{topic}-{partition}", request)
        commands.append(
            replay.produce_command(port, path, topic, 1, batch, VALUE_BYTES, MOST_REQUESTS, seconds)
        )
    return _run(server, commands, one.values)


def _fetch(server: Server, folder: str, topic: str, port: int, ports: Sequence[int]) -> Measured:
    with Cluster(f"127.0.0.1:{port}") as cluster:
        ends = cluster.offsets(topic, dict.fromkeys(range(PARTITIONS), LATEST))
    commands = []
    for partition, leader in enumerate(ports):
        request, offset_at = replay.fetch_request(topic, FETCH_BYTES, partition)
        path = _kept(folder, f"fetch-{partition}", request)
        commands.append(replay.fetch_command(leader, path, offset_at, topic, VALUE_BYTES, ends[partition][0]))
    return _run(server, commands, FETCH_BYTES // VALUE_BYTES)


def _kept(folder: str, name: str, request: bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(request)
    return path


def _run(server: Server, commands: Sequence[Sequence[str]], messages_per_request: int) -> Measured:
    os.sync()
    before, began_s = server.cpu(), time.perf_counter()
    with on_cores(LOAD_CORES):
        running = [load.begin(None, command) for command in commands]
    done = [load.end(one) for one in running]
    took_s = time.perf_counter() - began_s
    cores_s = took_s * len(BROKER_CORES)
    shared = set(LOAD_CORES) & set(BROKER_CORES)
    return Measured(
        sum(one["messages"] / one["seconds"] for one in done) / messages_per_request,
        sum(one["bytes"] / one["seconds"] for one in done) / 1e6,
        server.cpu().since(before).total_s / cores_s,
        sum(one["cpu_s"] for one in done) / cores_s if shared else 0.0,
    )


def table(rounds: Sequence[Mapping[str, Mapping[str, Measured]]]) -> str:
    """Return a Markdown table: for each load and system the median, the range, and the ratio to one broker.

    :param rounds: for each round the figures by system and load.
    """
    lines = ["| load | system | MB/s | requests/s | to one broker | brokers' CPU | loads' CPU |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name in rounds[0][next(iter(rounds[0]))]:
        for system in rounds[0]:
            found = [one[system][name] for one in rounds]
            ratios = []
            if BASE in rounds[0]:
                ratios = [one[system][name].mb_per_s / one[BASE][name].mb_per_s for one in rounds]
            cells = [
                name,
                system,
                spread([one.mb_per_s for one in found], ".1f"),
                spread([one.requests_per_s for one in found], ".0f"),
                spread(ratios, ".2f") if ratios and system != BASE else "",
                f"{statistics.median(one.busy for one in found):.0%}",
                f"{statistics.median(one.loaded for one in found):.0%}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spread(values: Sequence[float], form: str) -> str:
    """Return ``median (lowest-highest)``."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.brokers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--brokers", type=int, default=2, help="brokers of the system 'many'")
    parser.add_argument("--seconds", type=int, default=5, help="duration of a produce load")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    given = parser.parse_args()
    systems = given.systems.split(",")
    if "apache" in systems:
        missing = Apache("kafka-3.9", "3.9").missing()
        if missing is not None:
            parser.error(f"Apache Kafka cannot be measured: {missing}")
    rounds = []
    for number in range(given.rounds):
        # each system has each place in the order equally often
        order = systems[number % len(systems) :] + systems[: number % len(systems)]
        figures = {system: measure(system, given.brokers, given.seconds) for system in order}
        rounds.append({system: figures[system] for system in systems})
        for system in systems:
            for name, one in figures[system].items():
                print(
                    f"round {number + 1}: {system}: {name}: {one.mb_per_s:.1f} MB/s,"
                    f" {one.requests_per_s:.0f} requests/s, brokers' CPU {one.busy:.0%},"
                    f" loads' CPU {one.loaded:.0%}",
                    flush=True,
                )
    print(f"\nbrokers on cores {BROKER_CORES}, loads on {LOAD_CORES}, {given.brokers} brokers in 'many'\n")
    print(table(rounds))


if __name__ == "__main__":
    main()
