"""The disks of the simulated machines: batches of partitions, of which a part may not be synced.

It touches memory only. A process that is killed leaves its disk as it is; a machine that loses its power goes
back to what was synced, and to some of the first changes since. :class:`DiskBatches` is what
:class:`~kafkatx.log.batch_store.BatchLogStore` needs; the checks look at :attr:`StoredLog.records`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from kafkatx.log.batch_store import FoundLog
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.records.conversion import iter_any
from kafkatx.records.header import parse_header
from kafkatx.types import TopicPartition
from tests.metadata.cluster.lives import LifeDisk


class Stored(NamedTuple):
    """A record of a log.

    :ivar epoch: the leader epoch of its batch.
    """

    epoch: int
    value: bytes | None


Change = tuple[bool, int, bytes]
"""A batch that was added (True) or removed: its base offset and bytes."""

_PAYLOAD_AT = 17
"""Where the part of a batch begins that is the same in all logs: after base offset, size, epoch and magic."""

_values: dict[bytes, list[tuple[int, bytes | None]]] = {}


def records_of(data: bytes) -> Iterable[tuple[int, Stored]]:
    """Return the records of one batch by offset."""
    header = parse_header(data)
    payload = data[_PAYLOAD_AT:]
    known = _values.get(payload)
    if known is None:
        if len(_values) > 20_000:
            _values.clear()
        known = _values[payload] = [
            (record.offset - header.base_offset, record.value) for record in iter_any(memoryview(data))
        ]
    return [
        (header.base_offset + delta, Stored(header.partition_leader_epoch, value)) for delta, value in known
    ]


class StoredLog:
    """The batches of one partition on one disk (``BatchStorage``).

    :ivar records: the records by offset, as the running process reads them.
    :ivar version: grows with each change.
    :ivar error: why it cannot be used until the next start.
    :ivar cut_to: the lowest offset from which records were removed at the end, since a check looked.
    """

    lasting = True

    def __init__(self, topic_id: uuid.UUID) -> None:
        self.topic_id = topic_id
        self.log_start_offset = 0
        self.batches: dict[int, bytes] = {}
        self.records: dict[int, Stored] = {}
        self.version = 0
        self.cut_to = 0
        self.error: OSError | None = None
        self._changes: list[Change] = []

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def load(self) -> Sequence[bytes]:
        """See BatchStorage."""
        self.error = None
        return [self.batches[offset] for offset in sorted(self.batches)]

    def add(self, batches: Sequence[tuple[BatchInfo, bytes]]) -> None:
        """See BatchStorage."""
        self._check()
        for written, data in batches:
            self._put(written.base_offset, bytes(data))
            self._changes.append((True, written.base_offset, bytes(data)))

    def get(self, batches: Sequence[BatchInfo]) -> bytes:
        """See BatchStorage."""
        self._check()
        return b"".join([self.batches[written.base_offset] for written in batches])

    def drop(self, batches: Sequence[BatchInfo]) -> None:
        """See BatchStorage."""
        self._check()
        at_start = bool(batches) and batches[0].base_offset == min(self.batches)
        for written in batches:
            data = self.batches[written.base_offset]
            self._take(written.base_offset)
            self._changes.append((False, written.base_offset, data))
        if at_start:
            self._changes.clear()  # old segments are synced before they are deleted

    def sync(self) -> None:
        """See BatchStorage."""
        self._check()
        self._changes.clear()

    def copy(self) -> StoredLog:
        """Return a copy of all that was written."""
        copy = StoredLog(self.topic_id)
        copy.log_start_offset, copy.version = self.log_start_offset, self.version
        copy.batches, copy.records = dict(self.batches), dict(self.records)
        return copy

    def lose_power(self, random: Random) -> bool:
        """Go back to what was synced and some of the first changes since; return True if records are lost."""
        kept = random.choice((0, random.randint(0, len(self._changes)), len(self._changes)))
        undone, self._changes = self._changes[kept:], []
        before = dict(self.records)
        for added, offset, data in reversed(undone):
            if added:
                self._take(offset)
            else:
                self._put(offset, data)
        return any(self.records.get(offset) != record for offset, record in before.items())

    def _put(self, offset: int, data: bytes) -> None:
        self.version += 1
        self.batches[offset] = data
        self.records.update(records_of(data))

    def _take(self, offset: int) -> None:
        self.version += 1
        for each, _ in records_of(self.batches.pop(offset)):
            del self.records[each]
            self.cut_to = min(self.cut_to, each)


class Disk:
    """The disk of a machine.

    :ivar logs: the logs by partition.
    :ivar high_watermarks: the last checkpoint of high watermarks.
    :ivar lives: the lives that its log dirs have recorded.
    """

    def __init__(self, lives: LifeDisk) -> None:
        self.logs: dict[TopicPartition, StoredLog] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.lives = lives

    def copy(self) -> Disk:
        """Return a copy of all files."""
        copy = Disk(self.lives.copy())
        copy.logs = {name: log.copy() for name, log in self.logs.items()}
        copy.high_watermarks = dict(self.high_watermarks)
        return copy

    def lose_power(self, random: Random) -> list[TopicPartition]:
        """Lose what was not synced; return the partitions of which records are lost."""
        return [name for name, log in sorted(self.logs.items()) if log.lose_power(random)]


class DiskBatches:
    """The batches of all partitions of a machine (``Batches``), for one life of its broker.

    :param expected: returns the id of a partition's topic; None if there is no such partition.
    """

    lasting = True

    def __init__(self, disk: Disk, expected: Callable[[TopicPartition], uuid.UUID | None]) -> None:
        self._disk = disk
        self._expected = expected

    def open(self) -> Iterable[FoundLog]:
        """See Batches. Logs of topics that are gone are put aside."""
        logs = self._disk.logs
        for name in [name for name, log in logs.items() if self._expected(name) != log.topic_id]:
            del logs[name]
        high_watermarks = self._disk.high_watermarks
        return [
            FoundLog(name, log.topic_id, log.log_start_offset, high_watermarks.get(name, -1))
            for name, log in sorted(logs.items())
        ]

    def storage(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> StoredLog:
        """See Batches."""
        known = self._disk.logs.get(topic_partition)
        if known is None or known.topic_id != topic_id:
            known = self._disk.logs[topic_partition] = StoredLog(topic_id)
        return known

    def delete(self, topic_partition: TopicPartition) -> None:
        """See Batches."""
        self._disk.logs.pop(topic_partition, None)
        self._disk.high_watermarks.pop(topic_partition, None)

    def keep_log_start(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """See Batches."""
        self._disk.logs[topic_partition].log_start_offset = log_start_offset

    def keep_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> None:
        """See Batches."""
        self._disk.high_watermarks |= offsets

    def close(self) -> None:
        """See Batches."""
