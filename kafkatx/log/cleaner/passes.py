"""What a pass over a log is told, and what comes of it.

:mod:`kafkatx.log.segment.swap` says how the files are named that it writes. The name of the pass keeps two
apart, should a process outlive its broker. What of them nobody takes is removed when the log is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import attrs

from kafkatx.log.files import Files
from kafkatx.log.segment.swap import Cleaned
from kafkatx.records.compression import LIMIT_BYTES


@attrs.frozen
class Memory:
    """``log.cleaner.dedupe.buffer.size`` and ``log.cleaner.io.buffer.load.factor``."""

    memory_bytes: int
    load_factor: float


@attrs.frozen
class Source:
    """A segment to be read: its base offset and its bytes."""

    base_offset: int
    size: int


@attrs.frozen
class Pass:
    """All that a pass must know: plain values, for it may run in another process.

    :ivar name: tells the pass's files from others'.
    :ivar sources: the segments, oldest first, up to the first that cannot be cleaned.
    :ivar end_offset: the offset after the last of them, exclusive.
    :ivar last_offsets: producer id -> last offset of the last batch that it wrote.
    :ivar inflated_limit_bytes: the most that a batch may take when inflated; a larger one ends the pass.
    """

    name: str
    directory: str
    sources: tuple[Source, ...]
    first_dirty_offset: int
    end_offset: int
    now_ms: int
    delete_retention_ms: int
    memory_bytes: int
    load_factor: float
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    last_offsets: dict[int, int]
    inflated_limit_bytes: int = LIMIT_BYTES


@attrs.frozen
class Finished:
    """The end of a pass: the log is clean up to ``end_offset`` (exclusive). The rest is for people."""

    end_offset: int
    bytes_read: int
    bytes_kept: int


Run: TypeAlias = Callable[[Files, Pass, Callable[[], None]], Iterator[Cleaned | Finished]]
"""As ``kafkatx.log.cleaner.clean.clean``."""


class CleaningAborted(Exception):
    """The pass is not wanted any more."""
