"""Latency of produce and consume with a page of the console open and Prometheus at work.

    python -m benchmarks.console [--rounds N] [--seconds S] [--partitions N]

One broker with its defaults on one core, all else on the other: librdkafka sends 1,000 messages of 200 B a
second and reads them (``load.c``). Rounds take turns with and without a watcher, which follows the event
stream of the overview and of a topic, reads the overview's charts each five seconds, and scrapes ``/metrics``
each five seconds. With ``--partitions`` the broker has that many partitions of other topics.

The table has the median over the rounds with the range; ratios are those of a pair of rounds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import librdkafka, load
from benchmarks.compare.machine import Watch, machine
from benchmarks.compare.systems import kafka_topics
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.turns import spread

BROKER_CORE, CLIENT_CORE = 1, 0
RATE, SIZE_BYTES, EVERY_S = 1000, 200, 5.0
PER_TOPIC = 1000
NUMBERS = ("p50_ms", "p99_ms", "p999_ms", "max_ms")
SERIES = "bytesIn,bytesOut,recordsIn,produceRequests,fetchRequests,reactorIdle"


class Watcher:
    """A page that is open, and a scraper."""

    def __init__(self, url: str, topic: str) -> None:
        self._api = f"{url}/console/api/v1"
        self._url = url
        self._topic = topic
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._ask)]
        self.events = self.scraped_bytes = 0

    def start(self) -> None:
        """Open the page."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Close the page."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(EVERY_S + 2)

    def _follow(self) -> None:
        with urllib.request.urlopen(f"{self._api}/events?topics=overview,topic:{self._topic}") as stream:
            while not self._stopping.is_set():
                self.events += stream.readline().startswith(b"event:")

    def _ask(self) -> None:
        while not self._stopping.is_set():
            urllib.request.urlopen(f"{self._api}/history?series={SERIES}&points=300").read()
            self.scraped_bytes += len(urllib.request.urlopen(f"{self._url}/metrics").read())
            self._stopping.wait(EVERY_S)


@contextmanager
def watched(url: str, topic: str) -> Iterator[Watcher]:
    """Keep a page open meanwhile."""
    watcher = Watcher(url, topic)
    watcher.start()
    time.sleep(EVERY_S)  # the first requests import the console
    try:
        yield watcher
    finally:
        watcher.stop()


def measure(port: int, topic: str, seconds: float) -> dict[str, float]:
    """Return the percentiles of one round."""
    kafka_topics.create_topic(port, topic, 1)
    arguments = ("latency", topic, int(RATE * seconds), SIZE_BYTES)
    command = librdkafka.command(port, arguments, {"rate": RATE, "p.linger.ms": 0})
    found = load.end(load.begin(CLIENT_CORE, command))
    return {name: found[name] for name in NUMBERS}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--partitions", type=int, default=0)
    given = parser.parse_args()
    os.sched_setaffinity(0, {CLIENT_CORE})  # the page must not take time from the broker but by its requests
    port, http_port = free_port(), free_port()
    url = f"http://127.0.0.1:{http_port}"
    more = {"http.listeners": f"HTTP://127.0.0.1:{http_port}", "kafkatx.console.enable": "true"}
    watch, rounds = Watch(), list[tuple[dict[str, float], dict[str, float]]]()
    with tempfile.TemporaryDirectory() as folder, Kafkatx(more=more).start(folder, port, BROKER_CORE):
        for number in range(given.partitions // PER_TOPIC):
            kafka_topics.create_topic(port, f"other-{number}", PER_TOPIC)
        measure(port, "warm", given.seconds)
        for number in range(given.rounds):
            alone = measure(port, f"alone-{number}", given.seconds)
            kafka_topics.create_topic(port, f"looked-at-{number}", 1)
            with watched(url, f"looked-at-{number}") as watcher:
                looked_at = measure(port, f"watched-{number}", given.seconds)
            rounds.append((alone, looked_at))
            print(
                f"round {number}: {alone}; {looked_at}; {watcher.events} events,"
                f" {watcher.scraped_bytes:,} B scraped",
                flush=True,
            )
    print(f"\n{machine()}; {watch.stolen_percent():.0f}% of a core taken by the host\n")
    print("| | alone | watched | ratio |\n|---|---|---|---|")
    for name in NUMBERS:
        alone_ms, watched_ms = ([pair[at][name] for pair in rounds] for at in (0, 1))
        ratios = [second / first for first, second in zip(alone_ms, watched_ms, strict=True)]
        cells = (name, spread(alone_ms, ".2f"), spread(watched_ms, ".2f"), spread(ratios, ".2f"))
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
