"""Many partitions on one broker: making them, starting with them, memory, and produce latency to any of them.

python -m benchmarks.partitions [PARTITIONS] [ROUNDS]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from benchmarks.clients import begin, outcome
from kafkatx.blocking import Admin, Cluster

FEW, AT_ONCE = 10, 1000
RATE = 1000


def create(port: int, topic: str, partitions: int) -> float:
    """Seconds that one CreateTopics request takes."""
    with Cluster(f"127.0.0.1:{port}", timeout_s=120) as cluster:
        start = time.perf_counter()
        Admin(cluster).create_topic(topic, partitions)
        return time.perf_counter() - start


def start_s(broker: Measured, topic: str) -> float:
    """Seconds from the process's start until it tells of a topic."""
    broker.wait_until_listening()
    with Cluster(f"127.0.0.1:{broker.port}", timeout_s=120) as cluster:
        cluster.metadata([topic])
        return time.perf_counter() - broker.started_s


def main(partitions: int, rounds: int) -> None:
    """Measure and print."""
    starts, few, many, again = [], [], [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as data_dir:
        port = free_port()
        command = kafkatx_command(data_dir, port)
        with Measured(command, port) as broker:
            broker.wait_until_listening()
            create(port, "few", FEW)
            print(f"CreateTopics of {AT_ONCE} partitions: {create(port, 'some', AT_ONCE):.2f} s")
            print(f"CreateTopics of {partitions} partitions: {create(port, 'many', partitions):.2f} s")
            fresh = broker.rss_mib()
            outcome(begin("each", port, "many", 10 * RATE, partitions, partitions))
            print(f"RSS {fresh:.0f} MiB, {broker.rss_mib():.0f} MiB when all were written to", flush=True)
            stopping = time.perf_counter()
        print(f"clean shutdown: {time.perf_counter() - stopping:.2f} s")
        for number in range(rounds):
            port = free_port()
            with Measured(kafkatx_command(data_dir, port), port) as broker:
                starts.append(start_s(broker, "many"))
                if not number:
                    print(f"RSS after the start {broker.rss_mib():.0f} MiB", flush=True)
                few.append(outcome(begin("each", port, "few", RATE, partitions, FEW)))
                many.append(outcome(begin("each", port, "many", RATE, partitions, partitions)))
                again.append(outcome(begin("each", port, "many", RATE, partitions, partitions)))
    print(
        f"start after a clean shutdown with {partitions} partitions: median {statistics.median(starts):.2f} s"
        f" (min {min(starts):.2f}, max {max(starts):.2f}, {rounds} rounds)"
    )
    for name, found in (
        (f"{FEW}", few),
        (f"the first time {partitions}", many),
        (f"the second time {partitions}", again),
    ):
        p50 = [one["p50_ms"] for one in found]
        p99 = [one["p99_ms"] for one in found]
        print(
            f"produce {RATE} requests/s over {name} partitions: p50 {statistics.median(p50):.2f} ms, p99"
            f" {statistics.median(p99):.2f} ms (min {min(p99):.2f}, max {max(p99):.2f}, {rounds} rounds)"
        )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 10_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 3,
    )
