"""A bound on the open files of segments: ten thousand busy partitions have thirty thousand files."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol
from weakref import WeakKeyDictionary

FILES_OF_SEGMENT = 3
"""An active segment has its log and both indexes open."""

FEWEST = 32


class Holder(Protocol):
    """An object that holds files open and can open them again."""

    def release(self) -> None:
        """Close the files."""


class Descriptors:
    """Holders of open files in the order of opening; above *limit* the first one closes its files.

    Not in the order of use: that would add a cost to every write, and opening again costs only a few
    microseconds. Replies under way keep their file open (``types.SharedFile``). Reactor thread only.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._holders: WeakKeyDictionary[Holder, None] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._holders)

    def opened(self, holder: Holder) -> None:
        """Add a holder that opened files."""
        self._holders[holder] = None
        while len(self._holders) > self.limit:
            first = next(iter(self._holders))
            del self._holders[first]
            first.release()

    def released(self, holder: Holder) -> None:
        """Remove a holder that closed its files."""
        self._holders.pop(holder, None)


def affordable_segments() -> int:
    """Return how many segments may have their files open: half of the process's limit is for them."""
    most = 1024
    with suppress(ImportError, OSError, ValueError):  # no such limits here
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = soft if soft > 0 else 1 << 20
    return max(FEWEST, most // 2 // FILES_OF_SEGMENT)
