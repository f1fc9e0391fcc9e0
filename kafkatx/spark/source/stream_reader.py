"""``spark.readStream.format("kafkatx")``: the reader of a stream.

Spark keeps one reader for as long as a query runs, in a process of its own beside the driver, and others,
unpickled in the workers, that only read. :mod:`kafkatx.spark.source.microbatches` plans the batches;
:mod:`kafkatx.spark.source.stream_offsets` says what each offset holds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader

from kafkatx.errors import SettingError
from kafkatx.spark.one_sentence import one_sentence
from kafkatx.spark.options.limits import Limits
from kafkatx.spark.options.options import SourceOptions
from kafkatx.spark.options.read_limits import (
    ReadLimit,
    SupportsTriggerAvailableNow,
    default_limit,
    limits_of,
)
from kafkatx.spark.source.microbatches import MicroBatches
from kafkatx.spark.source.partition_logs import PartitionLogs
from kafkatx.spark.source.partition_reader import TopicRange, read_partition
from kafkatx.spark.source.stream_offsets import (
    Offset,
    Positions,
    StrangeOffsets,
    carried_start,
    first_end,
    initial,
    is_initial,
    positions,
    to_json,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger(__name__)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """The reader of a stream: it plans batches on the driver and reads their ranges in the workers."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._logs: PartitionLogs | None = None
        self._batches: MicroBatches | None = None
        self._last: Offset | None = None

    def _planner(self) -> MicroBatches:
        """Return the planner; it is made on first use, so that the reader can be pickled before."""
        if self._batches is None:
            for warning in self._options.warnings:
                log.warning("%s", warning)
            self._logs = PartitionLogs(self._options)
            self._batches = MicroBatches(self._options, self._logs)
        return self._batches

    @one_sentence()
    def initialOffset(self) -> Offset:
        """Return the start of the stream.

        :raises KafkaTXError: as :meth:`MicroBatches.start`.
        """
        return initial(self._planner().start())

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of the options, as far as Spark can hold it."""
        return default_limit(self._options.limits)

    @one_sentence()
    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:
        """Return the end of the batch that starts at *start*; *start* itself if there is to be none now.

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

    def reportLatestOffset(self) -> Offset | None:
        """Return the ends of the partitions, for the query's progress."""
        seen = self._planner().seen
        return to_json(seen) if seen else None

    def prepareForTriggerAvailableNow(self) -> None:
        """Read what is there now, in as many batches as the limits ask for, and end."""
        self._planner().until_now()

    @one_sentence()
    def partitions(self, start: Offset, end: Offset) -> list[TopicRange]:
        """Return the tasks of a batch.

        When a query is started again, Spark gives the end of the last batch that it wrote down as both
        *start* and *end*.

        :raises KafkaTXError: as :meth:`MicroBatches.plan`.
        """
        self._last = end
        carried = carried_start(end)
        if carried is not None:
            self._planner().started_at(carried)
        if start == end:
            return []
        begin = _begin(start, carried)
        return [TopicRange(item) for item in self._planner().plan(begin, positions(end))]

    def read(self, partition: TopicRange) -> Iterator[RecordBatch]:
        """Yield the records of one range; raises as :func:`read_partition`."""
        return read_partition(self._options, partition)

    def commit(self, end: Offset) -> None:
        """Do nothing: Spark's checkpoint holds a stream's offsets."""

    def stop(self) -> None:
        """Close the connections."""
        if self._logs is not None:
            self._logs.close()


class RefusedStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """The reader of a stream whose options are wrong: each call for offsets raises the error."""

    def __init__(self, error: SettingError) -> None:
        self._error = error

    @one_sentence()
    def initialOffset(self) -> Offset:
        """Raise the error."""
        raise self._error

    @one_sentence()
    def latestOffset(self) -> Offset:
        """Raise the error."""
        raise self._error

    @one_sentence()
    def partitions(self, start: Offset, end: Offset) -> list[TopicRange]:
        """Raise the error."""
        raise self._error

    def read(self, partition: TopicRange) -> Iterator[RecordBatch]:
        """Raise the error."""
        raise self._error

    def stop(self) -> None:
        """Do nothing: nothing was opened."""


def _begin(start: Offset, carried: Positions | None) -> Positions:
    """Return the positions at which a batch starts; in the first one those that its end carries.

    :raises StrangeOffsets: the end of the first batch carries none.
    """
    if not is_initial(start):
        return positions(start)
    if carried is None:
        raise StrangeOffsets(
            "the checkpoint has a first batch that another source has planned: give the query a "
            "checkpointLocation of its own"
        )
    return carried
