"""``flush.ms``: records are forced to the disk so long after they were written, whoever waits or not."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.replica.partition import Partition


class FlushScheduler:
    """Timers of the partitions that have unflushed records; those that have none cost nothing."""

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: set[Partition] = set()

    def plan(self, partition: Partition) -> None:
        """A partition with a ``flush_s`` and no timer was written to: flush it in time."""
        assert partition.flush_s is not None
        partition.flush_timer = self._clock.callLater(partition.flush_s, self._flush, partition)
        self._waiting.add(partition)

    def replan(self, partition: Partition) -> None:
        """A partition has another ``flush_s`` than before, or records that nobody has planned for."""
        partition.stop_timer()
        log = partition.log
        if partition.flush_s is not None and log.flushed_offset < log.log_end_offset:
            self.plan(partition)

    def _flush(self, partition: Partition) -> None:
        partition.flush_timer = None  # what is written from now on is the next timer's
        self._waiting.discard(partition)
        partition.log.flush().addErrback(self._failed, partition)

    def _failed(self, failure: Failure, partition: Partition) -> None:
        """The store judges what a failed sync means for its directory; here nobody waits for it."""
        if not failure.check(OSError):
            self._log.failure("flushing {name} failed", failure, name=partition.topic_partition)

    def stop(self) -> None:
        """Flush no more: the logs are about to be closed, which flushes them."""
        waiting, self._waiting = self._waiting, set()
        for partition in waiting:
            partition.stop_timer()
