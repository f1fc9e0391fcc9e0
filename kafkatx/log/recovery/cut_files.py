"""Bytes that recovery or a repair takes out of a log are kept beside it.

What is cut off ``FILE`` at byte ``P`` is kept as ``FILE.cut-P``, a file that goes as a whole as
``FILE.cut-0``; a number follows where that name is taken: ``FILE.cut-P-2``. No broker reads these files,
retention does not touch them, and they go with the partition's directory when the topic is deleted.
"""

from __future__ import annotations

import contextlib
import os

from kafkatx.log.files import Files

_COPY_BYTES = 1 << 20
_FEW_BYTES = 512
"""A disk writes no less: fewer zeros may be the end of a batch."""


def free_name(files: Files, path: str, position: int) -> str:
    """Return the name under which what follows *position* of a file is to be kept."""
    kept = wanted = f"{path}.cut-{position}"
    number = 1
    while files.exists(kept):
        number += 1
        kept = f"{wanted}-{number}"
    return kept


def keep_whole(files: Files, path: str, kept: str) -> None:
    """Rename a file as a whole to *kept*.

    :raises OSError: it cannot be renamed.
    """
    files.rename(path, kept)
    files.sync_dir(os.path.dirname(path) or os.curdir)


def keep_rest(files: Files, path: str, position: int, kept: str) -> None:
    """Copy what follows *position* to the file *kept*, on the disk when this returns.

    :raises OSError: it cannot be copied; nothing is left of *kept*.
    """
    file, copy = files.open(path), files.create(kept)
    try:
        at, size = position, files.size(path)
        while at < size:
            data = files.pread(file, min(_COPY_BYTES, size - at), at)
            files.writev(copy, [data], at - position, len(data))
            at += len(data)
        files.sync(copy)
    except OSError:
        with contextlib.suppress(OSError):
            files.unlink(kept)
        raise
    files.sync_dir(os.path.dirname(path) or os.curdir)


def is_zero(files: Files, path: str, position: int) -> bool:
    """True if nothing but many zeros follows *position*: room that a file system had made, and no data."""
    file, size = files.open(path), files.size(path)
    if size - position < _FEW_BYTES:
        return False
    for at in range(position, size, _COPY_BYTES):
        data = files.pread(file, min(_COPY_BYTES, size - at), at)
        if data.count(0) != len(data):
            return False
    return True
