"""Files with the bytes that recovery or a repair cuts off a log.

The bytes of ``FILE`` from position ``P`` on are kept as ``FILE.cut-P`` beside it, a whole file as
``FILE.cut-0``; if the name is taken a number follows: ``FILE.cut-P-2``. No broker reads these files and
retention does not remove them; they are removed with the partition's directory when the topic is deleted.
"""

from __future__ import annotations

import contextlib
import os

from kafkatx.log.files import Files

_COPY_BYTES = 1 << 20
_FEW_BYTES = 512
"""The least that a disk writes: fewer zeros may be the end of a batch."""


def free_name(files: Files, path: str, position: int) -> str:
    """Return an unused name for the bytes of a file from *position* on."""
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
    """Copy the bytes from *position* on to the file *kept*, and sync it.

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
    """Return True if only zeros, 512 bytes or more, follow *position*: space allocated and never written."""
    file, size = files.open(path), files.size(path)
    if size - position < _FEW_BYTES:
        return False
    for at in range(position, size, _COPY_BYTES):
        data = files.pread(file, min(_COPY_BYTES, size - at), at)
        if data.count(0) != len(data):
            return False
    return True
