"""Topics and a Spark in memory: tasks run in this process, one after the other."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException

from kafkatx.spark.arrow.columns import arrow_schema
from kafkatx.spark.offsets import OffsetRange

Failure = Callable[[], None]


class FakeTopics:
    """A range as :func:`kafkatx.spark.source.range_reader.read_range` reads it: each value names its origin.

    :ivar values: makes the value of an offset.
    :ivar failures: each is called, once, before a range is read.
    """

    def __init__(self, values: Callable[[int], bytes] = lambda n: b"%d" % n) -> None:
        self.values = values
        self.failures: list[Failure] = []
        self.read: list[OffsetRange] = []

    def read_range(
        self, client: object, wanted: OffsetRange, include_headers: bool, fail_on_data_loss: bool
    ) -> Iterator[Any]:
        """Batches of three records; offset n was written n hours after 1970."""
        self.read.append(wanted)
        if self.failures:
            self.failures.pop(0)()
        for start in range(wanted.start, wanted.end, 3):
            offsets = range(start, min(start + 3, wanted.end))
            hours = pa.array([n * 3_600_000_000 for n in offsets], pa.int64())
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([b"k"] * len(offsets)),
                    pa.array([self.values(n) for n in offsets]),
                    pa.array([wanted.topic] * len(offsets)),
                    pa.array([wanted.partition] * len(offsets), pa.int32()),
                    pa.array(offsets, pa.int64()),
                    hours.cast(pa.timestamp("us", tz="UTC")),
                    pa.array([0] * len(offsets), pa.int32()),
                ],
                schema=arrow_schema(False),
            )


class FakeSpark:
    """Runs what ``mapInArrow`` is given, after a journey through pickle.

    :ivar failures: each makes one job fail, before its first task or behind it.
    """

    def __init__(self, cores: int = 2) -> None:
        self.sparkContext = self
        self.defaultParallelism = cores
        self.jobs: list[int] = []
        self.failures: list[str] = []

    def range(self, start: int, end: int, step: int, partitions: int) -> FakeSpark:
        """Numbers, a task for each."""
        assert (start, step, partitions) == (0, 1, end)
        self.jobs.append(end)
        return self

    def mapInArrow(self, function: Any, schema: str) -> FakeSpark:
        """To be run by :meth:`collect`."""
        assert schema == "result string"
        self._function = pickle.loads(pickle.dumps(function))
        return self

    def collect(self) -> list[Any]:
        """Run it."""
        if self.failures:
            raise PySparkException(self.failures.pop(0))
        batches = [pa.record_batch({"id": [n]}) for n in range(self.jobs[-1])]
        return [Row(text) for batch in self._function(iter(batches)) for text in batch["result"].to_pylist()]

    def setJobGroup(self, group: str, description: str) -> None:
        """Do nothing."""

    def setLocalProperty(self, name: str, value: str | None) -> None:
        """Do nothing."""

    def statusTracker(self) -> FakeSpark:
        """It knows of nothing."""
        return self

    def getJobIdsForGroup(self, group: str) -> list[int]:
        """None."""
        return []


class Row:
    """A row with a result."""

    def __init__(self, result: str) -> None:
        self.result = result
