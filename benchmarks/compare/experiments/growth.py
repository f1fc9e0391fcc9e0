"""Experiment (i): what more partitions, larger logs and more connections cost."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from functools import partial

from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place, consume, produce

GATHERED = {"linger.ms": 5, "acks": 1}


def _partitions(place: Place, many: int) -> Metrics:
    """The same load over more partitions, in turn."""
    topic = place.topic(many)
    return produce(place, topic, place.count(1_000_000), 200, {**GATHERED, "partitions": many})


def _log_bytes(place: Place, gigabytes: float) -> Metrics:
    """Produce and consume at the end of a log; what is consumed is its last part."""
    topic = place.topic()
    produce(place, topic, place.count(int(gigabytes * 1_000_000)), 1000, GATHERED)
    made = produce(place, topic, place.count(1_000_000), 200, GATHERED)
    taken = consume(place, topic, place.count(100_000), {})
    return {**made, "consumed_records_per_s": taken["records_per_s"]}


def _connections(place: Place, many: int) -> Metrics:
    """The same load while so many other connections are open and idle."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(many + 1000, most[1]), most[1]))
    with ExitStack() as stack:
        for _ in range(many):
            stack.enter_context(socket.create_connection(("127.0.0.1", place.port)))
        return produce(place, place.topic(), place.count(1_000_000), 200, GATHERED)


GROWTH = Experiment(
    "i",
    "One producer, 200 B, by partitions, GB in the log, and idle connections",
    "ours",
    ("records_per_s", "broker_cpu_s_per_gb", "client_busy_percent", "rss_mib"),
    [Cell(f"{many} partitions", partial(_partitions, many=many)) for many in (1, 10, 100, 1000)]
    + [Cell(f"{size} GB", partial(_log_bytes, gigabytes=size)) for size in (0.1, 1, 10)]
    + [Cell(f"{many} connections", partial(_connections, many=many)) for many in (10, 100, 1000, 5000)],
    alone=True,
)
