"""Which failures of the file system are the disk's, so that a log dir cannot be used any more."""

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
"""What may be otherwise at the next attempt, and leaves what was written before as it was."""

ONE_FILES = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
"""What opening fails with where one file is at fault, and not the disk."""


FULL = (errno.ENOSPC, errno.EDQUOT)
"""The disk is full: what is on it can be read."""


class SyncFailed(OSError):
    """A sync failed: the kernel may have dropped the pages, and a second one would succeed without them."""


def is_lasting(error: OSError) -> bool:
    """Whether the disk is at fault, and not its fullness or the process's limits.

    A sync that fails is, whatever the reason: what it should have written may be lost.
    """
    return isinstance(error, SyncFailed) or error.errno not in PASSING
