"""Batches on their way into a log: what the indexes must know of each, and their bytes. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class BatchInfo(NamedTuple):
    """Size in bytes, offsets and largest timestamp (ms) of a batch; ``last_offset`` is inclusive."""

    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int


class StagedBatches:
    """Batches that have offsets and are not in the log yet.

    :ivar buffers: their bytes, in any number of parts. A batch from a producer has two: the new start of its
        header, and the rest of what was sent, uncopied. All batches of a fetch reply are one.
    :ivar batches: one for each batch.
    :ivar size_bytes: the size of all of them.
    :ivar append_ms: when the last one was appended.
    """

    __slots__ = ("append_ms", "batches", "buffers", "size_bytes")

    def __init__(self) -> None:
        self.append_ms = 0
        self.clear()

    def clear(self) -> None:
        """Forget all batches; the lists are new ones, for the storage may keep the old ones."""
        self.buffers: list[bytes | memoryview] = []
        self.batches: list[BatchInfo] = []
        self.size_bytes = 0


class Parts:
    """The bytes of buffers, one after another, taken in pieces without a copy."""

    __slots__ = ("_part", "_rest")

    def __init__(self, buffers: Iterable[bytes | memoryview]) -> None:
        self._rest = iter(buffers)
        self._part = memoryview(b"")

    def take(self, size: int) -> list[memoryview]:
        """Return the parts of buffers that are the next *size* bytes; there must be as many."""
        taken: list[memoryview] = []
        while size:
            if not self._part:
                self._part = memoryview(next(self._rest))
                continue
            taken.append(self._part[:size])
            size -= len(taken[-1])
            self._part = self._part[len(taken[-1]) :]
        return taken
