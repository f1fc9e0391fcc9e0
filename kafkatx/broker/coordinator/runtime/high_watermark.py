"""The wait for the high watermark of a partition. It touches the partition and its log only.

A partition wakes those that wait, as it wakes delayed fetches, when it has more to show, or has changed.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred, succeed

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError


class _Wait:
    """A wait until a partition's high watermark is at an offset, or after it."""

    def __init__(self, partition: Partition, offset: int) -> None:
        self._partition = partition
        self._offset = offset
        self.reached: Deferred[None] = Deferred(lambda _: self._leave())
        partition.delayed_fetches.add(self)

    def wake(self) -> None:
        """End the wait if the offset is reached, or never will be."""
        if self._partition.offline:
            self._leave()
            self.reached.errback(RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "its log dir is offline"))
        elif self._partition.high_watermark >= self._offset:
            self._leave()
            self.reached.callback(None)

    def _leave(self) -> None:
        self._partition.delayed_fetches.discard(self)


def high_watermark_at(partition: Partition, offset: int) -> Deferred[None]:
    """Wait until the high watermark of a partition is *offset* or more; cancelling ends the wait.

    With ``log.expose=flushed`` the log is flushed for that, whatever ``flush.ms`` says.

    :return: fails with RequestError KAFKA_STORAGE_ERROR if the partition goes offline.
    """
    if partition.high_watermark >= offset:
        return succeed(None)
    reached = _Wait(partition, offset).reached
    if partition.exposes_flushed:
        partition.log.flush().addErrback(lambda failure: failure.trap(OSError))  # then it goes offline
    return reached
