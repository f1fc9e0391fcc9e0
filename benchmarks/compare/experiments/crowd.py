"""Experiment (g): many producers, and many consumers, at once."""

from __future__ import annotations

from functools import partial

from benchmarks.compare.experiments.place import Cell, Experiment, Metrics, Place, produce, together

PROPERTIES = {"linger.ms": 5}


def _producers(place: Place, many: int) -> Metrics:
    count = place.count(2_000_000) // many
    loads = [["produce", place.topic(), count, 200] for _ in range(many)]
    return together(place, loads, {**PROPERTIES, "acks": 1})


def _consumers(place: Place, many: int) -> Metrics:
    count = place.count(2_000_000) // many
    topic = place.topic()
    produce(place, topic, count, 200, {"linger.ms": 5})
    return together(place, [["consume", topic, count] for _ in range(many)], {})


CROWD = Experiment(
    "g",
    "Several producers or consumers at once, 200 B",
    "ours",
    ("records_per_s", "throughput_mb_per_s", "broker_cpu_s_per_gb", "client_busy_percent"),
    [Cell(f"{many} producers", partial(_producers, many=many)) for many in (1, 10, 50)]
    + [Cell(f"{many} consumers", partial(_consumers, many=many)) for many in (1, 10, 50)],
)
