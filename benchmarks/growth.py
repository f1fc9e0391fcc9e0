"""The cost of a large log: throughput beside that of a small one, and the time to open it.

    python -m benchmarks.growth [GB] [ROUNDS]

The same 200 MB are produced and consumed in turn at the end of a log of so many GB and of one that began with
200 MB. Then the broker is stopped, the pages of its files are dropped from the page cache, and it is started.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from benchmarks.clients import begin, outcome
from benchmarks.partitions import start_s
from benchmarks.replay import drop_pages
from kafkatx.config.log_config import LogConfig
from kafkatx.log.files import Files
from kafkatx.log.recovery.loader import load

PART_MB, VALUE_BYTES = 200, 1000
SMALL, LARGE = "small", "large"


def measure(port: int, topic: str, end_offset: int, found: dict[str, list[float]]) -> int:
    """Produce and consume a part; return the topic's new end."""
    filled = outcome(begin("fill", port, topic, PART_MB, VALUE_BYTES))
    count = int(filled["messages"])
    drained = outcome(begin("drain", port, topic, count, end_offset))
    found[f"produce to {topic}"].append(filled["mb_per_s"])
    found[f"consume from {topic}"].append(drained["mb_per_s"])
    return end_offset + count


def throughput(data_dir: str, gigabytes: float, rounds: int) -> None:
    """Measure and print how fast the ends of both logs are."""
    port = free_port()
    names = [f"{verb} {topic}" for verb in ("produce to", "consume from") for topic in (SMALL, LARGE)]
    found: dict[str, list[float]] = {name: [] for name in names}
    with Measured(kafkatx_command(data_dir, port), port) as broker:
        broker.wait_until_listening()
        ends = {}
        for topic, megabytes in ((SMALL, PART_MB), (LARGE, int(gigabytes * 1000))):
            ends[topic] = int(outcome(begin("fill", port, topic, megabytes, VALUE_BYTES))["messages"])
        for _ in range(rounds):
            for topic in (SMALL, LARGE):
                ends[topic] = measure(port, topic, ends[topic], found)
        print(f"broker RSS {broker.rss_mib():.0f} MiB with {gigabytes:g} GB in the log")
    for name, values in found.items():
        print(
            f"{name} log: median {statistics.median(values):.0f} MB/s"
            f" (min {min(values):.0f}, max {max(values):.0f}, {rounds} rounds)"
        )
    for verb in ("produce to", "consume from"):
        pairs = zip(found[f"{verb} {LARGE}"], found[f"{verb} {SMALL}"], strict=True)
        ratio = statistics.median(large / small for large, small in pairs)
        print(f"{verb} large / small: {ratio:.2f}")


def opening(data_dir: str, rounds: int) -> None:
    """Measure and print how long it takes to open the large log."""
    directory = os.path.join(data_dir, f"{LARGE}-0")
    for name, cold in (("cold", True), ("in the page cache", False)):
        seconds = []
        for _ in range(rounds):
            if cold:
                drop_pages(data_dir, LARGE)
            start = time.perf_counter()
            load(Files(), directory, LogConfig(), int(time.time() * 1000), clean=True)
            seconds.append(time.perf_counter() - start)
        print(
            f"open the large log, {name}: median {statistics.median(seconds):.3f} s (max {max(seconds):.3f})"
        )
    starts: dict[str, list[float]] = {"empty": [], "large": []}
    with tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as empty:
        for _ in range(rounds):
            drop_pages(data_dir, LARGE)
            for name, path in (("empty", empty), ("large", data_dir)):
                port = free_port()
                with Measured(kafkatx_command(path, port), port) as broker:
                    starts[name].append(start_s(broker, LARGE))
    print(
        f"process start to metadata: {statistics.median(starts['large']):.2f} s with the large log, cold,"
        f" {statistics.median(starts['empty']):.2f} s with none"
    )


def main(gigabytes: float, rounds: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as data_dir:
        throughput(data_dir, gigabytes, rounds)
        opening(data_dir, rounds)


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 10.0,
        int(sys.argv[2]) if len(sys.argv) > 2 else 5,
    )
