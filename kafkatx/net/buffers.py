"""Read buffers: their memory stays with the process from one read to the next.

A read takes up to 1 MiB, a large request is joined out of several, and all of it is freed soon after. As
soon as some MiB at the end of its heap are free, glibc's allocator gives them back to the system, and the
next read has to fault them in again page by page: with requests of 1 MB a fifth of the broker's CPU time.
"""

from __future__ import annotations

import ctypes
import os

KEPT_BYTES = 32 << 20
"""Freed memory that stays with the process, in bytes."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_USERS_OWN = ("GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")


def keep_freed_memory() -> bool:
    """Make the allocator keep up to ``KEPT_BYTES`` of freed memory; return True if it does.

    It does not where the C library is another one than glibc, or where the environment tells the allocator
    what to do. This is for a process of one's own: other libraries in it use the same allocator.
    """
    if any(name in os.environ for name in _USERS_OWN):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no such function, or no way to ask for it
        return False
    # without the second one large blocks would be mapped, and unmapped when they are freed
    return bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)) and bool(mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES))
