"""Compaction: its speed, and what produce latency costs while it is at work.

    python -m benchmarks.compaction [MEGABYTES] [RATE]

A broker gets MEGABYTES (1000) of keyed records of 200 bytes, 10% of the keys distinct. Then, in a new broker
process on the same data, single records are produced to another topic at RATE (2000) a second, acks=1: first
with the cleaner switched off, then while it compacts the whole. Between them, as a control, another broker
on the same machine compacts a copy: the processors and the disk are as busy then, but the broker that is
measured is not.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.broker_process import free_port, kafkatx_command

RECORD_BYTES = 200
KEY_BYTES = 16
COMPACTED = re.compile(r"compacted keyed-0 up to offset (\d+): (\d+) to (\d+) bytes in ([\d.]+) s")
SECONDS_QUIET = 15.0
MOST_SECONDS = 600.0


class Broker:
    """A broker process whose log is kept."""

    def __init__(self, data_dir: str, *settings: str) -> None:
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # lives as long as the process
        command = kafkatx_command(data_dir, self.port, settings)
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)
        while "kafkatx is ready" not in self.output():
            time.sleep(0.05)
            if self._process.poll() is not None:
                raise RuntimeError(self.output())

    def output(self) -> str:
        """All that it has logged."""
        return os.pread(self._log.fileno(), 1 << 24, 0).decode()

    def stop(self) -> None:
        """Stop it cleanly."""
        self._process.terminate()
        self._process.wait()


def fill(broker: Broker, megabytes: int) -> int:
    """Create the topics and produce the records; return how many there are."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    topics = [
        NewTopic("keyed", 1, 1, config={"cleanup.policy": "compact", "segment.bytes": str(64 << 20)}),
        NewTopic("live", 1, 1),
    ]
    for made in admin.create_topics(topics).values():
        made.result(30)
    count = megabytes * 1_000_000 // RECORD_BYTES
    keys = random.Random(1)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 20,
            "queue.buffering.max.messages": 500_000,
            "log_level": 0,
        }
    )
    value = os.urandom(RECORD_BYTES - KEY_BYTES)
    for number in range(count):
        key = b"%016d" % keys.randrange(count // 10)
        while True:
            try:
                producer.produce("keyed", value, key)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(120)
    return count


class Load:
    """Single records at a fixed rate, and how long each took to be acknowledged."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self._rate = rate
        self._took_ms: list[float] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": 1, "log_level": 0})

    def run(self, until: Any) -> list[float]:
        """Produce until *until*, asked now and then, says so; return the latencies in ms, sorted."""
        self._took_ms = []
        began = time.perf_counter()
        sent = 0
        while sent % 100 or not until(time.perf_counter() - began):
            while time.perf_counter() - began < sent / self._rate:
                self._producer.poll(0.0002)
            self._produce()
            sent += 1
        self._producer.flush(30)
        return sorted(self._took_ms)

    def _produce(self) -> None:
        at = time.perf_counter()

        def delivered(error: Any, _: Any) -> None:
            if error is None:
                self._took_ms.append((time.perf_counter() - at) * 1000)

        self._producer.produce("live", b"x" * RECORD_BYTES, on_delivery=delivered)
        self._producer.poll(0)


def told(name: str, took_ms: list[float]) -> float:
    """Print the percentiles; return the 99th."""
    cuts = statistics.quantiles(took_ms, n=1000)
    print(
        f"{name}: p50 {cuts[499]:.2f} ms, p99 {cuts[989]:.2f} ms, p99.9 {cuts[998]:.2f} ms,"
        f" max {took_ms[-1]:.1f} ms ({len(took_ms)} records)",
        flush=True,
    )
    return cuts[989]


def beside_a_pass(load: Load, cleaning: Broker) -> tuple[list[float], float]:
    """Produce until a broker has compacted its log; return the latencies and the MB/s of the pass.

    :raises RuntimeError: it has not within MOST_SECONDS.
    """
    took_ms = load.run(lambda s: s > MOST_SECONDS or COMPACTED.search(cleaning.output()))
    found = COMPACTED.search(cleaning.output())
    if found is None:
        raise RuntimeError(f"no pass has ended within {MOST_SECONDS:.0f} s")
    return took_ms, int(found[2]) / float(found[4]) / 1e6


def main(megabytes: int, rate: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as parent:
        data_dir, copy = os.path.join(parent, "own"), os.path.join(parent, "copy")
        broker = Broker(data_dir, "log.cleaner.enable=false")
        print(f"{fill(broker, megabytes)} records of {RECORD_BYTES} bytes", flush=True)
        broker.stop()
        shutil.copytree(data_dir, copy)
        os.sync()

        broker = Broker(data_dir, "log.cleaner.enable=false")
        load = Load(broker.bootstrap, rate)
        quiet = told(f"produce {rate}/s, no compaction", load.run(lambda s: s > SECONDS_QUIET))
        cleaning = Broker(copy, "log.cleaner.backoff.ms=1000")
        took_ms, speed = beside_a_pass(load, cleaning)
        control = told(f"produce {rate}/s, another broker compacts at {speed:.0f} MB/s", took_ms)
        cleaning.stop()
        broker.stop()

        broker = Broker(data_dir, "log.cleaner.backoff.ms=1000")
        took_ms, speed = beside_a_pass(Load(broker.bootstrap, rate), broker)
        busy = told(f"produce {rate}/s, it compacts itself at {speed:.0f} MB/s", took_ms)
        broker.stop()
        print(f"p99 with compaction / without: {busy / quiet:.2f}")
        print(f"p99 with compaction / with another broker's: {busy / control:.2f}")


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(arguments + [1000, 2000][len(arguments) :]))
