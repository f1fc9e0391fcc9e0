"""Partitions whose files cannot be used, while the rest of their log dir can.

A partition is unavailable when :func:`kafkatx.log.recovery.loader.load` raises
:class:`~kafkatx.errors.PartitionUnavailable`: a segment is missing in the middle, or a file cannot be
opened. Its directory is left as it is, its entries in the checkpoints are kept, and its log dir gets no
clean-shutdown marker, so that the next start checks the partition again.
"""

from __future__ import annotations

import errno
import uuid
from typing import NamedTuple

from twisted.logger import Logger

from kafkatx.errors import PartitionUnavailable
from kafkatx.log.checkpoint import NO_TOPIC_ID
from kafkatx.log.store.log_dir import LogDir
from kafkatx.types import TopicPartition


class Whereabouts(NamedTuple):
    """The log dir and the topic of an unavailable partition's directory."""

    log_dir: LogDir
    topic_id: uuid.UUID


class UnavailableLogs:
    """The unavailable partitions of one store.

    :ivar reasons: why, for each of them; a partition without a directory may be here, too.
    """

    log = Logger()

    def __init__(self) -> None:
        self.reasons: dict[TopicPartition, str] = {}
        self._whereabouts: dict[TopicPartition, Whereabouts] = {}

    def add(
        self, name: TopicPartition, log_dir: LogDir, topic_id: uuid.UUID, error: PartitionUnavailable
    ) -> None:
        """Take a partition offline, with one line in the log."""
        self.reasons[name] = str(error)
        self._whereabouts[name] = Whereabouts(log_dir, topic_id)
        self.log.critical(
            "partition {name} in {path} is offline: {reason}; it answers KAFKA_STORAGE_ERROR, the other"
            " partitions are served",
            name=name,
            path=log_dir.path,
            reason=str(error),
        )

    def check(self, name: TopicPartition, topic_id: uuid.UUID) -> None:
        """Reject the use of an unavailable partition of this topic, or of an unknown one.

        :raises OSError: it is unavailable. Another topic's directory may be replaced.
        """
        if name not in self.reasons:
            return
        known = self._whereabouts.get(name)
        if known is None or known.topic_id in (topic_id, NO_TOPIC_ID):
            raise OSError(errno.EIO, self.reasons[name], str(name))

    def log_dir_of(self, name: TopicPartition) -> LogDir | None:
        """Return where an unavailable partition's directory is; None if it has none, or is available."""
        known = self._whereabouts.get(name)
        return known.log_dir if known else None

    def pop(self, name: TopicPartition) -> Whereabouts | None:
        """Forget a partition whose directory is to go; return where that is, if there is one."""
        self.reasons.pop(name, None)
        return self._whereabouts.pop(name, None)

    def clear(self) -> None:
        """Forget all of them: the store is closed."""
        self.reasons.clear()
        self._whereabouts.clear()
