"""The directories of deleted partitions that were renamed: many names are synced at once.

A deletion of a topic renames a directory for each partition, and a request may delete a thousand topics. The
names of a log dir are synced when no rename is under way any more, or :data:`MOST_RENAMES` are waiting.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.log.store.log_dir import LogDir

MOST_RENAMES = 1000


class Renames:
    """Counts the renames that are under way, and syncs those that are done."""

    def __init__(self) -> None:
        self._under_way = 0
        self._done: dict[LogDir, list[Deferred[None]]] = {}

    def begin(self) -> None:
        """Count a rename; :meth:`end` follows."""
        self._under_way += 1

    def end(self, log_dir: LogDir | None) -> Deferred[None] | None:
        """End a rename; None: there was none, or it failed.

        :return: fires when the new name is on the disk; fails with OSError.
        """
        self._under_way -= 1
        synced: Deferred[None] | None = None
        if log_dir is not None:
            synced = Deferred()
            self._done.setdefault(log_dir, []).append(synced)
        if not self._under_way or sum(map(len, self._done.values())) >= MOST_RENAMES:
            self._sync()
        return synced

    def _sync(self) -> None:
        done, self._done = self._done, {}
        for log_dir, waiting in done.items():
            syncing = log_dir.run(log_dir.files.sync, "syncing the names of deleted partitions")
            syncing.addBoth(_tell, waiting)


def _tell(result: Failure | None, waiting: list[Deferred[None]]) -> None:
    for one in waiting:
        one.callback(result)
