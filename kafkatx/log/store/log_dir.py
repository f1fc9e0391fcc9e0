"""One log dir while a store has it: its worker, its logs, and whether it can still be used.

A dir whose disk fails goes offline: nothing more is read from or written to it until the broker is started
again. A full disk is no failure: what does not fit is refused, and writing resumes when there is room.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.interfaces import ILogDir, Worker
from kafkatx.log.faults import FULL, is_lasting
from kafkatx.log.group_commit import GroupCommit
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.store.log_dir_files import LogDirFiles
from kafkatx.types import TopicPartition

T = TypeVar("T")

SAY_FULL_EVERY_S = 60.0
"""A full disk refuses every append: one line a minute says so."""


@implementer(ILogDir)
class LogDir:
    """One entry of ``log.dirs``.

    :ivar logs: the logs in it; when it goes offline they stay here, and can be used no more.
    :ivar error: why it is offline, or None.
    :ivar arriving: logs that are about to be in it: checkpoints have them already.
    :ivar incoming: as ILogDir says.
    :param on_offline: called in the reactor thread, once.
    """

    log = Logger()

    def __init__(
        self, files: LogDirFiles, worker: Worker, clock: IReactorTime, on_offline: Callable[[LogDir], None]
    ) -> None:
        self.files = files
        self.worker = worker
        self.logs: dict[TopicPartition, FileLog] = {}
        self.error: OSError | None = None
        self.arriving: dict[TopicPartition, FileLog] = {}
        self.incoming: dict[TopicPartition, Any] = {}
        self._clock = clock
        self._on_offline = on_offline
        self._said_full_s: float | None = None
        self._starts = GroupCommit(self._save_log_starts)

    @property
    def path(self) -> str:
        """As ILogDir says."""
        return self.files.path

    @property
    def directory_id(self) -> str:
        """As ILogDir says."""
        return self.files.directory_id

    def run(self, function: Callable[[], T], doing: str) -> Deferred[T]:
        """Call a function in the dir's worker; where it fails with OSError, judge the disk by that.

        :param doing: what is done, for the log: "creating t-0".
        """

        def failed(failure: Failure) -> Failure:
            if isinstance(failure.value, OSError):
                self.report(failure.value, doing)
            return failure

        done: Deferred[Any] = self.worker(function)
        return done.addErrback(failed)

    def report(self, error: OSError, doing: str) -> None:
        """Something failed: take the dir offline if the disk is at fault."""
        if self.error is not None:
            return
        if is_lasting(error):
            self.take_offline(error, doing)
        elif error.errno in FULL:
            self._say_full(error, doing)

    def take_offline(self, error: OSError, doing: str) -> None:
        """Use the dir no more."""
        self.error = error
        self.log.critical(
            "log dir {path} is offline: {doing} failed: {error}; its {count} partitions answer"
            " KAFKA_STORAGE_ERROR until that is mended and the broker started again",
            path=self.path,
            doing=doing,
            error=error.strerror or error,
            count=len(self.logs),
        )
        for log in self.logs.values():
            log.abandon()
        self.files.unlock()
        self._on_offline(self)

    def _say_full(self, error: OSError, doing: str) -> None:
        now_s = self._clock.seconds()
        if self._said_full_s is None or not 0 <= now_s - self._said_full_s < SAY_FULL_EVERY_S:
            self._said_full_s = now_s
            self.log.error(
                "log dir {path}: {doing} failed: {error}; what cannot be written is refused, and taken again"
                " when there is room",
                path=self.path,
                doing=doing,
                error=error.strerror,
            )

    def offsets(self) -> tuple[dict[TopicPartition, int], ...]:
        """Recovery points, log starts and ends of the logs that are in it, or arriving."""
        logs = (self.logs | self.arriving).values()
        return (
            {log.topic_partition: log.flushed_offset for log in logs},
            {log.topic_partition: log.log_start_offset for log in logs},
            {log.topic_partition: log.log_end_offset for log in logs},
        )

    def cleaned(self) -> dict[TopicPartition, int]:
        """Up to where each of them was compacted, if at all."""
        logs = self.logs | self.arriving
        return {name: log.first_dirty_offset for name, log in logs.items() if log.first_dirty_offset}

    def save_offsets(self) -> Deferred[None]:
        """Write down all that the next start needs to know of them; fails with OSError."""
        offsets, cleaned = self.offsets(), self.cleaned()

        def save() -> None:
            self.files.save(*offsets)
            self.files.save_cleaned(cleaned)

        return self.run(save, "writing checkpoints")

    def checkpoint_log_starts(self) -> Deferred[None]:
        """Write down where the logs start; fails with OSError."""
        return self._starts.join()

    def _save_log_starts(self) -> Deferred[None]:
        starts = {name: log.log_start_offset for name, log in (self.logs | self.arriving).items()}
        return self.run(partial(self.files.save_log_starts, starts), "writing down where logs start")
