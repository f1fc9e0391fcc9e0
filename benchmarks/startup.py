"""Start-up: process start to the first served request, memory at rest, restart after kill -9.

python -m benchmarks.startup [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from kafkatx.blocking import Cluster, Writer


def first_metadata_s(broker: Measured) -> float:
    """Seconds from the process's start to the first metadata reply."""
    broker.wait_until_listening()
    with Cluster(f"127.0.0.1:{broker.port}") as cluster:
        cluster.metadata([])
        return time.perf_counter() - broker.started_s


def main(rounds: int) -> None:
    """Measure and print."""
    fresh, killed, clean, rss = [], [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as data_dir:
            port = free_port()
            command = kafkatx_command(data_dir, port)
            with Measured(command, port) as broker:
                fresh.append(first_metadata_s(broker))
                time.sleep(0.5)
                rss.append(broker.rss_mib())
                with Cluster(f"127.0.0.1:{port}") as cluster, Writer(cluster, "t") as writer:
                    writer.send_lines([b"x" * 200] * 500_000)
                broker.kill()
            with Measured(command, port) as broker:
                killed.append(first_metadata_s(broker))
            with Measured(command, port) as broker:
                clean.append(first_metadata_s(broker))
    for name, values, unit in (
        ("process start to first metadata reply, empty", fresh, "s"),
        ("the same after kill -9 with 100 MB in the log", killed, "s"),
        ("the same after a clean stop with 100 MB in the log", clean, "s"),
        ("RSS at rest", rss, "MiB"),
    ):
        print(
            f"{name}: median {statistics.median(values):.2f} {unit}"
            f" (min {min(values):.2f}, max {max(values):.2f}, {rounds} rounds)"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
