"""The cells of three brokers: throughput, latency, a follower's way back, gaps.

The clients are ``load.c`` of ``benchmarks.compare``, the same with the same settings for each system. It
starts processes and sleeps; ``clusters`` has the brokers, ``report`` makes tables of the figures.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial

import attrs

from benchmarks.compare.loads import librdkafka, load
from benchmarks.replication.clusters import Copies
from kafkatx.errors import KafkaTXError

WARM_MESSAGES = 300_000
PROBE_BYTES, PROBE_MESSAGES, PROBE_SINGLE = 20_000_000, 100_000, 5000
START_AFTER_S = 0.7
RATE, LATENCY_S, LATENCY_BYTES = 1000, 8, 1000
CATCH_UP_BYTES = 1_000_000_000
GAP_RATE, GAP_S, GAP_BEFORE_S = 500, 8, 2.0
CONNECTED_S = 2.0
LATENCY, CATCH_UP = "latency", "catch-up"
SIGTERM, SIGKILL = "SIGTERM of a leader", "kill -9 of a leader"
Figures = dict[str, float]
FAILURES = (RuntimeError, KafkaTXError, OSError, subprocess.SubprocessError, KeyError)
"""A cell that ends with one of these is left out; what else may go wrong ends the run."""


@attrs.frozen
class Throughput:
    """A load as fast as it goes.

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
        return f"{bytes_of(self.size)}, {how}, {self.producers} producer{'s' * (self.producers > 1)}"


def bytes_of(size: int) -> str:
    """Return a size in words."""
    return f"{size} B" if size < 1000 else f"{size // 1000} kB"


THROUGHPUT = {
    cell.name: cell
    for cell in (
        Throughput(size, single, producers)
        for single in (False, True)
        for size in (100, 1000, 10_000)
        for producers in (1, 10)
    )
}
NAMES = (*THROUGHPUT, LATENCY, CATCH_UP, SIGTERM, SIGKILL)
GAPS = (SIGTERM, SIGKILL)


