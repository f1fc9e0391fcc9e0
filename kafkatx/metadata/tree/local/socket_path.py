"""Paths of Unix sockets: the system takes some hundred bytes only, and a directory's path may be longer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kafkatx.errors import SettingError

MAX_BYTES = 103
"""Length of a path that every system takes: Linux 107, macOS 103."""

DESCRIPTORS = "/proc/self/fd"


@contextmanager
def short_path(path: str) -> Iterator[str]:
    """Give a path of the same file that is short enough, while the context lasts.

    :raises SettingError: the path is too long, and this system has no other.
    :raises OSError: its directory cannot be opened.
    """
    if len(os.fsencode(path)) <= MAX_BYTES:
        yield path
        return
    folder, name = os.path.split(path)
    if not os.path.isdir(DESCRIPTORS):
        raise SettingError(f"{path}: a socket's path may have {MAX_BYTES} bytes; use a shorter directory")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{DESCRIPTORS}/{descriptor}/{name}"
    finally:
        os.close(descriptor)
