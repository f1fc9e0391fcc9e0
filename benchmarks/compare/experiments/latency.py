"""Experiment (f): from producing a message to having it in a consumer."""

from __future__ import annotations

from functools import partial

from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place
from benchmarks.compare.loads import load

SECONDS = 15


def _latency(place: Place, rate: int) -> Metrics:
    properties = {"rate": rate, "p.linger.ms": 0, "p.acks": 1, "c.fetch.wait.max.ms": 500}
    arguments = ["latency", place.topic(), place.count(rate * SECONDS), 200]
    done = load.end(place.begin(arguments, properties))
    return {name: done[name] for name in ("p50_ms", "p99_ms", "p999_ms", "max_ms")}


LATENCY = Experiment(
    "f",
    "Produce to consume, 200 B, by messages a second",
    "ours",
    ("p99_ms", "p50_ms", "p999_ms"),
    [Cell(str(rate), partial(_latency, rate=rate)) for rate in (1_000, 10_000)],
)
