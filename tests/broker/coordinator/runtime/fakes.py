"""Fakes around a coordinator's runtime: partitions and their topic, and a coordinator that keeps values."""

from __future__ import annotations

import errno
from typing import Any

from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition

NAME = "__consumer_offsets"
COUNT = 3

Values = dict[bytes, "bytes | None"]


class FakeLog:
    """A log of one-record batches; a read returns one of them, or fails."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.log_start_offset = 0
        self.broken = False

    @property
    def log_end_offset(self) -> int:
        """The number of records."""
        return len(self.records)

    def warm(self, offset: int, size: int) -> None:
        """Say that nothing must be warmed."""

    def read(self, offset: int, size: int, end: int, whole: bool) -> bytes:
        """Return the batch at an offset."""
        if self.broken:
            raise OSError(errno.EIO, "Input/output error")
        builder = BatchBuilder()
        builder.append(*self.records[offset], 0)
        return builder.build(offset)

    def values(self) -> Values:
        """Return the last value of each key."""
        return dict(self.records)


class FakePartition:
    """A partition that a test gives roles to."""

    def __init__(self, number: int) -> None:
        self.topic_partition = TopicPartition(NAME, number)
        self.leader_epoch = 0
        self.log = FakeLog()
        self.high_watermark = 0
        self.offline = self.exposes_flushed = False
        self.delayed_fetches: set[Any] = set()

    def write(self, key: bytes, value: bytes | None) -> None:
        """Append a record, which is replicated at once."""
        self.log.records.append((key, value))
        self.replicate()

    def replicate(self) -> None:
        """Move the high watermark to the end."""
        self.high_watermark = self.log.log_end_offset
        for waiter in tuple(self.delayed_fetches):
            waiter.wake()


class FakeTopic:
    """An internal topic of three partitions, of which this broker leads some."""

    name = NAME

    def __init__(self) -> None:
        self.partitions = [FakePartition(number) for number in range(COUNT)]
        self.leading: set[int] = set()
        self.state: Any = self
        self.is_alone = False

    def leads(self, number: int) -> bool:
        """Return True if this broker leads a partition."""
        return number in self.leading

    def led(self) -> list[FakePartition]:
        """Return the partitions that this broker leads."""
        return [self.partitions[number] for number in sorted(self.leading)]

    def stop(self) -> None:
        """Do nothing."""


class FakeWriter:
    """A writer that notes the partitions whose waiting was ended."""

    def __init__(self) -> None:
        self.dropped: list[int] = []

    def drop(self, partition: FakePartition) -> None:
        """Note a partition."""
        self.dropped.append(partition.topic_partition.partition)


class FakeCoordinator:
    """A coordinator that keeps the values of each served partition, and the epoch in which they were read."""

    def __init__(self) -> None:
        self.served: dict[int, tuple[int, Values]] = {}

    def replay(self, partition: FakePartition) -> FakeReplay:
        """Return what takes the records of a partition."""
        return FakeReplay(self, partition)

    def unload(self, number: int) -> None:
        """Forget a partition, which must be served."""
        del self.served[number]


class FakeReplay:
    """The values of a partition that is being loaded."""

    def __init__(self, coordinator: FakeCoordinator, partition: FakePartition) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._epoch = partition.leader_epoch
        self._values: Values = {}

    def __call__(self, key: bytes, value: bytes | None) -> None:
        """Keep a value."""
        self._values[key] = value

    def pending(self, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Keep nothing: there are no transactions."""
        raise AssertionError("there are no transactions")

    def loaded(self) -> None:
        """Serve the partition; it is served once."""
        number = self._partition.topic_partition.partition
        assert number not in self._coordinator.served
        self._coordinator.served[number] = (self._epoch, self._values)
