"""A bound on the files that segments hold open: ten thousand busy partitions have thirty thousand files."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol
from weakref import WeakKeyDictionary

FILES_OF_SEGMENT = 3
"""A segment that is written to has its log and both indexes open."""

FEWEST = 32


class Holder(Protocol):
    """Who holds files open and can open them again."""

    def release(self) -> None:
        """Let the files go."""


class Descriptors:
    """Who holds files open, in the order of opening; beyond *limit* the first lets its files go.

    Not in the order of use: that would cost something with every write, and opening again costs a few
    microseconds. Replies that are under way keep their file (``types.SharedFile``). For the reactor thread.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._holders: WeakKeyDictionary[Holder, None] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._holders)

    def opened(self, holder: Holder) -> None:
        """Take note of one that opened files."""
        self._holders[holder] = None
        while len(self._holders) > self.limit:
            first = next(iter(self._holders))
            del self._holders[first]
            first.release()

    def released(self, holder: Holder) -> None:
        """One let its files go."""
        self._holders.pop(holder, None)


def affordable_segments() -> int:
    """How many segments may have their files open: half of what the process may open is for them."""
    most = 1024
    with suppress(ImportError, OSError, ValueError):  # no such limits here
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = soft if soft > 0 else 1 << 20
    return max(FEWEST, most // 2 // FILES_OF_SEGMENT)
