"""Removal of all segments of a log, which then begins anew; a crash leaves the old log or the new one.

The steps, and what recovery does after a crash between two of them::

    1  a mark is made: the empty file restart.<offset in 20 digits>      the old log
    2  the empty segment that begins at the offset is made               completes the restart
    3  all files of old segments, and snapshots, are renamed or unlinked completes the restart
    4  the mark is unlinked                                              the new log

Step 4 reaches the disk with the first flush, which syncs the directory. So no record that was flushed is in a
log that still has its mark.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence

from twisted.logger import Logger

from kafkatx.log.files import Files
from kafkatx.log.segment.files import INDEX, LOG, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX

_log = Logger()
_MARK = re.compile(r"restart\.(\d{20})")
_OLD = re.compile(
    r"\d{20}(" + "|".join((LOG, INDEX, TIME_INDEX, SNAPSHOT, TRANSACTION_INDEX)).replace(".", r"\.") + ")"
)


def begin(files: Files, directory: str, offset: int) -> None:
    """Do step 1.

    :raises OSError: nothing has changed.
    """
    files.create(_path(directory, offset))


def remove_snapshots(files: Files, directory: str) -> None:
    """Unlink the producer snapshots of a log: they are about records that it has no more.

    :raises OSError: one could not be unlinked.
    """
    for name in files.names(directory):
        if name.endswith(SNAPSHOT):
            files.unlink(os.path.join(directory, name))


def end(files: Files, directory: str, offset: int) -> None:
    """Do step 4.

    :raises OSError: recovery would remove what is appended from now on.
    """
    files.unlink(_path(directory, offset))


def half_done(directory: str, error: OSError) -> OSError:
    """Return the error of a restart that failed between steps 1 and 4: the next start completes it."""
    return OSError(errno.EIO, f"the removal of all records was not completed: {error.strerror}", directory)


def recover(files: Files, directory: str, names: Sequence[str]) -> int | None:
    """Remove what a restart was about to remove, but for its mark.

    Called while a log is loaded, before its segments are searched for.

    :param names: all names in the directory.
    :return: the offset at which the log begins; None if there is no mark.
    :raises OSError: a file could not be unlinked.
    """
    marks = [int(match[1]) for match in map(_MARK.fullmatch, names) if match]
    if not marks:
        return None
    _log.warn(
        "{directory}: the broker ended while it removed all records, to begin at offset {offset}; that is"
        " completed",
        directory=directory,
        offset=max(marks),
    )
    for name in names:
        if _OLD.fullmatch(name):
            files.unlink(os.path.join(directory, name))
    for offset in marks:
        if offset != max(marks):
            end(files, directory, offset)
    return max(marks)


def _path(directory: str, offset: int) -> str:
    return os.path.join(directory, f"restart.{offset:020d}")
