"""The file of the samples: read at the start, written at intervals. It touches the disk, in workers.

A damaged file is no reason not to start: the samples begin anew.
"""

from __future__ import annotations

import os

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.broker.history.codec import MOST_BYTES, decode, encode
from kafkatx.broker.history.history import History
from kafkatx.interfaces import Worker
from kafkatx.net.limited_log import LimitedLog

NAME = "kafkatx-history"
"""The name of the file in the first log dir."""


class HistoryFile:
    """The file.

    :param log: for failures of each write.
    """

    _log = Logger()

    def __init__(self, path: str, worker: Worker, log: LimitedLog) -> None:
        self.path = path
        self._worker = worker
        self._limited_log = log

    def read(self) -> Deferred[History]:
        """Return the samples of the file; none if there is no file, or it is damaged. Never fails."""
        return self._worker(self._read)

    def _read(self) -> History:
        try:
            with open(self.path, "rb") as file:
                return decode(file.read(MOST_BYTES + 1))
        except FileNotFoundError:
            return History()
        except (OSError, ValueError) as error:
            self._log.warn(
                "the samples of the past for charts begin anew: {path} cannot be used: {error}",
                path=self.path,
                error=error,
            )
            return History()

    def write(self, history: History) -> Deferred[None]:
        """Write the samples; a failure is logged, and the old file stays."""
        data = encode(history)

        def failed(failure: object) -> None:
            self._limited_log.warn(
                "the samples of the past for charts cannot be written to {path}: {failure}",
                path=self.path,
                failure=failure,
            )

        return self._worker(lambda: self._write(data)).addErrback(failed)

    def _write(self, data: bytes) -> None:
        new = f"{self.path}.new"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
