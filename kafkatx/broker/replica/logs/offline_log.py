"""The log of a partition that is offline: its log dir has failed, or its own files cannot be used.

It touches nothing. It stands in ``Partition.log`` so that code that does not look at ``Partition.offline``
first is refused with an error that clients understand.
"""

from __future__ import annotations

import errno
from typing import NoReturn

from twisted.internet.defer import Deferred, fail
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.counts import WriteCounts
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IPartitionLog, ISegmentFacts
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition


@implementer(IPartitionLog)
class OfflineLog:
    """A log that cannot be used: it refuses every request with KAFKA_STORAGE_ERROR.

    Handlers look at ``Partition.offline`` first, to refuse one partition and not the whole request.
    """

    log_start_offset = log_end_offset = flushed_offset = -1
    size_bytes = 0
    written = WriteCounts()
    segments: tuple[ISegmentFacts, ...] = ()
    latest_epoch = NO_LEADER_EPOCH
    deletable_end = NO_LIMIT
    on_flushed = None

    def __init__(
        self, topic_partition: TopicPartition, config: LogConfig, reason: str = "its log dir is offline"
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config
        self.reason = reason

    def configure(self, config: LogConfig) -> None:
        """Keep the settings for callers that read them."""
        self.config = config

    def write(self) -> None:
        """Fail: the staged records are lost."""
        raise self._error()

    def discard(self) -> None:
        """Do nothing: there is nothing staged."""

    def flush(self) -> Deferred[int]:
        """Fail with OSError."""
        return fail(self._error())

    def warm(self, offset: int, max_bytes: int) -> None:
        """Return None: there is nothing to read ahead."""

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the high watermark: there is nothing below it."""
        return high_watermark

    def _error(self) -> OSError:
        return OSError(errno.EIO, self.reason, str(self.topic_partition))

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse a call.

        :raises RequestError: always.
        """
        raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition} is offline: {self.reason}")

    append = append_marker = append_as_follower = begin_epoch = _refuse
    has_transaction = aborted_transactions = _refuse
    read = readable_bytes = offset_for_timestamp = max_timestamp = _refuse
    epoch_at = end_offset_for_epoch = active_producers = _refuse
    truncate_to = restart_at = advance_log_start = retain = roll_if_due = _refuse
