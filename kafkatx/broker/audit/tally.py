"""Counts of stored records by window: of a range of offsets of one partition. Pure; called in a worker.

A record is decoded as far as its timestamp only. Where the whole batch falls into the window of its first
record, which is the usual case, a record costs a comparison.
"""

from __future__ import annotations

from collections import Counter

from kafkatx.clientcore.audit.ranges import MAX_WINDOWS
from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records import batch as v2
from kafkatx.records import conversion
from kafkatx.records.varint import VARLONG_BYTES, rest
from kafkatx.types import FileSlice, Records


class Tally:
    """The records of a range of offsets that grows batch by batch.

    :ivar start: the first offset of the range.
    :ivar end: its end, exclusive: the offset to read next.
    :ivar windows: the number of records by the start of their window.
    :ivar markers: the number of offsets with a transaction's end marker, which is no record.
    :ivar damaged: the number of batches that could not be read.
    :ivar epoch: the leader epoch of the last batch; -1 if there is none.
    :ivar is_full: True if the range has so many windows that another one should begin.
    """

    def __init__(self, start: int, window_ms: int) -> None:
        self.start = self.end = start
        self.windows: Counter[int] = Counter()
        self.markers = self.damaged = 0
        self.epoch = -1
        self.is_full = False
        self._window_ms = window_ms

    @property
    def absent(self) -> int:
        """The number of offsets in the range that have no record."""
        return max(self.end - self.start - self.markers - self.windows.total(), 0)

    def take(self, records: Records) -> None:
        """Add whole batches, until the range is full; records below the end of the range are left out.

        :raises OSError: the records cannot be read from the disk.
        :raises CorruptRecords: the end of a batch cannot be found.
        """
        view = memoryview(records.tobytes() if isinstance(records, FileSlice) else records)
        for span in conversion.batches(view):
            if span.last_offset < self.end:
                continue
            if len(self.windows) >= MAX_WINDOWS:
                self.is_full = True
                return
            part = view[span.position : span.position + span.size]
            try:
                self._take(part, span)
            except (CorruptRecords, UnsupportedCompression):
                self.damaged += 1
            self.end = span.last_offset + 1

    def _take(self, part: memoryview, span: conversion.Span) -> None:
        if span.magic == v2.MAGIC:
            header = v2.parse_header(part)
            self.epoch = header.partition_leader_epoch
            if header.control:
                self.markers += header.count
                return
            v2.check(part, 0, header)
            if span.base_offset >= self.end:
                self.windows.update(count_windows(part, header, self._window_ms))
                return
        offsets: list[int] = []
        times: list[int] = []
        conversion.read_columns(part, offsets, times, [], [])
        self.windows.update(
            _start_of(time, self._window_ms)
            for offset, time in zip(offsets, times, strict=True)
            if offset >= self.end
        )


def count_windows(part: memoryview, header: v2.BatchHeader, window_ms: int) -> dict[int, int]:
    """Return the number of records of a batch of magic 2 by the start of their window.

    :raises CorruptRecords: the records are not what the header promises.
    :raises UnsupportedCompression: the codec is unknown or not installed.
    """
    count, base = header.count, header.base_timestamp
    if header.log_append_time:
        return {_start_of(header.max_timestamp, window_ms): count} if count else {}
    data = bytes(v2.payload(part, header))
    first = _start_of(base, window_ms)
    try:
        if _all_within(data, count, first + window_ms - 1 - base):
            return {first: count} if count else {}
        return Counter(_start_of(base + delta, window_ms) for delta in _deltas(data, count))
    except IndexError:
        raise CorruptRecords("the batch ends within a record") from None


def _start_of(time_ms: int, window_ms: int) -> int:
    return time_ms // window_ms * window_ms


def _all_within(data: bytes, count: int, most: int) -> bool:
    """Return True if all timestamp deltas are from 0 to *most*.

    :raises IndexError: the data ends within a record.
    """
    at, zigzag_most = 0, most << 1
    for _ in range(count):
        length = data[at]
        at += 1
        if length >= 0x80:
            length, at = rest(data, at, length)
        delta = data[at + 1]  # after the attributes
        if delta >= 0x80:
            delta, _end = rest(data, at + 2, delta, VARLONG_BYTES)
        if delta & 1 or delta > zigzag_most:  # odd: it is negative
            return False
        at += length >> 1
    return True


def _deltas(data: bytes, count: int) -> list[int]:
    """Return the timestamp deltas.

    :raises IndexError: the data ends within a record.
    """
    found = []
    at = 0
    for _ in range(count):
        length = data[at]
        at += 1
        if length >= 0x80:
            length, at = rest(data, at, length)
        delta = data[at + 1]
        if delta >= 0x80:
            delta, _end = rest(data, at + 2, delta, VARLONG_BYTES)
        found.append((delta >> 1) ^ -(delta & 1))
        at += length >> 1
    return found
