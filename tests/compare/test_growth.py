"""Experiment (i): what a cell is compared with is measured around it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.experiments import growth
from benchmarks.compare.experiments.place import Metrics, Place


class _Place:
    """Makes topics, and has a system that is slower with every load."""

    def __init__(self) -> None:
        self.partitions: list[int] = []
        self.loads: list[str] = []
        self.counts: list[int] = []
        self.port = 0

    def topic(self, partitions: int = 1) -> str:
        self.partitions.append(partitions)
        return f"topic-{len(self.partitions)}"

    def count(self, count: int) -> int:
        return count

    def load(self, _: Place, topic: str, count: int, size: int, properties: Mapping[str, object]) -> Metrics:
        self.loads.append(topic)
        self.counts.append(count)
        many = properties.get("partitions", 1)
        return {"records_per_s": (1000.0 - 100 * len(self.loads)) / (2 if many != 1 else 1)}


class GrowthTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Loads are counted, not sent."""
        self.place = _Place()
        self.patch(growth, "produce", self.place.load)
        self.patch(growth, "consume", lambda *_: {"records_per_s": 1.0})

    def measure(self, cell: Any, *arguments: Any) -> Metrics:
        """Measure a cell."""
        measured: Metrics = partial(cell, cast(Place, self.place))(*arguments)
        return measured

    def test_partitions(self) -> None:
        """A machine that slows down steadily makes no difference: small, grown, grown, small."""
        self.assertAlmostEqual(self.measure(growth._partitions, 10)["kept_throughput"], 0.5)
        self.assertAlmostEqual(self.measure(growth._partitions, 1)["kept_throughput"], 1.0)

    def test_first_messages(self) -> None:
        """Partitions have got their first messages before they are measured; these are told by themselves."""
        found = self.measure(growth._partitions, 10)
        self.assertEqual(self.place.partitions, [10, 1, 1])
        self.assertEqual(self.place.loads, ["topic-1", "topic-2", "topic-1", "topic-1", "topic-3"])
        self.assertEqual(self.place.counts, [10 * growth.RUN, *[growth.COUNT] * 4])
        self.assertAlmostEqual(found["first_records_per_s"], 450)

    def test_log(self) -> None:
        """Produced is at the end of the log that was filled, and beside it to logs that were empty."""
        found = self.measure(growth._log_bytes, 1)
        self.assertEqual(self.place.loads, ["topic-1", "topic-2", "topic-1", "topic-1", "topic-3"])
        self.assertAlmostEqual(found["kept_throughput"], 1.0)
        self.assertEqual(found["consumed_records_per_s"], 1.0)
