"""A consumer without a cluster, and records."""

from __future__ import annotations

from types import SimpleNamespace

from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import NotAssigned
from kafkatx.types import TopicPartition

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)


def records(place: TopicPartition, first: int, *values: bytes | None) -> list[Record]:
    """Records of one partition."""
    return [Record(*place, first + n, 5, 0, b"k", value) for n, value in enumerate(values)]


class FakeConsumer:
    """A fake with two partitions."""

    def __init__(self) -> None:
        self.sought: list[tuple[TopicPartition, int]] = []
        self.positions = {A0: 3, B1: 4}
        self.ends = {A0: 3, B1: 4}
        leaders = {"a": SimpleNamespace(partitions={0: SimpleNamespace(leader=7)})}
        self.client = SimpleNamespace(cluster=SimpleNamespace(metadata=SimpleNamespace(topics=leaders)))

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Remember it; one partition has gone."""
        if place == B1:
            raise NotAssigned(*place)
        self.sought.append((place, offset))

    def assignment(self) -> frozenset[TopicPartition]:
        """Both."""
        return frozenset(self.positions)

    def end_offsets(self, *places: TopicPartition) -> dict[TopicPartition, int]:
        """Return the ends of these partitions."""
        return {place: self.ends[place] for place in places}

    def position(self, place: TopicPartition) -> int:
        """Return the position in this partition."""
        if place not in self.positions:
            raise NotAssigned(*place)
        return self.positions[place]
