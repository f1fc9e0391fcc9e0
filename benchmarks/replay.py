"""Produce latency while a consumer replays cold data, beside the same without it.

    python -m benchmarks.replay [GB] [ROUNDS]

The log is filled, then its pages are dropped from the page cache (posix_fadvise) before each replay. Produced
are 5,000 messages of 200 B a second, each alone in its batch, to another topic of the same broker. The
consumer gets what the others leave of the processors: it would have its own machine, and with all on two
cores the processor would be measured.
"""

from __future__ import annotations

import glob
import os
import statistics
import sys
import tempfile

from benchmarks.clients import begin, outcome
from benchmarks.running import Measured, free_port, kafkatx_command

RATE, SLOT_S = 5000, 6
VALUE_BYTES = 1000


def drop_pages(data_dir: str, topic: str) -> None:
    """Have the disk read whatever is read next of a topic."""
    for path in glob.glob(os.path.join(data_dir, f"{topic}-*", "*")):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def main(gigabytes: float, rounds: int) -> None:
    """Measure and print."""
    quiet, busy, cached, speeds, warm = [], [], [], [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as data_dir:
        port = free_port()
        with Measured(kafkatx_command(data_dir, port), port) as broker:
            broker.wait_until_listening()
            filled = outcome(begin("fill", port, "old", int(gigabytes * 1000), VALUE_BYTES))
            print(f"filled {gigabytes:g} GB at {filled['mb_per_s']:.0f} MB/s", flush=True)
            for _ in range(rounds):
                quiet.append(outcome(begin("paced", port, "new", RATE, SLOT_S)))
                drop_pages(data_dir, "old")
                replay = begin("drain", port, "old", int(filled["messages"]), idle=True)
                busy.append(outcome(begin("paced", port, "new", RATE, SLOT_S)))
                speeds.append(outcome(replay)["mb_per_s"])
                replay = begin("drain", port, "old", int(filled["messages"]), idle=True)
                cached.append(outcome(begin("paced", port, "new", RATE, SLOT_S)))
                warm.append(outcome(replay)["mb_per_s"])
            print(f"broker RSS {broker.rss_mib():.0f} MiB")
    for name, found in (
        ("alone", quiet),
        ("during a replay from the page cache", cached),
        ("during a cold replay", busy),
    ):
        p99 = [one["p99_ms"] for one in found]
        p50 = [one["p50_ms"] for one in found]
        print(
            f"produce {RATE} msg/s {name}: p50 {statistics.median(p50):.2f} ms, p99"
            f" {statistics.median(p99):.2f} ms (min {min(p99):.2f}, max {max(p99):.2f}, {rounds} rounds)"
        )
    for name, found in (("page cache", cached), ("cold", busy)):
        ratios = [one["p99_ms"] / alone["p99_ms"] for one, alone in zip(found, quiet, strict=True)]
        print(f"p99 during the {name} replay / alone, in the same round: {statistics.median(ratios):.2f}")
    print(
        f"replay beside the producer: cold {statistics.median(speeds):.0f} MB/s, from the page cache"
        f" {statistics.median(warm):.0f} MB/s"
    )


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 4.0,
        int(sys.argv[2]) if len(sys.argv) > 2 else 3,
    )
