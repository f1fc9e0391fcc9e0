"""Timestamps of the batches at given offsets, from their headers. It reads logs.

A header that is in the page cache costs some microseconds. Others are loaded by the log's worker first, up to
a number in each scrape; the rest is unknown until a later one.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import RequestError
from kafkatx.types import FileSlice

MOST_COLD = 50
"""Headers that are read from the disk in one scrape."""

_HEADER = Struct(">qiibIhiq")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, first timestamp."""

Key = tuple[Partition, int]


class BatchTimes:
    """The first timestamps of batches; those of the scrape before are not read again."""

    def __init__(self) -> None:
        self._known: dict[Key, int] = {}
        self._before: dict[Key, int] = {}
        self._cold = 0

    def begin(self) -> None:
        """Begin a scrape."""
        self._before, self._known = self._known, {}
        self._cold = 0

    def load(self, partition: Partition, offset: int) -> Iterator[Deferred[None]]:
        """Find out the time of the batch that holds an offset; yield what must be waited for.

        :param offset: one that the log has; :meth:`first_ms` tells the time.
        """
        key = (partition, offset)
        if key in self._before:
            self._known[key] = self._before[key]
            return
        if self._cold >= MOST_COLD:
            return
        try:
            cold = partition.log.warm(offset, _HEADER.size)
        except (RequestError, OSError):
            return
        if cold is not None:
            self._cold += 1
            yield cold.addErrback(lambda _: None)  # the read fails, too
        first_ms = _first_ms(partition, offset)
        if first_ms is not None:
            self._known[key] = first_ms

    def first_ms(self, partition: Partition, offset: int) -> int | None:
        """Return the first timestamp of a batch; None if it is not known."""
        return self._known.get((partition, offset))


def _first_ms(partition: Partition, offset: int) -> int | None:
    try:
        records = partition.log.read(offset, 1, partition.log.log_end_offset, True)
        if isinstance(records, FileSlice):
            size = min(records.size, _HEADER.size)
            records = FileSlice(records.file, records.position, size).tobytes()
    except (RequestError, OSError):
        return None
    if len(records) < _HEADER.size:
        return None
    *_, magic, _, _, _, first_ms = _HEADER.unpack_from(records)
    return first_ms if magic == 2 and first_ms >= 0 else None
