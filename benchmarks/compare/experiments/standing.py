"""Experiment (h): start-up, memory and size installed"""

from __future__ import annotations

import time

from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place, produce
from benchmarks.compare.installed import installed
from kafkatx.blocking import Cluster, Writer

SETTLED_S = 3.0


def _standing(place: Place) -> Metrics:
    """Seconds from the start to the first reply and message; memory at rest and under load; size."""
    begun_s = time.perf_counter()
    topic = place.topic()
    with Cluster(f"127.0.0.1:{place.port}") as cluster, Writer(cluster, topic) as writer:
        writer.send(b"first")
    first_s = place.server.started_s + time.perf_counter() - begun_s
    time.sleep(SETTLED_S)
    rest_mib = place.server.rss_mib()
    place.server.forget_peak()
    load = produce(place, place.topic(), place.count(2_000_000), 200, {"linger.ms": 5, "acks": 1})
    return {
        "start_s": place.server.started_s,
        "first_produce_s": first_s,
        "rest_rss_mib": rest_mib,
        "peak_rss_mib": load["peak_rss_mib"],
        **installed(place.system),
    }


STANDING = Experiment(
    "h",
    "Start-up, memory, size installed",
    "ours",
    ("start_s", "first_produce_s", "rest_rss_mib", "peak_rss_mib", "installed_mib", "runtime_mib"),
    [Cell("standing", _standing)],
    alone=True,
    cold=True,
)
