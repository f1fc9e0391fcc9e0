"""The files of a database: made readable by their owner only, with durable names. Every function blocks."""

from __future__ import annotations

import contextlib
import os

SIDE_FILES = ("-wal", "-shm", "-journal")
"""The files that SQLite keeps beside a database, by the ends of their names."""


def make_file(path: str) -> bool:
    """Create the file, readable by its owner only, unless it exists; return True if it is empty.

    Directories that were created for it are synced; the file's own name is not.
    """
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        os.makedirs(directory, 0o700, exist_ok=True)
        sync_directory(os.path.dirname(os.path.abspath(directory)))
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return os.path.getsize(path) == 0


def sync_directory(path: str) -> None:
    """Make the names in a directory durable: a file's own fsync does not."""
    fd = os.open(path or ".", os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
