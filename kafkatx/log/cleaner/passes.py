"""The parameters and the results of a pass over a log. Pure.

:mod:`kafkatx.log.segment.swap` describes the names of the files that a pass writes. They contain the name of
the pass, in case a process outlives its broker. Unused files are removed when the log is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import attrs

from kafkatx.log.files import Files
from kafkatx.log.segment.swap import Cleaned
from kafkatx.log.transactions.aborted import AbortedTransaction
from kafkatx.records.compression import LIMIT_BYTES


@attrs.frozen
class Memory:
    """``log.cleaner.dedupe.buffer.size`` and ``log.cleaner.io.buffer.load.factor``."""

    memory_bytes: int
    load_factor: float


@attrs.frozen
class Source:
    """A segment to read: its base offset and size."""

    base_offset: int
    size: int


@attrs.frozen
class Pass:
    """The parameters of a pass: plain values, because it may run in another process.

    :ivar name: distinguishes the files of this pass.
    :ivar sources: the segments, oldest first, up to the first that cannot be cleaned.
    :ivar end_offset: the offset after the last of them, exclusive.
    :ivar last_offsets: producer id -> last offset of the last batch that it wrote.
    :ivar marker_epochs: producer id -> epoch of producers of which the log knows markers only.
    :ivar aborted: the aborted transactions with records in the range, by their markers.
    :ivar inflated_limit_bytes: maximum decompressed size of a batch; a larger one ends the pass.
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
    marker_epochs: dict[int, int] = attrs.field(factory=dict)
    aborted: tuple[AbortedTransaction, ...] = ()
    inflated_limit_bytes: int = LIMIT_BYTES


@attrs.frozen
class Finished:
    """The result of a pass: the log is clean up to ``end_offset`` (exclusive). Other fields are logged."""

    end_offset: int
    bytes_read: int
    bytes_kept: int


Run: TypeAlias = Callable[[Files, Pass, Callable[[], None]], Iterator[Cleaned | Finished]]
"""A function like ``kafkatx.log.cleaner.clean.clean``."""


class CleaningAborted(Exception):
    """The pass was aborted."""
