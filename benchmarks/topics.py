"""Many topics: to create them, to write to each, to stop, to start and to delete them, beside Apache Kafka 4.

    python -m benchmarks.topics [TOPICS] [--rounds N] [--systems kafkatx,kafka-4] [--syncs]

Requests name 500 topics of one partition each. With ``--syncs`` strace counts the syncs of kafkatx in each
phase, which makes it slower; Apache Kafka is left out then.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.broker_process import free_port
from benchmarks.compare.process import Server
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import System
from kafkatx.blocking import Cluster, Writer
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

SYSTEMS: dict[str, Callable[[], System]] = {
    "kafkatx": Kafkatx,
    "kafka-4": lambda: Apache("kafka-4", "4"),
}
PHASES = ("create", "write", "stop", "start", "delete")
AT_ONCE = 500
TIMEOUT_S = 1800.0
SYNC = re.compile(r"\bf(?:data)?sync\(")


class Phases:
    """The seconds that each phase took, and its syncs if they are counted."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.syncs: dict[str, int] = {}
        self.trace: str | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a phase."""
        before, began_s = self._count(), time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began_s
        self.syncs[name] = self._count() - before

    def _count(self) -> int:
        if self.trace is None or not os.path.exists(self.trace):
            return 0
        with open(self.trace, encoding="ascii", errors="replace") as file:
            return len(SYNC.findall(file.read()))


def parts(names: list[str]) -> Iterator[list[str]]:
    """Yield the topics of each request."""
    for first in range(0, len(names), AT_ONCE):
        yield names[first : first + AT_ONCE]


def create(cluster: Cluster, names: list[str]) -> None:
    """Create topics."""
    for some in parts(names):
        topics = [CreatableTopic(name, 1, 1) for name in some]
        response = cluster.controller_connection().request(CreateTopicsRequest(topics, int(TIMEOUT_S * 1000)))
        assert not any(topic.error_code for topic in response.topics), response.topics[0]


def delete(cluster: Cluster, names: list[str]) -> None:
    """Delete topics."""
    for some in parts(names):
        topics = [DeleteTopicState(name) for name in some]
        request = DeleteTopicsRequest(topics, timeout_ms=int(TIMEOUT_S * 1000))
        response = cluster.controller_connection().request(request)
        assert len(response.responses) == len(some)
        assert not any(topic.error_code for topic in response.responses), response.responses[0]


def write(cluster: Cluster, names: list[str]) -> None:
    """Write one message to each topic."""
    for name in names:
        with Writer(cluster, name) as writer:
            writer.send_lines([b"x" * 100])


def traced(server: Server, path: str) -> subprocess.Popen[bytes]:
    """Begin to count the syncs of a broker."""
    command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", path, "-p", str(server.pid)]
    process = subprocess.Popen(command)
    time.sleep(1.0)
    return process


def measure(system: System, count: int, folder: str, syncs: bool) -> Phases:
    """Measure all phases in new folders."""
    phases, names = Phases(), [f"topic-{number}" for number in range(count)]
    port = free_port()
    with ExitStack() as stack:
        server = stack.enter_context(system.start(folder, port, None))
        tracer = None
        if syncs:
            phases.trace = os.path.join(folder, "syncs")
            tracer = traced(server, phases.trace)
        with Cluster(f"127.0.0.1:{port}", timeout_s=TIMEOUT_S) as cluster:
            with phases.phase("create"):
                create(cluster, names)
            with phases.phase("write"):
                write(cluster, names)
        with phases.phase("stop"):
            server.stop(TIMEOUT_S)
        if tracer is not None:
            tracer.wait()
    with ExitStack() as stack:
        with phases.phase("start"):
            server = stack.enter_context(system.start(folder, port, None))
        tracer = None
        if syncs:
            phases.trace = os.path.join(folder, "syncs-2")
            tracer = traced(server, phases.trace)
        with Cluster(f"127.0.0.1:{port}", timeout_s=TIMEOUT_S) as cluster, phases.phase("delete"):
            delete(cluster, names)
        server.stop(TIMEOUT_S)
        if tracer is not None:
            tracer.wait()
    return phases


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.topics")
    parser.add_argument("topics", type=int, nargs="?", default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--syncs", action="store_true")
    options = parser.parse_args()
    chosen = ["kafkatx"] if options.syncs else options.systems.split(",")
    rounds: dict[str, list[Phases]] = {name: [] for name in chosen}
    for _ in range(options.rounds):
        for name in chosen:
            system = SYSTEMS[name]()
            missing = system.missing()
            if missing is not None:
                raise SystemExit(f"{name}: {missing}")
            with tempfile.TemporaryDirectory(
                dir=os.environ.get("KAFKATX_BENCH_DIR"), ignore_cleanup_errors=True
            ) as folder:
                rounds[name].append(measure(system, options.topics, folder, options.syncs))
    print(f"{options.topics} topics of one partition, {options.rounds} rounds: median seconds (min-max)")
    print("\t".join(["system", *PHASES]))
    for name, found in rounds.items():
        cells = []
        for phase in PHASES:
            values = [one.seconds[phase] for one in found]
            cells.append(f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})")
            if options.syncs:
                cells[-1] += f", {found[-1].syncs[phase]} syncs"
        print("\t".join([name, *cells]))


if __name__ == "__main__":
    main()
