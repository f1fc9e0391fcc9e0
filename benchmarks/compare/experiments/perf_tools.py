"""Experiment (j): Apache Kafka's own measuring tools, of one version for all systems."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place, measured
from benchmarks.compare.systems.apache import JVM, Apache

TOOLS = Apache("tools", "4")
# bin/kafka-producer-perf-test.sh and bin/kafka-consumer-perf-test.sh; numbers with a point wherever we are
OPTIONS = ("-Xmx512M", *(option for option in JVM if not option.startswith("-Xm")), "-Duser.language=en")
COUNT, SIZE_BYTES = 2_000_000, 200
MOST_S = 600
PRODUCED = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec \(", re.MULTILINE)
CONSUMED_COLUMNS = 10


class Told(NamedTuple):
    """Read the figures that a tool prints."""

    messages: int
    seconds: float


def told_by_producer(output: str) -> Told:
    """Read the last line that ``ProducerPerformance`` prints: the one of the whole run.

    :raises RuntimeError: there is none.
    """
    found = PRODUCED.findall(output)
    if not found:
        raise RuntimeError(f"kafka-producer-perf-test printed no result: {output.strip()[-500:]}")
    messages, per_s = found[-1]
    return Told(int(messages), int(messages) / float(per_s))


def told_by_consumer(output: str) -> Told:
    """Read the line that ``ConsumerPerformance --hide-header`` prints.

    Its columns: start, end, MiB, MiB/s, messages, messages/s, ms of joining the group, ms of fetching,
    MiB and messages per second of fetching. The last ones leave out what joining took.

    :raises RuntimeError: there is none.
    """
    rows = [line.split(", ") for line in output.splitlines()]
    found = [row for row in rows if len(row) == CONSUMED_COLUMNS and row[4].isdigit()]
    if not found:
        raise RuntimeError(f"kafka-consumer-perf-test printed no result: {output.strip()[-500:]}")
    return Told(int(found[-1][4]), max(int(found[-1][7]), 1) / 1000)


def _run(
    place: Place, tool: str, arguments: Sequence[object], count: int, read: Callable[[str], Told]
) -> Metrics:
    """Run a tool to its end, and see what it costs the broker.

    :raises RuntimeError: it cannot be had, failed, or lost messages.
    """
    missing = TOOLS.missing()
    if missing:
        raise RuntimeError(missing)
    pinned = ["taskset", "--cpu-list", str(place.client_core)] if place.client_core is not None else []
    command = TOOLS.command(f"org.apache.kafka.tools.{tool}", *map(str, arguments), options=OPTIONS)
    before, used_s = place.server.cpu(), _children_cpu_s()
    done = subprocess.run([*pinned, *command], capture_output=True, text=True, timeout=MOST_S)
    cpu = place.server.cpu().since(before)
    if done.returncode:
        raise RuntimeError(f"{tool}: {(done.stderr or done.stdout).strip()[-500:]}")
    told = read(done.stdout)
    if told.messages < count:
        raise RuntimeError(f"{tool}: {told.messages} of {count} messages")
    load = {
        "messages": told.messages,
        "bytes": told.messages * SIZE_BYTES,
        "seconds": told.seconds,
        "cpu_s": _children_cpu_s() - used_s,
    }
    return measured(place, load, cpu, None)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _producer(place: Place, topic: str, count: int) -> Metrics:
    arguments = ["--topic", topic, "--num-records", count, "--record-size", SIZE_BYTES, "--throughput", -1]
    arguments += ["--bootstrap-server", f"127.0.0.1:{place.port}", "--command-property", "acks=1"]
    return _run(place, "ProducerPerformance", arguments, count, told_by_producer)


def _produce(place: Place) -> Metrics:
    return _producer(place, place.topic(), place.count(COUNT))


def _consume(place: Place) -> Metrics:
    """Consume what the other tool has produced."""
    topic, count = place.topic(), place.count(COUNT)
    _producer(place, topic, count)
    arguments = ["--topic", topic, "--num-records", count, "--hide-header", "--timeout", 60_000]
    arguments += ["--bootstrap-server", f"127.0.0.1:{place.port}"]
    return _run(place, "ConsumerPerformance", arguments, count, told_by_consumer)


PERF_TOOLS = Experiment(
    "j",
    "Apache Kafka's own kafka-producer-perf-test and kafka-consumer-perf-test, 200 B",
    "ours",
    ("records_per_s", "throughput_mb_per_s", "broker_cpu_s_per_gb"),
    [Cell("producer", _produce), Cell("consumer", _consume)],
)
