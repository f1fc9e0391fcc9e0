"""The search for the segments of a log, by the names in its directory.

Files that cannot be segments are ignored with a warning. A missing segment makes the partition unavailable.
An index without its ``.log`` shows that one is missing: every removal unlinks the index first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from twisted.logger import Logger

from kafkatx.errors import PartitionUnavailable
from kafkatx.log.files import Files
from kafkatx.log.segment import swap
from kafkatx.log.segment.files import DELETED, LOG, file_name
from kafkatx.log.segment.segment import LogSegment

_log = Logger()
_LEFTOVERS = (DELETED, ".tmp")
_NAME = re.compile(r"(\d{20})(\.log|\.index|\.timeindex)")
_MAX_OFFSET = 2**63 - 1


def unavailable(directory: str, problem: str) -> PartitionUnavailable:
    """Return the error for files that cannot be used as they are."""
    return PartitionUnavailable(
        f"{directory}: {problem}; restore what is missing, or stop the broker and run"
        f" kafkatx log repair {directory}, which keeps what it cuts off, and start it again"
    )


def pass_over(path: str, why: str) -> None:
    """Log that a file is ignored."""
    _log.warn("{path}: ignored, {why}; move it away", path=path, why=why)


def find_segments(files: Files, directory: str, sparse_below: int, recovery_point: int) -> list[LogSegment]:
    """Return the segments in a directory, by base offset. Swaps that a crash has interrupted are completed.

    An empty file that is not the last one is ignored, unless compaction may have emptied it. If it was a
    segment that was truncated, offsets are missing between its neighbours.

    :param sparse_below: up to this offset compaction may have left gaps.
    :raises PartitionUnavailable: a segment is missing.
    :raises OSError: the directory cannot be read or cleared.
    """
    names = files.names(directory)
    if swap.recover(files, directory, names):
        names = files.names(directory)
    for name in names:
        if name.endswith(_LEFTOVERS):
            files.unlink(os.path.join(directory, name))
    segments = []
    for base_offset in _bases(files, directory, names):
        path = os.path.join(directory, file_name(base_offset, LOG))
        segment = LogSegment(files, directory, base_offset, files.size(path), files.mtime_ms(path))
        segment.sparse_below = sparse_below
        segments.append(segment)
    _check_none_missing(directory, names, segments, recovery_point)
    strays = [one for one in segments[:-1] if not one.size and one.base_offset >= sparse_below]
    for segment in strays:
        pass_over(segment.path(LOG), "it is empty")
        segments.remove(segment)
    return segments


def _bases(files: Files, directory: str, names: Sequence[str]) -> list[int]:
    """Return the base offsets of the files that can be segments."""
    found = []
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or match[2] != LOG:
            continue
        path = os.path.join(directory, name)
        if int(match[1]) > _MAX_OFFSET:
            pass_over(path, "no offset is as large as its name")
        elif not files.is_regular(path):
            pass_over(path, "it is no regular file")
        else:
            found.append(int(match[1]))
    return sorted(found)


def _check_none_missing(
    directory: str, names: Sequence[str], segments: Sequence[LogSegment], recovery_point: int
) -> None:
    bases = {segment.base_offset for segment in segments}
    first = min(bases, default=-1)
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or match[2] == LOG or not first < int(match[1]) <= _MAX_OFFSET:
            continue
        if int(match[1]) not in bases:
            raise unavailable(directory, f"{match[1]}{LOG} is missing, {name} is there")
    if not segments and recovery_point:
        raise unavailable(directory, f"there is no segment, and the log had offsets up to {recovery_point}")
