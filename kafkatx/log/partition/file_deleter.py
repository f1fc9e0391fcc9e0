"""Deletion of a log's files after ``file.delete.delay.ms``, so that replies under way can be finished."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.log.files import Files
from kafkatx.log.partition.location import LogLocation


class FileDeleter:
    """Unlinks files in the log's worker after a delay.

    Files whose deletion is cancelled have the suffix ``.deleted`` and go when the log is opened next.
    """

    __slots__ = ("_calls", "_clock", "_location")

    def __init__(self, location: LogLocation, clock: IReactorTime) -> None:
        self._location = location
        self._clock = clock
        self._calls: set[IDelayedCall] = set()

    def delete_later(self, paths: Sequence[str], delay_ms: int) -> None:
        """Unlink *paths* after *delay_ms*."""
        call = self._clock.callLater(delay_ms / 1000, self._delete, paths)
        self._calls = {waiting for waiting in self._calls if waiting.active()} | {call}

    def _delete(self, paths: Sequence[str]) -> None:
        unlink = partial(_unlink_all, self._location.files, paths)
        self._location.run(unlink, "unlinking segments of")

    def cancel(self) -> None:
        """Unlink nothing that is still waiting."""
        for call in self._calls:
            if call.active():
                call.cancel()
        self._calls.clear()


def _unlink_all(files: Files, paths: Sequence[str]) -> None:
    for path in paths:
        files.unlink(path)
