"""The limit of open files of a process."""

from __future__ import annotations

from contextlib import suppress

from twisted.logger import Logger

FEW_FILES = 4096

_log = Logger()


def allow_open_files() -> None:
    """Raise the limit of open files as far as it goes: a shell's 1024 are few for logs and connections."""
    with suppress(ImportError, OSError, ValueError):  # no such limits here, or none that may be changed
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if 0 <= most < FEW_FILES:  # RLIM_INFINITY is -1
            _log.warn(
                "this process may open {most} files: half of them are for logs, which are closed and opened"
                " again where that is too few; raise it (ulimit -n) for many partitions or connections",
                most=most,
            )
