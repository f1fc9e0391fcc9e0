"""The boot id of the machine, beside the logs: it tells if the machine has gone down since they were written.

Reads and writes the file ``kafkatx-boot-id`` in log dirs, and reads that of Linux; both block. A broker that
was killed has lost nothing that it had written: the system has that in its page cache. It is gone when the
machine goes down, and nothing in the log tells. So a start in another boot than the last one, without the
clean-shutdown marker, may lack records that were acknowledged; so may one whose boots are not known.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.interfaces import Workers

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""A random text that Linux makes at each boot."""
NAME = "kafkatx-boot-id"

_log = Logger()


class BootRecord:
    """The boot ids in the log dirs of a broker; files are read and written in a worker."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def is_same(self, directories: Sequence[str]) -> Deferred[bool]:
        """Find out if all log dirs were last used in this boot of the machine, as :func:`is_same_boot`."""
        return self._workers("boot id")(lambda: is_same_boot(directories))

    def note(self, directories: Sequence[str]) -> Deferred[None]:
        """Write the id of this boot into the log dirs, as :func:`note_boot`."""
        return self._workers("boot id")(lambda: note_boot(directories))


def is_same_boot(directories: Sequence[str], boot_id: str = BOOT_ID) -> bool:
    """Return True if all log dirs were last used in this boot of the machine; False if that is not known.

    :param boot_id: the file with the id of this boot.
    """
    current = _content(boot_id)
    found = [_content(os.path.join(path, NAME)) for path in directories]
    if current is None or not found:
        return False
    other = [path for path, one in zip(directories, found, strict=True) if one not in (None, current)]
    if other:
        _log.debug("{paths}: last used before the machine was started", paths=", ".join(other))
    return all(one == current for one in found)


def note_boot(directories: Sequence[str], boot_id: str = BOOT_ID) -> None:
    """Write the id of this boot into the log dirs, if it is known and not there.

    A dir that cannot be written is left as it is: the next start takes its logs for incomplete.
    """
    current = _content(boot_id)
    if current is None:
        return
    for directory in directories:
        path = os.path.join(directory, NAME)
        if _content(path) == current:
            continue
        try:
            with open(path, "w", encoding="ascii", opener=_private) as file:
                file.write(f"{current}\n")
        except OSError as error:
            _log.warn("{path}: cannot be written: {error}", path=path, error=error)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _content(path: str) -> str | None:
    """Return the text of a file; None if there is none."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read(200).strip() or None
    except (OSError, ValueError):
        return None
