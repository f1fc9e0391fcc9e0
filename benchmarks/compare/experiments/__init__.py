"""The experiments, by their letters."""

from __future__ import annotations

from benchmarks.compare.experiments.crowd import CROWD
from benchmarks.compare.experiments.growth import GROWTH
from benchmarks.compare.experiments.latency import LATENCY
from benchmarks.compare.experiments.messages import ACKS, BATCH_BYTES, BATCHES, CONSUMER, MESSAGE_BYTES
from benchmarks.compare.experiments.perf_tools import PERF_TOOLS
from benchmarks.compare.experiments.place import Experiment
from benchmarks.compare.experiments.standing import STANDING

EXPERIMENTS: dict[str, Experiment] = {
    experiment.letter: experiment
    for experiment in (
        BATCHES,
        CONSUMER,
        BATCH_BYTES,
        MESSAGE_BYTES,
        ACKS,
        LATENCY,
        CROWD,
        STANDING,
        GROWTH,
        PERF_TOOLS,
    )
}
