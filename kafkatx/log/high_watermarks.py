"""The high watermarks of a store's logs, as they were given or checkpointed last. In memory only.

The broker moves high watermarks and gives them to the store from time to time; the store writes them into
the log dirs (:mod:`kafkatx.log.store.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafkatx.types import TopicPartition

UNKNOWN = -1


class HasEnd(Protocol):
    """A log, as far as it matters here."""

    topic_partition: TopicPartition
    log_end_offset: int


class HighWatermarks:
    """The last known high watermark of each log."""

    def __init__(self) -> None:
        self._offsets: dict[TopicPartition, int] = {}

    def add(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Add or replace high watermarks."""
        self._offsets.update(offsets)

    def restore(self, saved: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, HasEnd]) -> bool:
        """Take over the saved ones of logs that were opened, at most their ends.

        :return: True if one was above its log's end: a machine has lost records. It must be written again
            before anything is appended, or the next start would take that for committed.
        """
        self._offsets.update({name: saved[name] for name in logs if name in saved})
        above = [log for name, log in logs.items() if saved.get(name, UNKNOWN) > log.log_end_offset]
        for log in above:
            self.lower(log)
        return bool(above)

    def lower(self, log: HasEnd) -> None:
        """Lower that of a log which was cut to the log's end: it may get other records from there on."""
        if log.topic_partition in self._offsets:
            self._offsets[log.topic_partition] = self.of(log)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Forget that of a log that is deleted or replaced."""
        self._offsets.pop(topic_partition, None)

    def clear(self) -> None:
        """Forget all."""
        self._offsets.clear()

    def of(self, log: HasEnd | None) -> int:
        """Return that of a log: at most the log's end; -1 if it is not known."""
        if log is None:
            return UNKNOWN
        return min(self._offsets.get(log.topic_partition, UNKNOWN), log.log_end_offset)

    def of_each(self, logs: Iterable[HasEnd]) -> dict[TopicPartition, int]:
        """Return those of logs, without the unknown ones."""
        found = {log.topic_partition: self.of(log) for log in logs}
        return {name: offset for name, offset in found.items() if offset >= 0}
