"""The driver's part of a stream: from which offset to which each batch goes, and what its tasks read.

Does not import Spark; :mod:`kafkatx.spark.source.stream_reader` adapts it to Spark.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from kafkatx.spark.offsets import Available, OffsetRange, split
from kafkatx.spark.options.limits import Limits, rate_limit, too_few
from kafkatx.spark.options.options import SourceOptions
from kafkatx.spark.source.partition_logs import PartitionLogs
from kafkatx.spark.source.plan import DataLoss, checked
from kafkatx.spark.source.stream_offsets import Positions, losses, names
from kafkatx.types import TopicPartition

log = logging.getLogger(__name__)


class MicroBatches:
    """Plans one stream's batches.

    :ivar seen: the ends of all partitions when they were last asked for, whatever the limits; None before.
    """

    def __init__(
        self, options: SourceOptions, logs: PartitionLogs, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seen: Positions | None = None
        self._options = options
        self._logs = logs
        self._clock = clock
        self._start: Positions | None = None
        self._last_batch_at: float | None = None
        self._only_until_now = False
        self._target: Positions | None = None

    # -- where the stream starts

    def start(self) -> Positions:
        """Return the start of the stream: the same for each call.

        :raises KafkaTXError: as :meth:`PartitionLogs.start`.
        """
        if self._start is None:
            self._start = self._logs.start()
        return self._start

    def started_at(self, start: Positions) -> None:
        """Set the start of the stream, which an earlier run has chosen."""
        self._start = start

    # -- where a batch ends

    def until_now(self) -> None:
        """Read up to where the logs end at the next question, and no further (``Trigger.AvailableNow``)."""
        self._only_until_now = True

    def end(self, start: Positions, limits: Limits) -> Positions:
        """Return the end of a batch that starts there; *start* itself if there is to be none now.

        :raises DataLoss: partitions are gone or end before *start*, and that is a failure. It is raised here,
            before Spark writes the batch to its checkpoint, so that the query can go on if they come back.
        :raises KafkaTXError: no broker could be asked.
        """
        latest = self.seen = self._latest(start)
        since_ms = self._since_last_batch_ms()
        for loss in losses(start, latest) if self._options.fail_on_data_loss else ():
            raise DataLoss(loss)
        if latest == start:
            return start
        if limits.min_offsets is None and limits.max_offsets is None:
            return latest
        begin = self._with_added(start, latest)
        latest = {item: end for item, end in latest.items() if item in begin}
        # With AvailableNow no later batch would read the rest.
        if not self._only_until_now and too_few(limits, begin, latest, since_ms):
            return start
        self._last_batch_at = self._clock()
        return latest if limits.max_offsets is None else rate_limit(limits.max_offsets, begin, latest)

    def _latest(self, start: Positions) -> Positions:
        if not self._only_until_now:
            return self._logs.latest(start)
        if self._target is None:
            self._target = self._logs.latest(start)
        return self._target

    def _since_last_batch_ms(self) -> float | None:
        """Return the time since the last batch; None at the first call, as the first batch does not wait."""
        if self._last_batch_at is None:
            self._last_batch_at = self._clock()
            return None
        return (self._clock() - self._last_batch_at) * 1000

    def _with_added(self, start: Positions, latest: Positions) -> Positions:
        """*start* with the earliest offsets of partitions that were added; without those that went again."""
        added = [item for item in latest if item not in start]
        if not added:
            return start
        return {**start, **_earliest(self._logs.available(added))}

    # -- what a batch reads

    def plan(self, start: Positions, end: Positions) -> list[OffsetRange]:
        """Return the ranges of a batch, as tasks. Partitions that were added are read from their earliest
        offset.

        :raises DataLoss: something between the offsets is not there, and that is a failure.
        :raises KafkaTXError: no broker could be asked.
        """
        logs = self._logs.available(end)
        earliest = _earliest(logs)
        self._report(_losses_of_added([item for item in end if item not in start], earliest))
        self._report(losses(start, end))
        gone = [item for item in end if item in start and item not in logs and start[item] < end[item]]
        if gone:
            self._report([f"{names(sorted(gone))} are gone. Some data may have been missed"])
        return split(
            [
                checked(wanted, logs[item], self._options.fail_on_data_loss)
                for item, stop in sorted(end.items())
                if item in logs
                for wanted in [OffsetRange(*item, _first(start.get(item), stop, earliest[item]), stop)]
                if wanted.size > 0
            ],
            self._options.min_partitions,
            self._options.max_records_per_partition,
        )

    def _report(self, losses: Iterable[str]) -> None:
        """Fail on the first loss, or warn of each."""
        for loss in losses:
            if self._options.fail_on_data_loss:
                raise DataLoss(loss)
            log.warning("%s; going on, as failOnDataLoss is false", loss)


def _first(start: int | None, stop: int, earliest: int) -> int:
    """Return the first offset to read of a partition.

    A partition that ends before its start was deleted and created again; it is read from its earliest offset.
    Spark's source reads nothing of it.
    """
    return earliest if start is None or start > stop else start


def _earliest(logs: Mapping[TopicPartition, Available]) -> Positions:
    return {item: log_has.earliest for item, log_has in logs.items()}


def _losses_of_added(added: list[TopicPartition], earliest: Positions) -> Iterable[str]:
    deleted = sorted(item for item in added if item not in earliest)
    if deleted:
        yield f"Cannot find earliest offsets of {names(deleted)}. Some data may have been missed"
    for item in sorted(added):
        if earliest.get(item, 0) > 0:
            yield (
                f"Added partition {item} starts from {earliest[item]} instead of 0. Some data may have "
                "been missed"
            )
