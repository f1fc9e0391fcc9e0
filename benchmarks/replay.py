"""Produce latency while a consumer replays a log, beside the same without it.

    python -m benchmarks.replay [GB] [ROUNDS]

The log is filled; before a cold replay its pages are dropped from the page cache (posix_fadvise). Produced
are 5,000 messages of 200 B a second, each alone in its batch, to another topic of the same broker. The
consumer gets what the others leave of the processors: it would have its own machine.

A second broker on the same machine, with a log of its own, serves the same replays as a control: the
processors, the memory and the disk are as busy then, but the broker that is measured has no part in it.
"""

from __future__ import annotations

import glob
import os
import statistics
import sys
import tempfile

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from benchmarks.clients import begin, outcome

RATE, SLOT_S = 5000, 6
VALUE_BYTES = 1000


def drop_pages(data_dir: str, topic: str) -> None:
    """Drop a topic's files from the page cache, so that the next read comes from the disk."""
    for path in glob.glob(os.path.join(data_dir, f"{topic}-*", "*")):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def paced(port: int) -> dict[str, float]:
    """The figures of one replay."""
    return outcome(begin("paced", port, "new", RATE, SLOT_S))


def beside_a_replay(port: int, replayed: int, messages: int, speeds: list[float]) -> dict[str, float]:
    """The same while the broker at port *replayed* serves a replay, whose MB/s join *speeds*."""
    replay = begin("drain", replayed, "old", messages, idle=True)
    measured = paced(port)
    speeds.append(outcome(replay)["mb_per_s"])
    return measured


def main(gigabytes: float, rounds: int) -> None:
    """Measure and print."""
    parent = os.environ.get("KAFKATX_BENCH_DIR")
    found: dict[str, list[dict[str, float]]] = {}
    speeds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=parent) as own, tempfile.TemporaryDirectory(dir=parent) as other:
        ports = {own: free_port(), other: free_port()}
        with (
            Measured(kafkatx_command(own, ports[own]), ports[own]) as broker,
            Measured(kafkatx_command(other, ports[other]), ports[other]) as control,
        ):
            broker.wait_until_listening()
            control.wait_until_listening()
            for port in ports.values():
                filled = outcome(begin("fill", port, "old", int(gigabytes * 1000), VALUE_BYTES))
            messages = int(filled["messages"])
            for _ in range(rounds):
                found.setdefault("alone", []).append(paced(ports[own]))
                for kind in ("cached", "cold"):
                    for who, data_dir in (("another broker's", other), ("its own", own)):
                        name = f"beside {who} {kind} replay"
                        if kind == "cold":
                            drop_pages(data_dir, "old")
                        found.setdefault(name, []).append(
                            beside_a_replay(
                                ports[own], ports[data_dir], messages, speeds.setdefault(name, [])
                            )
                        )
            print(f"broker RSS {broker.rss_mib():.0f} MiB")
    print(f"produce {RATE} msg/s, {rounds} rounds, median (min-max) of the p99:")
    for name, measured in found.items():
        p99 = [one["p99_ms"] for one in measured]
        ratios = [one / alone["p99_ms"] for one, alone in zip(p99, found["alone"], strict=True)]
        print(
            f"  {name}: p50 {statistics.median(one['p50_ms'] for one in measured):.2f} ms, p99"
            f" {statistics.median(p99):.2f} ms ({min(p99):.2f}-{max(p99):.2f}),"
            f" {statistics.median(ratios):.1f} times that alone"
            + (f"; replay {statistics.median(speeds[name]):.0f} MB/s" if name in speeds else "")
        )
    for kind in ("cached", "cold"):
        pairs = zip(
            found[f"beside its own {kind} replay"],
            found[f"beside another broker's {kind} replay"],
            strict=True,
        )
        ratios = [one["p99_ms"] / controlled["p99_ms"] for one, controlled in pairs]
        print(f"p99 beside its own {kind} replay / beside another broker's: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 4.0,
        int(sys.argv[2]) if len(sys.argv) > 2 else 3,
    )
