"""Replacement of segments by compacted ones; after a crash either the old or the new ones are there.

The steps, and what recovery does after a crash between two of them::

    1  X.index.P.cleaned -> X.index.swap, other indexes alike      the old segments; the rest is removed
    2  X.log.P.cleaned   -> X.log.swap                             from here on the new segment
    3  the old segments' files, last segment first -> .deleted     removed by the recovery, if in its range
    4  X.index.swap, other indexes alike -> without .swap          taken up where it was left
    5  X.log.swap        -> X.log                                  done

``.log.swap`` alone decides: it exists from step 2 to step 5, and if it exists recovery completes the swap.
All of its content was synced before. Renames in one directory reach the disk in their order on every file
system with a journal; the directory is synced soon after, and before any old file is unlinked. If an old
segment has an index of transactions the new one has one, too, even if it is empty: it replaces the old one.

An old segment that begins beyond the last offset of the new one may survive a crash in step 3. Every record
in it has a later one with its key, so no reader is misled; the next pass takes it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence

import attrs

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.segment.files import INDEX, LOG, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, file_name
from kafkatx.log.segment.segment import LogSegment

CLEANED = ".cleaned"
SWAP = ".swap"
_INDEXES = (INDEX, TIME_INDEX, TRANSACTION_INDEX)
_SWAPPED_LOG = re.compile(r"(\d{20})\.log\.swap")
_FILE = re.compile(r"(\d{20})\.(log|index|timeindex|txnindex)")


@attrs.frozen
class Cleaned:
    """A new segment, on the disk, and the base offsets of those that it replaces.

    The new file's modification time is that of the last of those.

    :ivar aborted: the entries of its ``.txnindex`` (:mod:`kafkatx.log.transactions.aborted`).
    """

    base_offset: int
    replaces: tuple[int, ...]
    size: int
    max_timestamp: int
    max_timestamp_offset: int
    aborted: tuple[tuple[int, ...], ...] = ()


class CleanedSegment(LogSegment):
    """A segment whose files still have another suffix."""

    __slots__ = ("suffix",)

    def __init__(
        self, files: Files, directory: str, base_offset: int, size: int, created_ms: int, suffix: str = ""
    ) -> None:
        self.suffix = suffix
        super().__init__(files, directory, base_offset, size, created_ms)

    def path(self, suffix: str) -> str:
        """Return the path of one of its files."""
        return super().path(suffix) + self.suffix


def suffix_of(name: str) -> str:
    """Return the suffix of the files of a pass."""
    return f".{name}{CLEANED}"


def begin(files: Files, directory: str, cleaned: Cleaned, name: str) -> None:
    """Do steps 1 and 2.

    :param name: of the pass.
    :raises OSError: the old segments are kept.
    """
    suffix = suffix_of(name)
    for kind in (*_INDEXES, LOG):
        path = os.path.join(directory, file_name(cleaned.base_offset, kind))
        if kind != TRANSACTION_INDEX or files.exists(path + suffix):
            files.rename(path + suffix, path + SWAP)


def finish(files: Files, directory: str, cleaned: Cleaned, old: Sequence[LogSegment]) -> list[str]:
    """Do steps 3 to 5; return the paths of the old files, to be unlinked later.

    All their producer snapshots go: a transaction that is open there may have no marker any more.

    :raises OSError: the log must be loaded again, which completes the swap.
    """
    doomed = [path for segment in reversed(old) for path in segment.put_aside()]
    _take_names(files, directory, cleaned.base_offset)
    return doomed


def _take_names(files: Files, directory: str, base_offset: int) -> None:
    for kind in (*_INDEXES, LOG):
        path = os.path.join(directory, file_name(base_offset, kind))
        if files.exists(path + SWAP):
            files.rename(path + SWAP, path)


def discard(files: Files, directory: str, name: str) -> None:
    """Remove all files of a pass that are left; the directory may be gone."""
    with contextlib.suppress(FileNotFoundError):
        for one in files.names(directory):
            if one.endswith(suffix_of(name)):
                files.unlink(os.path.join(directory, one))


def recover(files: Files, directory: str, names: Sequence[str]) -> bool:
    """Complete the swaps that were begun, remove the files of others.

    Called while a log is loaded, before its segments are searched for.

    :param names: all names in the directory.
    :return: True if names in the directory have changed.
    """
    leftovers = [name for name in names if name.endswith((SWAP, CLEANED))]
    if not leftovers:
        return False
    for name in leftovers:
        if match := _SWAPPED_LOG.fullmatch(name):
            _carry_through(files, directory, int(match[1]), names)
    for name in leftovers:
        files.unlink(os.path.join(directory, name))
    _drop_orphans(files, directory)
    files.sync_dir(directory)
    return True


def _drop_orphans(files: Files, directory: str) -> None:
    """Remove the indexes that step 3 left without their log."""
    names = files.names(directory)
    for name in names:
        match = _FILE.fullmatch(name)
        if match and f"{match[1]}{LOG}" not in names:
            files.unlink(os.path.join(directory, name))


def _carry_through(files: Files, directory: str, base_offset: int, names: Sequence[str]) -> None:
    size = files.size(os.path.join(directory, file_name(base_offset, LOG) + SWAP))
    swapped = CleanedSegment(files, directory, base_offset, size, 0, SWAP)
    next_offset = base_offset
    try:
        for batch in swapped.walk():
            next_offset = batch.last_offset + 1
    except CorruptRecords:
        if file_name(base_offset, LOG) in names:
            return  # It was valid when it was renamed: the disk is at fault, and the old segment is there.
    for name in names:
        match = _FILE.fullmatch(name)
        if match and base_offset < int(match[1]) < next_offset:
            LogSegment(files, directory, int(match[1]), 0, 0).remove()
    files.unlink(os.path.join(directory, file_name(base_offset, SNAPSHOT)))
    _take_names(files, directory, base_offset)
