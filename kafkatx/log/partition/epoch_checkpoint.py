"""The file ``leader-epoch-checkpoint`` of a log, kept in step with its :class:`LeaderEpochCache`."""

from __future__ import annotations

import os
from collections.abc import Iterable

from kafkatx.log.checkpoint import LEADER_EPOCHS, encode_epochs
from kafkatx.log.faults import FULL
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.partition.location import LogLocation


class EpochCheckpoint:
    """Writes the epochs whenever they change; the next flush of the log syncs the file.

    :ivar cache: the epochs of written batches.
    :ivar unsynced: True if the file was written and not synced since.
    """

    __slots__ = ("_location", "cache", "unsynced")

    def __init__(self, location: LogLocation, cache: LeaderEpochCache, unsynced: bool) -> None:
        self._location = location
        self.cache = cache
        self.unsynced = unsynced

    @property
    def path(self) -> str:
        """The path of the file."""
        return os.path.join(self._location.directory, LEADER_EPOCHS)

    def assign(self, starts: Iterable[tuple[int, int]], forget: bool = False) -> list[tuple[int, int]]:
        """Add new epochs, before their first batch is written; write the file if that changes anything.

        :param forget: forget those before them.
        :return: the entries from before, for a write that fails: see :meth:`restore`.
        :raises OSError: the file could not be written; the entries are as before.
        """
        before = list(self.cache.entries)
        if forget:
            self.cache.entries = []
        for epoch, start_offset in starts:
            self.cache.assign(epoch, start_offset)
        if self.cache.entries != before:
            try:
                self._save()
            except OSError:
                self.restore(before)
                raise
        return before

    def restore(self, entries: list[tuple[int, int]]) -> None:
        """Put back the entries from before :meth:`assign`: no batch of the new epochs was written.

        The file may still have them, which is harmless: they begin at the end of the log.
        """
        self.cache.entries = entries

    def cut_end(self, offset: int) -> None:
        """Forget the epochs that start at *offset* or beyond.

        :raises OSError: the file could not be written.
        """
        self.cache.cut_end(offset)
        self._save()

    def cut_start(self, offset: int) -> None:
        """Forget the epochs that end at or below *offset*; write the file if that changed anything.

        A full disk is no error here: retention calls this to make room, and one entry too many is harmless.

        :raises OSError: the file could not be written for another reason.
        """
        before = self.cache.version
        self.cache.cut_start(offset)
        if self.cache.version == before:
            return
        try:
            self._save()
        except OSError as error:
            if error.errno not in FULL:
                raise

    def _save(self) -> None:
        self._location.files.replace(self.path, encode_epochs(self.cache.entries), sync=False)
        self.unsynced = True
