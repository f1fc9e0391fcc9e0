"""Spark's own Kafka source and ours, in one Spark on one broker: rows a second and memory.

python -m benchmarks.spark [ROUNDS] [RECORDS]

Records of 100 bytes in 4 partitions are counted, and written to Parquet, with both sources in turn; broker,
driver and workers share the machine. Needs Java and Maven, and runs in the environment that the client matrix
makes for Spark: Spark's source is not in Maven for every Spark.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.broker_process import TICKS, Measured, free_port, kafkatx_command
from kafkatx.blocking import Admin, Cluster, Writer
from tests.clients.spark import spark_with_jars
from tests.clients.toolchains import ROOT, SPARK, prepare

TOPIC = "rows"
PARTITIONS = 4
SIZE = 100
BATCH = 5_000
SOURCES = ("kafka", "kafkatx")


def produce(port: int, records: int) -> None:
    """Fill the topic with values that do not compress by much."""
    draw = random.Random(0)
    with Cluster(f"127.0.0.1:{port}") as cluster:
        Admin(cluster).create_topic(TOPIC, PARTITIONS)
        with Writer(cluster, TOPIC) as writer:
            for number in range(records // BATCH):
                values = [draw.randbytes(SIZE // 2).hex().encode() for _ in range(BATCH)]
                writer.send_values(values, partition=number % PARTITIONS)


def usage() -> tuple[float, float]:
    """CPU seconds of the JVM and the Python workers that are ours; the most MiB that a worker has had."""
    parents, cpu_s, peaks = {}, {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            command, stat, status = (_read(entry, name) for name in ("cmdline", "stat", "status"))
        except OSError:
            continue  # it has ended
        process, fields = int(entry), stat.rsplit(")", 1)[1].split()
        parents[process] = int(fields[1])
        if "pyspark" in command:  # the JVM has it in its paths
            cpu_s[process] = sum(map(int, fields[11:15])) / TICKS
        if "-m\0pyspark." in command:
            peaks[process] = int(status.split("VmHWM:")[1].split()[0]) / 1024 if "VmHWM:" in status else 0.0
    ours = {process for process in cpu_s if _below(process, parents)}
    return sum(cpu_s[process] for process in ours), max(
        (peaks.get(process, 0.0) for process in ours), default=0.0
    )


def _read(process: str, name: str) -> str:
    with open(f"/proc/{process}/{name}") as file:
        return file.read()


def _below(process: int, parents: dict[int, int]) -> bool:
    while process in parents:
        process = parents[process]
        if process == os.getpid():
            return True
    return False


class Cost(NamedTuple):
    """One query."""

    per_s: float
    cpu_us: float


def timed(query: Callable[[], object], records: int) -> Cost:
    """Rows a second, and CPU time a row: that of Spark, without the broker's."""
    start, used = time.perf_counter(), usage()[0]
    query()
    return Cost(records / (time.perf_counter() - start), (usage()[0] - used) / records * 1e6)


def measure(session: Any, port: int, source: str, folder: str, records: int) -> tuple[Cost, Cost]:
    """A count, and a copy to Parquet."""
    reader = session.read.format(source).option("kafka.bootstrap.servers", f"127.0.0.1:{port}")
    table = reader.option("subscribe", TOPIC).load()
    writer = table.write.mode("overwrite")
    return timed(table.count, records), timed(lambda: writer.parquet(os.path.join(folder, source)), records)


def show(query: str, costs: dict[str, list[Cost]]) -> None:
    """Print the medians of a query, and our source beside Spark's."""
    medians = {}
    for source, rows in costs.items():
        per_s, cpu_us = (statistics.median(column) for column in zip(*rows, strict=True))
        medians[source] = per_s
        spread = f"{min(rows).per_s / 1e6:.2f}-{max(rows).per_s / 1e6:.2f}"
        print(f"{query}, {source}: {per_s / 1e6:.2f} M rows/s ({spread}), {cpu_us:.2f} us of CPU a row")
    print(f"{query}: {medians['kafkatx'] / medians['kafka']:.2f} times Spark's own")


def main(rounds: int, records: int) -> None:
    """Measure and print."""
    port = free_port()
    found: dict[str, list[tuple[Cost, Cost]]] = {source: [] for source in SOURCES}
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as folder,
        Measured(kafkatx_command(os.path.join(folder, "log"), port), port) as broker,
    ):
        broker.wait_until_listening()
        produce(port, records)
        session = spark_with_jars()
        for number in range(rounds + 1):
            for source in SOURCES if number % 2 else SOURCES[::-1]:
                measured = measure(session, port, source, folder, records)
                if number:  # the first round warms the JVM up
                    found[source].append(measured)
        peak = usage()[1]
        session.stop()
    print(f"Spark {session.version}, {records:,} records of {SIZE} B in {PARTITIONS} partitions, local[2]")
    print(f"medians of {rounds} rounds, after one to warm up")
    for index, query in enumerate(("count", "to Parquet")):
        show(query, {source: [costs[index] for costs in found[source]] for source in SOURCES})
    print(f"largest Python worker: {peak:.0f} MiB")


if __name__ == "__main__":
    if sys.prefix != SPARK:
        prepare("spark")
        command = [f"{SPARK}/bin/python", "-m", "benchmarks.spark", *sys.argv[1:]]
        os.execve(command[0], command, os.environ | {"PYTHONPATH": ROOT})
    given = [int(number) for number in sys.argv[1:]]
    main(*(given + [5, 5_000_000][len(given) :]))
