"""Classes of file system errors: those after which a log dir cannot be used, and those that pass."""

from __future__ import annotations

import errno

PASSING = frozenset(
    {
        errno.ENOSPC,  # full: there may be room later
        errno.EDQUOT,
        errno.EMFILE,  # the process has too many files open
        errno.ENFILE,
        errno.ENOMEM,
        errno.EINTR,
        errno.EAGAIN,
    }
)
"""Errors that may not occur at the next attempt, and leave what was written before as it was."""

ONE_FILES = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
"""Errors of opening a file that concern this file alone, and not the disk."""


FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk: its files can still be read."""


class SyncFailed(OSError):
    """A sync failed: the kernel may have dropped the pages, and a second one would succeed without them."""


def is_lasting(error: OSError) -> bool:
    """Return True if the disk is at fault, and not a full disk or a limit of the process.

    A failed sync always counts: the bytes that it should have written may be lost.
    """
    return isinstance(error, SyncFailed) or error.errno not in PASSING
