"""The store in memory: for tests, and for topics that need not outlive the broker."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from twisted.internet.interfaces import IReactorTime

from kafkatx.interfaces import Workers
from kafkatx.log.append.appender import FindRetention
from kafkatx.log.batch_log import BatchStorage
from kafkatx.log.batch_store import BatchLogStore, FoundLog
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.types import TopicPartition


class MemoryStorage:
    """The batches of one partition, by their base offsets; see ``BatchStorage``."""

    lasting = False

    def __init__(self) -> None:
        self._batches: dict[int, bytes] = {}

    def load(self) -> Sequence[bytes]:
        """See BatchStorage."""
        return ()

    def add(self, batches: Sequence[tuple[BatchInfo, bytes]]) -> None:
        """See BatchStorage; it cannot fail."""
        for written, data in batches:
            self._batches[written.base_offset] = data

    def get(self, batches: Sequence[BatchInfo]) -> bytes:
        """See BatchStorage."""
        return b"".join([self._batches[written.base_offset] for written in batches])

    def drop(self, batches: Sequence[BatchInfo]) -> None:
        """See BatchStorage."""
        for written in batches:
            del self._batches[written.base_offset]

    def sync(self) -> None:
        """See BatchStorage: there is no disk."""


class MemoryBatches:
    """The batches of all partitions; see ``Batches``."""

    lasting = False

    def open(self) -> Sequence[FoundLog]:
        """See Batches."""
        return ()

    def storage(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> BatchStorage:
        """See Batches."""
        return MemoryStorage()

    def delete(self, topic_partition: TopicPartition) -> None:
        """See Batches: they go with the log."""

    def keep_log_start(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """See Batches: dropped batches cannot come back."""

    def keep_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See Batches: they go with the logs."""

    def close(self) -> None:
        """See Batches."""


class MemoryLogStore(BatchLogStore):
    """Logs that end with the process."""

    def __init__(
        self, config: object, workers: Workers, clock: IReactorTime, find_retention: FindRetention
    ) -> None:
        super().__init__(MemoryBatches(), workers, clock, find_retention)
