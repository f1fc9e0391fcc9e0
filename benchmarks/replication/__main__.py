"""Throughput, CPU and latency of three brokers with three copies, ``acks=all``, at least two in sync.

    python -m benchmarks.replication [--rounds N] [--systems NAME,...] [--seconds N] [--cells TEXT]
        [--out FILE]

The systems are ``kafkatx`` (``kafkatx up --brokers 3``) and ``kafka-4`` (three Apache Kafka 4 processes in
KRaft mode, each a broker and a controller). In each round each of them starts with empty data, and is warmed
up. Producers are librdkafka's, in processes of their own, on the same cores. Cells:

*   100 B, 1 kB and 10 kB; batches as the client makes them, and single messages; 1 and 10 producers. A first
    run tells how many messages take about as long as ``--seconds``.
*   ``latency``: 1,000 messages a second of 1 kB, from the producer to a consumer.
*   ``catch-up``: a follower stands still while messages are produced, and goes on: MB/s until it is in sync,
    and the latency of clients meanwhile.

The table has the median over the rounds, and the range; ratios are those within a round. CPU is that of the
three brokers, for the same number of messages.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial

import attrs

from benchmarks.compare.loads import librdkafka, load
from benchmarks.compare.systems.apache import Apache
from benchmarks.replication.clusters import LAG_MS, SYSTEMS, Copies

OURS, THEIRS = "kafkatx", "kafka-4"
WARM_MESSAGES = 300_000
PROBE = 20_000
RATE, LATENCY_S = 1000, 15
CATCH_UP_BYTES = 1_000_000_000
LATENCY, CATCH_UP = "latency", "catch-up"
Figures = dict[str, float]


@attrs.frozen
class Cell:
    """One load.

    :ivar size: bytes of a message.
    :ivar single: each message is a request of its own.
    """

    size: int
    single: bool
    producers: int

    @property
    def name(self) -> str:
        """The name in the table."""
        how = "single messages" if self.single else "batches"
        return f"{self.size} B, {how}, {self.producers} producer{'s' * (self.producers > 1)}"


CELLS = [
    Cell(*each)
    for each in ((s, one, n) for s in (100, 1000, 10_000) for one in (False, True) for n in (1, 10))
]


def produce(cluster: Copies, topic: str, cell: Cell, count: int) -> Figures:
    """Produce *count* messages in all; return messages a second and CPU seconds for a million."""
    properties: dict[str, object] = {"p.acks": -1, "partitions": cell.producers if cell.producers > 1 else 1}
    if cell.single:
        properties |= {"p.batch.num.messages": 1, "p.linger.ms": 0}
    properties["start"] = time.time() + 1.0
    each = max(1, count // cell.producers)
    command = librdkafka.command(cluster.port, ["produce", topic, each, cell.size], properties)
    before = cluster.cpu()
    done = [load.end(one) for one in [load.begin(None, command) for _ in range(cell.producers)]]
    cpu_s = cluster.cpu().since(before).total_s
    total = each * cell.producers
    return {
        "per_s": total / max(one["seconds"] for one in done),
        "cpu_s": cpu_s / total * 1e6,
    }


def measure_cell(cluster: Copies, cell: Cell, seconds: float) -> Figures:
    """Measure a cell in a topic of its own."""
    topic = f"load-{time.monotonic_ns()}"
    cluster.create_topic(topic, 10 if cell.producers > 1 else 1)
    try:
        probe = max(cell.producers * 100, PROBE // (cell.size // 100))
        rate = produce(cluster, topic, cell, probe)["per_s"]
        return produce(cluster, topic, cell, max(probe, int(rate * seconds)))
    finally:
        cluster.delete_topic(topic)


def measure_latency(cluster: Copies, topic: str, seconds: float) -> Figures:
    """Produce at a rate, and consume."""
    properties = {"rate": RATE, "p.linger.ms": 0, "p.acks": -1, "c.fetch.wait.max.ms": 500}
    command = librdkafka.command(cluster.port, ["latency", topic, int(RATE * seconds), 1000], properties)
    done = load.end(load.begin(None, command))
    return {name: done[name] for name in ("p50_ms", "p99_ms", "max_ms")}


def measure_catch_up(cluster: Copies) -> Figures:
    """Freeze a follower while messages are produced, and see how it comes back."""
    behind, paced = f"behind-{time.monotonic_ns()}", f"paced-{time.monotonic_ns()}"
    cluster.create_topic(behind, 1)
    cluster.create_topic(paced, 1)
    quiet = measure_latency(cluster, paced, LATENCY_S)
    pid = cluster.freeze_follower(behind)
    try:
        time.sleep(2.5 * LAG_MS / 1000)
        produce(cluster, behind, Cell(1000, False, 1), CATCH_UP_BYTES // 1000)
    finally:
        began_s = time.monotonic()
        os.kill(pid, signal.SIGCONT)
    properties = {"rate": RATE, "p.linger.ms": 0, "p.acks": -1, "c.fetch.wait.max.ms": 500}
    command = librdkafka.command(cluster.port, ["latency", paced, RATE * LATENCY_S, 1000], properties)
    clients = load.begin(None, command)
    cluster.wait_in_sync(behind)
    took_s = time.monotonic() - began_s
    busy = load.end(clients)
    return {
        "mb_per_s": CATCH_UP_BYTES / took_s / 1e6,
        "quiet_p99_ms": quiet["p99_ms"],
        "p99_ms": busy["p99_ms"],
    }


def measure(system: str, cells: Sequence[str], seconds: float) -> dict[str, Figures]:
    """Start a system with empty data, and measure the cells."""
    found: dict[str, Figures] = {}
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("KAFKATX_BENCH_DIR")) as folder,
        SYSTEMS[system](folder) as cluster,
    ):
        cluster.create_topic("warm", 10)
        produce(cluster, "warm", Cell(100, False, 10), WARM_MESSAGES)
        produce(cluster, "warm", Cell(100, True, 10), WARM_MESSAGES // 10)
        for cell in CELLS:
            if cell.name in cells:
                found[cell.name] = measure_cell(cluster, cell, seconds)
                _tell(system, cell.name, found[cell.name])
        for name, work in (
            (LATENCY, partial(_latency, cluster)),
            (CATCH_UP, partial(measure_catch_up, cluster)),
        ):
            if name in cells:
                found[name] = work()
                _tell(system, name, found[name])
    return found


def _latency(cluster: Copies) -> Figures:
    cluster.create_topic("paced", 1)
    return measure_latency(cluster, "paced", LATENCY_S)


def _tell(system: str, name: str, figures: Figures) -> None:
    told = ", ".join(f"{key} {value:,.2f}" for key, value in figures.items())
    print(f"{system}: {name}: {told}", flush=True)


def table(rounds: Sequence[Mapping[str, Mapping[str, Figures]]]) -> str:
    """Return a Markdown table of all cells.

    :param rounds: for each round the figures by system and cell.
    """
    lines = ["| cell | kafkatx | Apache Kafka 4 | ratio | CPU ratio |", "|---|---|---|---|---|"]
    first = rounds[0][next(iter(rounds[0]))]
    for name, figures in first.items():
        for key in figures:
            if key == "cpu_s":
                continue
            ours, theirs = (
                [one[system][name][key] for one in rounds if system in one] for system in (OURS, THEIRS)
            )
            ratio = cpu = ""
            if ours and theirs:
                ratio = spread([a / b for a, b in zip(ours, theirs, strict=True)], ".2f")
                if "cpu_s" in figures:
                    cpu = spread(
                        [one[OURS][name]["cpu_s"] / one[THEIRS][name]["cpu_s"] for one in rounds], ".2f"
                    )
            label = name if key == "per_s" else f"{name}, {key}"
            lines.append(f"| {label} | {spread(ours)} | {spread(theirs)} | {ratio} | {cpu} |")
    return "\n".join(lines) + "\n"


def spread(values: Sequence[float], form: str = ",.1f") -> str:
    """Return ``median (lowest-highest)``; empty if there are no values."""
    if not values:
        return ""
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replication")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--cells", default="", help="measure cells whose names have this text")
    parser.add_argument("--out", help="file for the figures, as JSON")
    given = parser.parse_args()
    systems = given.systems.split(",")
    if THEIRS in systems and (missing := Apache(THEIRS, "4").missing()) is not None:
        parser.error(f"Apache Kafka cannot be measured: {missing}")
    names = [name for name in [*(cell.name for cell in CELLS), LATENCY, CATCH_UP] if given.cells in name]
    rounds = []
    for number in range(given.rounds):
        order = systems if number % 2 == 0 else systems[::-1]  # each is first equally often
        print(f"round {number + 1}", flush=True)
        figures = {system: measure(system, names, given.seconds) for system in order}
        rounds.append({system: figures[system] for system in systems})
        if given.out:
            with open(given.out, "w") as file:
                json.dump(rounds, file, indent=1)
    print(f"\n{table(rounds)}")


if __name__ == "__main__":
    main()
