"""The queue of one stream: records that were read and are not copied yet, taken batch by batch. Pure."""

from __future__ import annotations

from collections import deque

from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror.core.encoder import size_of, total_size


class RecordQueue:
    """Records of one source partition, in order.

    :ivar size: about the bytes that the copies of all of them take.
    """

    def __init__(self, batch_bytes: int, batch_records: int) -> None:
        self.size = 0
        self._bytes = batch_bytes
        self._records = batch_records
        self._lists: deque[tuple[list[Record], int]] = deque()

    def __bool__(self) -> bool:
        return bool(self._lists)

    @property
    def full(self) -> bool:
        """True if it has two batches: one more would only take memory."""
        return self.size >= 2 * self._bytes

    @property
    def low(self) -> bool:
        """True if it has less than a batch."""
        return self.size < self._bytes

    def add(self, records: list[Record]) -> int:
        """Add records; return their size."""
        size = total_size(records)
        self._lists.append((records, size))
        self.size += size
        return size

    def clear(self) -> int:
        """Drop all records; return their size."""
        size, self.size = self.size, 0
        self._lists.clear()
        return size

    def take(self) -> tuple[list[Record], int]:
        """Return the records of the next batch, and their size; one record at least, however large."""
        taken: list[Record] = []
        size = 0
        while self._lists:
            records, of_list = self._lists[0]
            if len(taken) + len(records) <= self._records and size + of_list <= self._bytes:
                self._lists.popleft()
                taken += records
                size += of_list
                continue
            count, added = self._fitting(records, len(taken), size)
            taken += records[:count]
            size += added
            if count == len(records):
                self._lists.popleft()
            else:
                self._lists[0] = (records[count:], of_list - added)
            break
        self.size -= size
        return taken, size

    def _fitting(self, records: list[Record], taken: int, size: int) -> tuple[int, int]:
        """Return how many of *records* fit into the batch, and their size."""
        count = added = 0
        for record in records:
            own = size_of(record)
            full = taken + count >= self._records or size + added + own > self._bytes
            if full and (taken or count):
                break
            count += 1
            added += own
        return count, added
