"""Read-ahead: slices of files are read into the page cache in a worker before they are sent."""

from __future__ import annotations

import os
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.interfaces import Workers
from kafkatx.net.sender import WINDOW_BYTES
from kafkatx.types import FileSlice


class ReadAhead:
    """Keeps cold reads out of the reactor thread.

    :param workers: of the log dir that a file is in: ``<log dir>/<partition>/<file>``.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def __call__(self, piece: FileSlice) -> Deferred[None] | None:
        """Load the first window of a slice.

        :return: None: it is in the page cache. Else fires when it is, or fails with OSError; cancelling it
            ends the waiting only.
        """
        size = min(piece.size, WINDOW_BYTES)
        if piece.file.is_cached(piece.position, size):
            return None
        ahead = min(piece.size - size, WINDOW_BYTES)
        log_dir = os.path.dirname(os.path.dirname(piece.file.path))
        worker = self._workers(f"read-ahead {log_dir}")  # the one that the log uses, too
        loading: Deferred[None] = worker(partial(piece.file.load, piece.position, size, ahead))
        return loading
