"""Scans a ``.log`` file past any damage: finds complete batches and damaged parts. Reads files.

A damaged batch is skipped by its length if a complete batch follows there. Otherwise its length cannot be
trusted either, and the next complete batch is searched byte by byte. Memory is bounded for any value of a
length field.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.segment.scan import Shallow, parse
from kafkatx.records.batch import Record, stream_records
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import LIMIT_BYTES
from kafkatx.records.header import ATTRIBUTES_AT, HEADER_BYTES, MAGIC, MAGIC_AT
from kafkatx.records.legacy import message_sets
from kafkatx.types import SharedFile

WINDOW_BYTES = 1 << 20
_MAX_RELATIVE_OFFSET = 2**31 - 1
_HEAD_BYTES = 17
"""Bytes of a header that the search compares: offset, length, leader epoch or CRC, magic."""


class ScannedBatch(NamedTuple):
    """A batch, or an outer message of magic 0 or 1, with a correct checksum."""

    batch: Shallow
    head: bytes
    """Its first 61 bytes; fewer if it is shorter."""


class Damage(NamedTuple):
    """*size* bytes from *position* on that are not a complete batch."""

    position: int
    size: int
    problem: str
    batch: Shallow | None
    """The header of the damaged batch, if it is plausible."""
    cut_off: bool
    """True if the file ends within the batch, as during a write or after a crash."""
    head: bytes
    """The bytes of that header."""


class BatchScan:
    """The scan of one ``.log`` file.

    :param base_offset: base offset of the segment: the smallest offset to search for.
    :param end: the position where the scan ends.
    """

    def __init__(self, files: Files, file: SharedFile, base_offset: int, end: int) -> None:
        self._files = files
        self._file = file
        self._base_offset = base_offset
        self._end = end
        self._window = memoryview(b"")
        self._window_at = 0
        self._pattern = _pattern(base_offset)

    def __iter__(self) -> Iterator[ScannedBatch | Damage]:
        position, next_offset = 0, self._base_offset
        while position < self._end:
            problem, batch = self._judge(position)
            if batch is not None and not problem:
                yield ScannedBatch(batch, bytes(self._bytes(position, min(batch.size, HEADER_BYTES))))
                position += batch.size
                next_offset = batch.last_offset + 1
                continue
            following = self._next_whole(position, batch, next_offset)
            cut_off = following == self._end and (batch is None or position + batch.size > self._end)
            if batch is None:
                cut_off = cut_off and self._end - position < HEADER_BYTES
            head = bytes(self._bytes(position, HEADER_BYTES))
            yield Damage(position, following - position, problem, batch, cut_off, head)
            position = following

    def records(self, batch: Shallow) -> Iterator[Record]:
        """Yield the records of a batch, also of a control batch; its checksum is not checked again.

        Memory is bounded by the decompressed size of the batch.

        :raises CorruptRecords: the records cannot be decoded, or exceed 128 MiB; some may be yielded before.
        :raises UnsupportedCompression: the codec is unknown or not installed.
        """
        if batch.size > LIMIT_BYTES:
            raise CorruptRecords(f"a batch of {batch.size} bytes is too large to be decoded")
        data = memoryview(self._files.pread(self._file, batch.size, batch.position))
        if batch.magic == MAGIC:
            yield from stream_records(data)
        else:
            yield from message_sets.iter_records(data, check_crc=False)

    def _judge(self, position: int) -> tuple[str, Shallow | None]:
        """Return the problem at a position, or an empty text, and the header if it is plausible."""
        try:
            batch = parse(self._bytes(position, HEADER_BYTES), 0, position)
        except CorruptRecords as error:
            if self._end - position < HEADER_BYTES:
                return f"the file ends {self._end - position} bytes into a header", None
            return str(error), None
        left = self._end - position
        if batch.size > left:
            return f"a batch of {batch.size} bytes where the file has {left} left", batch
        if self._checksum(batch) != batch.crc:
            return f"the checksum of the batch with offsets {_offsets(batch)} is wrong", batch
        return "", batch

    def _checksum(self, batch: Shallow) -> int:
        start, crc = (ATTRIBUTES_AT, crc32c) if batch.magic == MAGIC else (MAGIC_AT, zlib.crc32)
        end = batch.position + batch.size
        if batch.size <= WINDOW_BYTES:
            return crc(self._bytes(batch.position, batch.size)[start:])
        value = 0
        for at in range(batch.position + start, end, WINDOW_BYTES):
            value = crc(self._files.pread(self._file, min(WINDOW_BYTES, end - at), at), value)
        return value

    def _bytes(self, position: int, size: int) -> memoryview:
        """Return at most *size* bytes from *position* on, from a window that is read as a whole."""
        size = min(size, self._end - position)
        start = position - self._window_at
        if start < 0 or start + size > len(self._window):
            data = self._files.pread(self._file, min(WINDOW_BYTES, self._end - position), position)
            self._window, self._window_at, start = memoryview(data), position, 0
        return self._window[start : start + size]

    def _next_whole(self, position: int, batch: Shallow | None, least_offset: int) -> int:
        """Return the position of the first complete batch after *position*; the end if there is none."""
        if batch is not None:
            after = position + batch.size
            if after == self._end or (after < self._end and self._whole(after, least_offset)):
                return after
        at = position + 1
        while at < self._end:
            chunk = self._files.pread(self._file, min(WINDOW_BYTES, self._end - at), at)
            for start in self._candidates(chunk):
                if self._whole(at + start, least_offset):
                    return at + start
            if at + len(chunk) >= self._end or len(chunk) < _HEAD_BYTES:
                break
            at += len(chunk) - _HEAD_BYTES + 1
        return self._end

    def _candidates(self, chunk: bytes) -> Iterator[int]:
        match = self._pattern.search(chunk)
        while match:
            yield match.start()
            match = self._pattern.search(chunk, match.start() + 1)

    def _whole(self, position: int, least_offset: int) -> bool:
        problem, batch = self._judge(position)
        return (
            not problem
            and batch is not None
            and least_offset <= batch.base_offset <= self._base_offset + _MAX_RELATIVE_OFFSET
        )


def _pattern(base_offset: int) -> re.Pattern[bytes]:
    """Return a pattern for headers of batches in a segment: the high half of offsets is nearly known."""
    highs = {(base_offset + more) >> 32 for more in (0, _MAX_RELATIVE_OFFSET)}
    starts = b"|".join(re.escape(high.to_bytes(4, "big")) for high in sorted(highs))
    length = rb"(?!\x00\x00\x00\x00)[\x00-\x7f].{3}"
    return re.compile(b"(?:" + starts + b").{4}" + length + rb".{4}[\x00-\x02]", re.DOTALL)


def _offsets(batch: Shallow) -> str:
    if batch.base_offset == batch.last_offset:
        return str(batch.last_offset)
    return f"{batch.base_offset} to {batch.last_offset}"
