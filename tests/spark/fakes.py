"""A cluster in memory, for planning and reading without a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkatx.blocking import (
    EARLIEST,
    LATEST,
    Cluster,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    UnknownTopic,
)
from kafkatx.types import TopicPartition


class FakeCluster(Cluster):
    """Topics and the offsets that their partitions have: ``{"t": [(0, 10), (5, 7)]}``.

    A record's timestamp is 100 times its offset.

    :ivar logs: may be changed at any time.
    :ivar failures: errors that the next questions after offsets fail with.
    :ivar stable: the last stable offset of partitions with an open transaction.
    :ivar asked: how many such questions there were.
    """

    def __init__(
        self, logs: Mapping[str, Sequence[tuple[int, int]]], internal: frozenset[str] = frozenset()
    ) -> None:
        super().__init__("127.0.0.1:1")
        self.logs = {name: list(partitions) for name, partitions in logs.items()}
        self.internal = internal
        self.failures: list[Exception] = []
        self.asked = 0
        self.stable: dict[TopicPartition, int] = {}

    def topic(self, name: str, allow_auto_create: bool = False) -> TopicMetadata:
        """One of the topics."""
        if name not in self.logs:
            raise UnknownTopic(name)
        partitions = {number: PartitionMetadata(number, 0) for number in range(len(self.logs[name]))}
        return TopicMetadata(name, partitions, internal=name in self.internal)

    def metadata(self, topics: Sequence[str] | None, allow_auto_create: bool = False) -> ClusterMetadata:
        """All of the topics."""
        return ClusterMetadata(topics={name: self.topic(name) for name in self.logs})

    def offsets_of(
        self, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
    ) -> dict[TopicPartition, tuple[int, int]]:
        """The earliest or latest offsets, or those of times."""
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        found = {at: self._look_up(at, timestamp) for at, timestamp in timestamps.items()}
        for at in self.stable if isolation_level else ():
            if timestamps.get(at) == LATEST:
                found[at] = (self.stable[at], -1)
        return found

    def _look_up(self, at: TopicPartition, timestamp: int) -> tuple[int, int]:
        earliest, latest = self.logs[at.topic][at.partition]
        if timestamp in (EARLIEST, LATEST):
            return (earliest if timestamp == EARLIEST else latest), -1
        offset = max(earliest, -(-timestamp // 100))
        return (offset, offset * 100) if offset < latest else (-1, -1)
