"""Copies of a topic of Apache Kafka 4: MB/s and CPU of MirrorMaker 2, ``kafkatx mirror run`` and a link.

    python -m benchmarks.mirrors [--rounds N] [--megabytes M] [--size BYTES] [--codec NAME] [--out FILE]

One source with a topic of four partitions is filled; then each mover starts with an empty target and copies
it, all on the same cores, and nothing else runs. The time is from the first copied record to the last: the
start of a process does not count (it is told apart). CPU is that of the mover and its target, without the
source's. The order changes from round to round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from benchmarks.broker_process import free_port
from benchmarks.compare.machine import machine
from benchmarks.compare.systems import kafka_topics
from benchmarks.compare.systems.apache import Apache
from benchmarks.mirrors.movers import TASKS, TOPIC, Mover, fetch, movers
from kafkatx.blocking import Cluster
from kafkatx.clientcore.list_offsets import LATEST
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

POLL_S = 0.05
START_S, COPY_S = 120.0, 600.0


def fill(port: int, count: int, size: int, codec: str) -> None:
    """Make the source's topic and its records."""
    kafka_topics.create_topic(port, TOPIC, TASKS)
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "compression.type": codec,
            "linger.ms": 50,
            "batch.size": 262_144,
            "queue.buffering.max.messages": 200_000,
        }
    )
    line = b"the quick brown fox jumps over the lazy dog; "
    for number in range(count):
        value = (b"%012d " % number + line * (size // len(line) + 1))[:size]
        while True:
            try:
                producer.produce(TOPIC, value, partition=number % TASKS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()


def copied(port: int, topic: str) -> int:
    """Return the number of records of the copy, 0 if it is not there yet."""
    try:
        with Cluster(f"127.0.0.1:{port}") as cluster:
            if topic not in cluster.metadata(None).topics:
                return 0
            ends = cluster.offsets_of({TopicPartition(topic, at): LATEST for at in range(TASKS)}, 0)
            return sum(max(0, offset) for offset, _ in ends.values())
    except KafkaTXError:
        return 0


def measure(mover: Mover, source: str, count: int, megabytes: float) -> dict[str, float]:
    """Copy once."""
    with tempfile.TemporaryDirectory(prefix="kafkatx-mirrors-", ignore_cleanup_errors=True) as folder:
        mover.start_target(folder)
        try:
            begun_s = time.monotonic()
            mover.start(folder, source)
            first_s, before = _wait(mover, 1, begun_s, START_S)
            last_s, _ = _wait(mover, count, begun_s, COPY_S)
            cpu_s = _cpu_s(mover) - before
        finally:
            for server in mover.servers()[::-1]:
                server.stop()
    return {"mb_s": megabytes / (last_s - first_s), "cpu_s_gb": cpu_s / megabytes * 1000, "first_s": first_s}


def _cpu_s(mover: Mover) -> float:
    return sum(server.cpu().total_s for server in mover.servers())


def _wait(mover: Mover, count: int, begun_s: float, most_s: float) -> tuple[float, float]:
    """Wait for records.

    :return: when there were too few for the last time, or at once enough, in seconds; and the CPU time until
        then. For the first record that is a little early: a mover may copy all within a poll.
    """
    at_s, cpu_s = time.monotonic() - begun_s, _cpu_s(mover)
    while copied(mover.port, mover.copy) < count:
        if time.monotonic() - begun_s > most_s:
            raise AssertionError(f"{mover.name}: not {count} records in {most_s} s")
        if count == 1:
            at_s, cpu_s = time.monotonic() - begun_s, _cpu_s(mover)
        time.sleep(POLL_S)
    return (at_s, cpu_s) if count == 1 else (time.monotonic() - begun_s, cpu_s)


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """Return medians and spreads as lines."""
    lines = []
    for name, rounds in found.items():
        for what, unit in (("mb_s", "MB/s"), ("cpu_s_gb", "CPU s/GB"), ("first_s", "s to the first record")):
            values = [one[what] for one in rounds]
            median = statistics.median(values)
            lines.append(f"{name:32} {median:9.2f} ({min(values):.2f}-{max(values):.2f}) {unit}")
    return "\n".join(lines)


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mirrors")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--movers", default="", help="only those whose names contain this text")
    parser.add_argument("--out")
    given = parser.parse_args()
    fetch()
    count = given.megabytes * 1_000_000 // given.size
    found: dict[str, list[dict[str, float]]] = {}
    chosen = [mover for name, mover in movers().items() if given.movers in name]
    apache = Apache("kafka-4", "4")
    missing = apache.missing()
    if missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="kafkatx-source-", ignore_cleanup_errors=True) as folder:
        port = free_port()
        with apache.start(folder, port, None):
            fill(port, count, given.size, given.codec)
            for number in range(given.rounds):
                for mover in chosen if number % 2 == 0 else chosen[::-1]:
                    result = measure(mover, f"127.0.0.1:{port}", count, given.megabytes)
                    found.setdefault(mover.name, []).append(result)
                    sys.stdout.write(f"{number + 1} {mover.name}: {result}\n")
                    sys.stdout.flush()
    sys.stdout.write(table(found) + "\n")
    if given.out:
        figures: dict[str, Any] = {"machine": machine(), "arguments": vars(given), "rounds": found}
        Path(given.out).write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
