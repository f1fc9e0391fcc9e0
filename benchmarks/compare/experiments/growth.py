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
RUN = 100
"""Messages that a partition gets before it is the next one's turn (load.c)."""
SYSTEMS = ("kafkatx", "kafka-4", "kafka-3.9", "sink")


def _beside(grown: Sequence[Metrics], small: Sequence[Metrics]) -> Metrics:
    """The grown one's metrics, and its throughput by that of the small one."""
    mean = {name: statistics.mean(one[name] for one in grown) for name in grown[0]}
    base = statistics.mean(one["records_per_s"] for one in small)
    return {**mean, "kept_throughput": mean["records_per_s"] / base}


def _load(place: Place) -> Metrics:
    """The load, into a new topic; its first message is not measured."""
    return produce(place, place.topic(), place.count(COUNT), 200, GATHERED)


def _partitions(place: Place, many: int) -> Metrics:
    """The same load over more partitions, in turn, when each of them has got its first messages.

    With these a broker makes and opens files. What that costs is told by itself: with a load this short it
    would else be half of what is measured.
    """
    topic, spread = place.topic(many), {**GATHERED, "partitions": many}
    opened = produce(place, topic, many * RUN, 200, spread)
    first = _load(place)
    grown = [produce(place, topic, place.count(COUNT), 200, spread) for _ in range(2)]
    return {**_beside(grown, [first, _load(place)]), "first_records_per_s": opened["records_per_s"]}


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
    (
        "records_per_s",
        "kept_throughput",
        "first_records_per_s",
        "broker_cpu_s_per_gb",
        "client_busy_percent",
        "rss_mib",
    ),
    [Cell(f"{many} partitions", partial(_partitions, many=many)) for many in (1, 10, 100, 1000)]
    + [Cell(f"{size} GB", partial(_log_bytes, gigabytes=size), kept=True) for size in (0.1, 1, 10)]
    + [
        Cell(f"{many} connections", partial(_connections, many=many), kept=True)
        for many in (10, 100, 1000, 5000)
    ],
    SYSTEMS,
    alone=True,
)
