"""One log dir of an open store: its worker, its logs, and its state, online or offline.

A dir whose disk fails goes offline: nothing is read from or written to it until the broker is restarted. A
full disk is no failure: appends that do not fit are refused, and accepted again when there is room.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.interfaces import ILogDir, Worker
from kafkatx.log.faults import FULL, is_lasting
from kafkatx.log.group_commit import GroupCommit
from kafkatx.log.high_watermarks import HighWatermarks
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.store.log_dir_files import LogDirFiles
from kafkatx.types import TopicPartition

T = TypeVar("T")

SAY_FULL_EVERY_S = 60.0
"""A full disk refuses every append; one line a minute is logged."""


class IncomingLog(Protocol):
    """A log that is being moved into a log dir; see ``ILogDir.incoming``."""

    size_bytes: int

    @property
    def offset_lag(self) -> int:
        """The number of offsets that the copy lacks."""


def _nothing() -> None:
    pass


@implementer(ILogDir)
class LogDir:
    """One entry of ``log.dirs``.

    :ivar logs: the logs in it; when it goes offline they stay here, and cannot be used any more.
    :ivar error: why it is offline; None if it is online.
    :ivar arriving: logs that are about to be moved here: checkpoints include them already.
    :ivar incoming: as ILogDir says; *emptied* as well.
    :param on_offline: called in the reactor thread, once.
    :param high_watermarks: those of the store's logs.
    """

    log = Logger()

    def __init__(
        self,
        files: LogDirFiles,
        worker: Worker,
        clock: IReactorTime,
        on_offline: Callable[[LogDir], None],
        high_watermarks: HighWatermarks | None = None,
    ) -> None:
        self.files = files
        self.worker = worker
        self.logs: dict[TopicPartition, FileLog] = {}
        self.error: OSError | None = None
        self.arriving: dict[TopicPartition, FileLog] = {}
        self.incoming: dict[TopicPartition, IncomingLog] = {}
        self.emptied = False
        self._removals: set[IDelayedCall] = set()
        self._clock = clock
        self._on_offline = on_offline
        self._high_watermarks = high_watermarks or HighWatermarks()
        self._said_full_s: float | None = None
        self._starts = GroupCommit(self._save_log_starts)
        self._after_cuts = GroupCommit(self.save_offsets)

    @property
    def path(self) -> str:
        """See ILogDir."""
        return self.files.path

    @property
    def directory_id(self) -> str:
        """See ILogDir."""
        return self.files.directory_id

    @property
    def lock(self) -> str:
        """See ILogDir."""
        return self.files.lock_id

    @property
    def noted(self) -> int:
        """See ILogDir."""
        return self.files.noted

    def run(self, function: Callable[[], T], doing: str) -> Deferred[T]:
        """Call a function in the dir's worker; :meth:`report` its OSError.

        :param doing: the action, for the broker's log: "creating t-0".
        """

        def failed(failure: Failure) -> Failure:
            if isinstance(failure.value, OSError):
                self.report(failure.value, doing)
            return failure

        done: Deferred[T] = self.worker(function)
        return done.addErrback(failed)

    def report(self, error: OSError, doing: str) -> None:
        """Take the dir offline if an error is the disk's; log it if the disk is full."""
        if self.error is not None:
            return
        if is_lasting(error):
            self.take_offline(error, doing)
        elif error.errno in FULL:
            self._say_full(error, doing)

    def take_offline(self, error: OSError, doing: str) -> None:
        """Stop using the dir; its partitions answer KAFKA_STORAGE_ERROR."""
        self.error = error
        self.log.critical(
            "log dir {path} is offline: {doing} failed: {error}; its {count} partitions answer"
            " KAFKA_STORAGE_ERROR until the disk is repaired and the broker is restarted",
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
                "log dir {path}: {doing} failed: {error}; writes are refused until there is room",
                path=self.path,
                doing=doing,
                error=error.strerror,
            )

    # --- directories of partitions

    async def set_stray(self, name: TopicPartition) -> None:
        """Put the directory of a partition aside as stray: a new partition takes its name.

        :raises OSError: it cannot be renamed.
        """
        stray = partial(self.files.set_stray, str(name), "a new partition of its name was made")
        await self.run(stray, f"putting {name} aside")
        self.files.checkpoints.unavailable.discard(name)

    def set_deleted(self, name: TopicPartition) -> Deferred[str]:
        """Rename the directory of a partition that a client has deleted; the name is not synced yet.

        :return: fires with the new path; fails with OSError.
        """
        return self.run(partial(self.files.put_aside, name, sync=False), f"deleting {name}")

    def remove_later(self, path: str, delay_s: float, removed: Callable[[], None] = _nothing) -> None:
        """Remove a renamed directory after a delay, then call *removed*.

        A directory that is still there when the broker stops is removed by the next start.
        """
        call = self._clock.callLater(delay_s, self._remove, path, removed)
        self._removals = {waiting for waiting in self._removals if waiting.active()} | {call}

    def _remove(self, path: str, removed: Callable[[], None]) -> None:
        done = self.run(partial(self.files.remove_tree, path), f"removing {path}")
        done.addCallbacks(lambda _: removed(), self._not_removed, errbackArgs=(path,))

    def _not_removed(self, failure: Failure, path: str) -> None:
        if isinstance(failure.value, OSError):
            self.log.error(
                "{path} was not removed: {error}; the next start does it", path=path, error=failure.value
            )
        else:
            self.log.failure("removing {path} failed", failure, path=path)

    def cancel_removals(self) -> None:
        """Remove nothing that is still waiting: the store is closed."""
        for call in self._removals:
            if call.active():
                call.cancel()

    # --- checkpoints

    def offsets(self) -> tuple[dict[TopicPartition, int], ...]:
        """Return recovery points, log start offsets and high watermarks of the logs in it, or arriving."""
        logs = (self.logs | self.arriving).values()
        return (
            {log.topic_partition: log.flushed_offset for log in logs},
            {log.topic_partition: log.log_start_offset for log in logs},
            self._high_watermarks.of_each(logs),
        )

    def cleaned(self) -> dict[TopicPartition, int]:
        """Return the offset up to which each of them is compacted, if it was compacted."""
        logs = self.logs | self.arriving
        return {name: log.first_dirty_offset for name, log in logs.items() if log.first_dirty_offset}

    def save_cleaned(self) -> Deferred[None]:
        """Write the cleaner checkpoint; fails with OSError."""
        save = partial(self.files.checkpoints.save_cleaned, self.cleaned())
        return self.run(save, "writing the cleaner checkpoint")

    def save_offsets(self) -> Deferred[None]:
        """Write all checkpoints; fails with OSError."""
        offsets, cleaned = self.offsets(), self.cleaned()

        def save() -> None:
            self.files.checkpoints.save(*offsets)
            self.files.checkpoints.save_cleaned(cleaned)

        return self.run(save, "writing checkpoints")

    def was_cut(self, log: FileLog) -> None:
        """Write the checkpoints that would lead the next start astray: a log was cut, or has more gaps.

        The worker does so before it syncs anything that is appended now. An error is reported.
        """
        self._high_watermarks.lower(log)
        self._after_cuts.join().addErrback(lambda failure: failure.trap(OSError) and None)

    def save_high_watermarks(self) -> Deferred[None]:
        """Write the high watermarks; fails with OSError."""
        offsets = self._high_watermarks.of_each((self.logs | self.arriving).values())
        save = partial(self.files.checkpoints.save_high_watermarks, offsets)
        return self.run(save, "writing high watermarks")

    def checkpoint_log_starts(self) -> Deferred[None]:
        """Write the log start offsets; fails with OSError."""
        return self._starts.join()

    def _save_log_starts(self) -> Deferred[None]:
        starts = {name: log.log_start_offset for name, log in (self.logs | self.arriving).items()}
        return self.run(partial(self.files.checkpoints.save_log_starts, starts), "writing log start offsets")
