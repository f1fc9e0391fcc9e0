"""Experiment (i): what more partitions, larger logs and more connections cost.

Each cell is measured twice, and what it is compared with (one partition, an empty log, no other connections)
once before and once after: a machine that changes its speed from minute to minute is the same for both.
"""

from __future__ import annotations

import resource
import socket
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place, consume, produce

GATHERED = {"linger.ms": 5, "acks": 1}
COUNT = 500_000


def _beside(grown: Sequence[Metrics], small: Sequence[Metrics]) -> Metrics:
    """The grown one's metrics, and its throughput by that of the small one."""
    mean = {name: statistics.mean(one[name] for one in grown) for name in grown[0]}
    base = statistics.mean(one["records_per_s"] for one in small)
    return {**mean, "kept_throughput": mean["records_per_s"] / base}


def _load(place: Place, partitions: int = 1) -> Metrics:
    """The load, into a new topic."""
    topic = place.topic(partitions)
    return produce(place, topic, place.count(COUNT), 200, {**GATHERED, "partitions": partitions})


def _partitions(place: Place, many: int) -> Metrics:
    """The same load over more partitions, in turn."""
    first = _load(place)
    grown = [_load(place, many), _load(place, many)]
    return _beside(grown, [first, _load(place)])


def _log_bytes(place: Place, gigabytes: float) -> Metrics:
    """Produce and consume at the end of a log; what is consumed is its last part."""
    topic = place.topic()
    produce(place, topic, place.count(int(gigabytes * 1_000_000)), 1000, GATHERED)
    first = _load(place)
    grown = [produce(place, topic, place.count(COUNT), 200, GATHERED) for _ in range(2)]
    made = _beside(grown, [first, _load(place)])
    taken = consume(place, topic, place.count(100_000), {})
    return {**made, "consumed_records_per_s": taken["records_per_s"]}


def _connections(place: Place, many: int) -> Metrics:
    """The same load while so many other connections are open and idle."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(many + 1000, most[1]), most[1]))
    first = _load(place)
    with ExitStack() as stack:
        for _ in range(many):
            stack.enter_context(socket.create_connection(("127.0.0.1", place.port)))
        grown = [_load(place), _load(place)]
    return _beside(grown, [first, _load(place)])


GROWTH = Experiment(
    "i",
    "One producer, 200 B, by partitions, GB in the log, and idle connections",
    "ours",
    ("records_per_s", "kept_throughput", "broker_cpu_s_per_gb", "client_busy_percent", "rss_mib"),
    [Cell(f"{many} partitions", partial(_partitions, many=many)) for many in (1, 10, 100, 1000)]
    + [Cell(f"{size} GB", partial(_log_bytes, gigabytes=size)) for size in (0.1, 1, 10)]
    + [Cell(f"{many} connections", partial(_connections, many=many)) for many in (10, 100, 1000, 5000)],
    alone=True,
)