def produce(cluster: Copies, topic: str, cell: Throughput, count: int, **changed: object) -> Figures:
    """Produce *count* messages in all; return messages a second, and the brokers' CPU seconds for a million.

    :param changed: properties of the producer, and ``without``: a broker that does not answer.
    """
    without = changed.pop("without", None)
    properties: dict[str, object] = {"p.acks": -1, "partitions": cell.producers}
    if cell.single:
        properties |= {"p.batch.num.messages": 1, "p.linger.ms": 0}
    properties |= {f"p.{name}": value for name, value in changed.items()}
    properties["start"] = time.time() + START_AFTER_S
    each = max(1, count // cell.producers)
    assert without is None or isinstance(without, int)
    command = _command(cluster, ["produce", topic, each, cell.size], properties, without)
    before = cluster.cpu()
    running = [load.begin(None, command) for _ in range(cell.producers)]
    try:
        done = [load.end(one) for one in running]
    finally:
        for one in running:
            one.kill()
    cpu_s = cluster.cpu().since(before).total_s
    total = each * cell.producers
    return {
        "per_s": total / max(one["seconds"] for one in done),
        "cpu_s": cpu_s / total * 1e6,
    }


def _command(
    cluster: Copies,
    arguments: list[object],
    properties: Mapping[str, object],
    without: int | None = None,
) -> list[str]:
    port = next(iter(cluster.ports.values()))
    return librdkafka.command(
        port, arguments, {"bootstrap.servers": cluster.bootstrap(without), **properties}
    )


def warm(cluster: Copies) -> None:
    """Produce until a JVM has compiled what the loads take."""
    cluster.create_topic("warm", 10)
    produce(cluster, "warm", Throughput(100, False, 10), WARM_MESSAGES)
    produce(cluster, "warm", Throughput(100, True, 10), WARM_MESSAGES // 10)
    cluster.delete_topic("warm")


def measure_throughput(
    cluster: Copies, cell: Throughput, seconds: float, rates: MutableMapping[str, float]
) -> Figures:
    """Measure a cell in a topic of its own.

    :param rates: messages a second of each cell in the round before: how many take about *seconds*. Without
        one a first run tells.
    """
    topic = _new_topic(cluster, "load", cell.producers)
    try:
        if cell.name not in rates:
            most = PROBE_SINGLE if cell.single else PROBE_MESSAGES
            count = max(cell.producers * 100, min(most, PROBE_BYTES // cell.size))
            rates[cell.name] = produce(cluster, topic, cell, count)["per_s"]
        found = produce(cluster, topic, cell, max(cell.producers * 100, int(rates[cell.name] * seconds)))
        rates[cell.name] = found["per_s"]
        return found
    finally:
        cluster.delete_topic(topic)


def _new_topic(cluster: Copies, name: str, partitions: int = 1) -> str:
    topic = f"{name}-{time.monotonic_ns()}"
    cluster.create_topic(topic, partitions)
    return topic


def _paced(cluster: Copies, mode: str, topic: str, rate: int, seconds: float, **more: object) -> list[str]:
    properties: dict[str, object] = {"rate": rate, "p.linger.ms": 0, "p.acks": -1, **more}
    if mode == "latency":
        properties["c.fetch.wait.max.ms"] = 500
    return _command(cluster, [mode, topic, int(rate * seconds), LATENCY_BYTES], properties)


def measure_latency(cluster: Copies) -> Figures:
    """Produce at a rate: the time to an acknowledgement, and then to a consumer."""
    topic = _new_topic(cluster, "paced")
    found: Figures = {}
    for name, mode in (("ack", "acks"), ("end", "latency")):
        done = load.end(load.begin(None, _paced(cluster, mode, topic, RATE, LATENCY_S)))
        found |= {f"{name}_{key}": done[key] for key in ("p50_ms", "p99_ms")}
    return found


def measure_catch_up(cluster: Copies) -> Figures:
    """Freeze a follower while messages are produced, and see how it comes back.

    Then it has all of them to fetch, while clients of another partition go on.
    """
    behind, paced = _new_topic(cluster, "behind"), _new_topic(cluster, "paced")
    quiet = load.end(load.begin(None, _paced(cluster, "latency", paced, RATE, LATENCY_S)))
    leaders = {cluster.leader(topic) for topic in (behind, paced)}
    follower = next(broker for broker in cluster.ports if broker not in leaders)
    go_on = cluster.freeze(follower)
    try:
        # With acks=all nothing would be acknowledged until the follower has left the in-sync replicas.
        produce(cluster, behind, Throughput(1000, False, 1), CATCH_UP_BYTES // 1000, acks=1, without=follower)
        cluster.wait_out_of_sync(behind, follower)
        clients = load.begin(None, _paced(cluster, "latency", paced, RATE, LATENCY_S))
    finally:
        began_s = time.monotonic()
        go_on()
    try:
        cluster.wait_in_sync(behind, follower)
        took_s = time.monotonic() - began_s
        busy = load.end(clients)
    finally:
        clients.kill()
        cluster.delete_topic(behind)
    return {
        "mb_per_s": CATCH_UP_BYTES / took_s / 1e6,
        "quiet_p99_ms": quiet["p99_ms"],
        "p99_ms": busy["p99_ms"],
    }


def measure_gap(cluster: Copies, number: signal.Signals) -> Figures:
    """Signal the leader of a partition that is produced to.

    :return: the longest time without an acknowledgement, ms.
    """
    topic = _new_topic(cluster, "gap")
    leader = cluster.leader(topic)
    # A client that connects too late counts from here on, so that no gap goes unseen.
    start = time.time() + CONNECTED_S
    client = load.begin(None, _paced(cluster, "acks", topic, GAP_RATE, GAP_S, start=start))
    try:
        time.sleep(CONNECTED_S + GAP_BEFORE_S)
        cluster.signal(leader, number)
        done = load.end(client)
    finally:
        client.kill()
    if number == signal.SIGTERM:  # the other is the last cell
        cluster.revive(leader)
        cluster.wait_in_sync(topic)
    return {"gap_ms": done["gap_ms"]}


Tell = Callable[[str], None]


def measure(
    cluster: Copies,
    names: list[str],
    seconds: float,
    rates: MutableMapping[str, float],
    tell: Tell,
    failed: list[str],
) -> dict[str, Figures]:
    """Measure the cells of these names.

    A cell that fails is told and left out. After two in a row the cluster is given up.

    :param failed: gets a line for each that fails.
    """
    work: dict[str, Callable[[], Figures]] = {
        LATENCY: partial(measure_latency, cluster),
        CATCH_UP: partial(measure_catch_up, cluster),
        SIGTERM: partial(measure_gap, cluster, signal.SIGTERM),
        SIGKILL: partial(measure_gap, cluster, signal.SIGKILL),
    }
    found: dict[str, Figures] = {}
    in_a_row = 0
    for name in names:
        os.sync()  # what another cell has written is not written during this one
        begun_s = time.monotonic()
        try:
            if name in THROUGHPUT:
                found[name] = measure_throughput(cluster, THROUGHPUT[name], seconds, rates)
            else:
                found[name] = work[name]()
        except FAILURES as error:
            in_a_row += 1
            failed.append(f"{name}: {error!r}"[:500])
            tell(f"{name}: FAILED: {error!r}")
            if in_a_row == 2:
                break
            continue
        in_a_row = 0
        told = ", ".join(f"{key} {value:,.2f}" for key, value in found[name].items())
        tell(f"{name}: {told} [{time.monotonic() - begun_s:.0f} s]")
    return found
