"""The timers of ``flush.ms``: records are flushed this long after they were written.

It touches the clock, and flushes logs. The log store decides what a failed flush means for a log dir.
"""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.partition import Partition


class FlushScheduler:
    """The flush timers of partitions with unflushed records; other partitions have none."""

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: set[Partition] = set()

    def schedule(self, partition: Partition) -> None:
        """Schedule the flush of a partition that was written to, has a ``flush_s`` and no timer."""
        assert partition.flush_s is not None
        partition.flush_timer = self._clock.callLater(partition.flush_s, self._flush, partition)
        self._waiting.add(partition)

    def reschedule(self, partition: Partition) -> None:
        """Schedule the flush again: ``flush_s`` has changed, or the log has unflushed records from before."""
        partition.stop_timer()
        log = partition.log
        if partition.flush_s is not None and log.flushed_offset < log.log_end_offset:
            self.schedule(partition)

    def _flush(self, partition: Partition) -> None:
        partition.flush_timer = None  # later records get a timer of their own
        self._waiting.discard(partition)
        partition.log.flush().addErrback(self._failed, partition)

    def _failed(self, failure: Failure, partition: Partition) -> None:
        """Log a bug; failures of the disk are the store's to handle."""
        if not failure.check(OSError):
            self._log.failure("flushing {name} failed", failure, name=partition.topic_partition)

    def stop(self) -> None:
        """Cancel all timers: the logs are about to be closed, which flushes them."""
        waiting, self._waiting = self._waiting, set()
        for partition in waiting:
            partition.stop_timer()
