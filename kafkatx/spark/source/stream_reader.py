"""``spark.readStream.format("kafkatx")``: what Spark asks of a stream.

Spark keeps one reader for as long as a query runs, in a process of its own beside the driver, and others,
unpickled in the workers, that only read. What each offset carries is in
:mod:`kafkatx.spark.source.stream_offsets`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkatx.spark.options.limits import Limits
from kafkatx.spark.options.options import SourceOptions
from kafkatx.spark.options.read_limits import SupportsTriggerAvailableNow, default_limit, limits_of
from kafkatx.spark.source.microbatches import MicroBatches
from kafkatx.spark.source.partition_logs import Logs
from kafkatx.spark.source.partition_reader import TopicRange, read_partition
from kafkatx.spark.source.stream_offsets import (
    StrangeOffsets,
    carried_start,
    first_end,
    initial,
    is_initial,
    positions,
    to_json,
)

log = logging.getLogger(__name__)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Plans batches on the driver, reads their ranges in the workers."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._logs: Logs | None = None
        self._batches: MicroBatches | None = None
        self._last: dict[str, Any] | None = None

    def _planner(self) -> MicroBatches:
        """Made when first needed, so that the reader can be pickled before."""
        if self._batches is None:
            for warning in self._options.warnings:
                log.warning("%s", warning)
            self._logs = Logs(self._options)
            self._batches = MicroBatches(self._options, self._logs)
        return self._batches

    def initialOffset(self) -> dict[str, Any]:
        """Where the stream starts.

        :raises KafkaTXError: as :meth:`MicroBatches.start`.
        """
        return initial(self._planner().start())

    def getDefaultReadLimit(self) -> Any:
        """What the options say, as far as Spark can hold it."""
        return default_limit(self._options.limits)

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """Where the batch ends that starts at *start*; *start* itself if there is to be none now.

        :param start: not given by Spark 4.0 and 4.1.
        :raises KafkaTXError: as :meth:`MicroBatches.end`.
        """
        batches = self._planner()
        if start is None:
            start = self._last or self.initialOffset()
            if self._options.limits != Limits():
                log.warning("maxOffsetsPerTrigger and minOffsetsPerTrigger need Spark 4.2 or newer")
        begin = positions(start)
        end = batches.end(begin, limits_of(limit, self._options.limits))
        if is_initial(start):
            self._last = first_end(end, begin)
        else:
            self._last = start if end == begin else to_json(end)
        return self._last

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Where the partitions end, for the query's progress."""
        seen = self._planner().seen
        return to_json(seen) if seen else None

    def prepareForTriggerAvailableNow(self) -> None:
        """Read what there is, in as many batches as the limits ask for, and end."""
        self._planner().until_now()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch.

        When a query is started again Spark calls it with twice the end of the last batch that it wrote down.

        :raises KafkaTXError: as :meth:`MicroBatches.plan`.
        """
        self._last = end
        carried = carried_start(end)
        if carried is not None:
            self._planner().started_at(carried)
        if start == end:
            return []
        begin = self._begin(start, carried)
        return [TopicRange(item) for item in self._planner().plan(begin, positions(end))]

    def _begin(self, start: Mapping[str, Any], carried: Any) -> Any:
        if not is_initial(start):
            return positions(start)
        if carried is None:
            raise StrangeOffsets(
                "the checkpoint has a first batch that another source has planned: give the query a "
                "checkpointLocation of its own"
            )
        return carried

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The records of one range, as ``pyarrow.RecordBatch`` objects."""
        return read_partition(self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark's checkpoint is where a stream's offsets are kept."""

    def stop(self) -> None:
        """Close the connections."""
        if self._logs is not None:
            self._logs.close()
