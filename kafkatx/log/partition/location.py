"""The location of a log in files. All parts of the log share it, so a move changes it in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.interfaces import Worker
from kafkatx.log.files import Files
from kafkatx.types import TopicPartition

OnFailure = Callable[[OSError, str], None]
"""Called in the reactor thread with what failed, and during what ("writing to t-0")."""


def ignore(error: OSError, doing: str) -> None:
    """Do nothing: for a log that is in no store."""


class LogLocation:
    """A log's directory, the worker that may block on its disk, and the listener for its failures.

    :ivar directory: the absolute path of the partition's directory.
    :ivar files: the file system.
    :ivar worker: runs what syncs, scans or unlinks.
    """

    __slots__ = ("_gone", "_name", "_on_failure", "directory", "files", "worker")

    log = Logger()

    def __init__(
        self,
        name: TopicPartition,
        directory: str,
        files: Files,
        worker: Worker,
        on_failure: OnFailure = ignore,
    ) -> None:
        self._name = name
        self.directory = directory
        self.files = files
        self.worker = worker
        self._on_failure = on_failure
        self._gone = False

    def move_to(self, directory: str, worker: Worker, on_failure: OnFailure) -> None:
        """Use another directory from now on."""
        self.directory, self.worker, self._on_failure = directory, worker, on_failure

    def abandon(self) -> None:
        """Report no failure any more: the log was deleted, or its log dir is offline."""
        self._gone = True

    def report(self, error: OSError, doing: str) -> None:
        """Tell the listener of a failure of the log's files; it decides whether the disk is at fault."""
        if not self._gone:
            self._on_failure(error, f"{doing} {self._name}")

    @contextmanager
    def reporting(self, doing: str) -> Iterator[None]:
        """Report an OSError that is raised in the block; it propagates."""
        try:
            yield
        except OSError as error:
            self.report(error, doing)
            raise

    def run(self, work: Callable[[], None], doing: str) -> None:
        """Call *work* in the worker; log and report its failure."""
        self.worker(work).addErrback(self.failed, doing)

    def failed(self, failure: Failure, doing: str) -> None:
        """Log and report a failure that no caller waits for; one that is no OSError is a bug."""
        error = failure.value
        if not isinstance(error, OSError):
            self.log.failure("{doing} {name} failed", failure, doing=doing, name=self._name)
        elif not self._gone:
            self.log.warn("{doing} {name} failed: {error}", doing=doing, name=self._name, error=error)
            self.report(error, doing)
