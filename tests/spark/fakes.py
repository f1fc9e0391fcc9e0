"""A cluster in memory, for planning and reading without a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkatx.blocking import (
    EARLIEST,
    Cluster,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    UnknownTopic,
)


class FakeCluster(Cluster):
    """Topics and the offsets that their partitions have: ``{"t": [(0, 10), (5, 7)]}``."""

    def __init__(
        self, logs: Mapping[str, Sequence[tuple[int, int]]], internal: frozenset[str] = frozenset()
    ) -> None:
        super().__init__("127.0.0.1:1")
        self.logs = dict(logs)
        self.internal = internal

    def topic(self, name: str, allow_auto_create: bool = False) -> TopicMetadata:
        """One of the topics."""
        if name not in self.logs:
            raise UnknownTopic(name)
        partitions = {number: PartitionMetadata(number, 0) for number in range(len(self.logs[name]))}
        return TopicMetadata(name, partitions, internal=name in self.internal)

    def metadata(self, topics: Sequence[str] | None, allow_auto_create: bool = False) -> ClusterMetadata:
        """All of the topics."""
        return ClusterMetadata(topics={name: self.topic(name) for name in self.logs})

    def offsets(
        self, topic: str, timestamps: Mapping[int, int], isolation_level: int = 0
    ) -> dict[int, tuple[int, int]]:
        """The earliest or latest offsets."""
        log = self.logs[topic]
        return {
            number: (log[number][0 if time == EARLIEST else 1], -1) for number, time in timestamps.items()
        }
