"""What stands in a partition for a log that is offline: its log dir failed, or its own files did."""

from __future__ import annotations

import errno
from typing import Any, NoReturn

from twisted.internet.defer import Deferred, fail

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition


class NoLog:
    """A log that cannot be used: whoever asks it for anything is refused with KAFKA_STORAGE_ERROR.

    Handlers look at ``Partition.offline`` first, to refuse one partition and not the whole request.
    """

    log_start_offset = log_end_offset = flushed_offset = -1
    size_bytes = 0
    segments = ()

    def __init__(
        self, topic_partition: TopicPartition, config: LogConfig, reason: str = "its log dir is offline"
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config
        self.reason = reason

    def configure(self, config: LogConfig) -> None:
        """Keep the settings, for whoever asks."""
        self.config = config

    def write(self) -> None:
        """Whatever was staged is gone."""
        raise self._error()

    def flush(self) -> Deferred[int]:
        """Fails."""
        return fail(self._error())

    def warm(self, offset: int, max_bytes: int) -> None:
        """There is nothing to be read ahead."""

    def _error(self) -> OSError:
        return OSError(errno.EIO, self.reason, str(self.topic_partition))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse

    def _refuse(self, *args: Any) -> NoReturn:
        raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition} is offline: {self.reason}")
