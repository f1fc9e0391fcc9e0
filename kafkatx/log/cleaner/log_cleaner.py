"""The log cleaner: it plans a pass over one log, runs it in a worker, and swaps the files."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from weakref import WeakKeyDictionary

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from kafkatx.interfaces import Worker
from kafkatx.log.cleaner.passes import CleaningAborted, Finished, Memory, Pass, Run
from kafkatx.log.cleaner.plan import Cleanable, cleanable, plan
from kafkatx.log.files import Files
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.segment import swap
from kafkatx.log.segment.swap import Cleaned

RETRY_MS = 600_000
"""Time before a log that could not be cleaned is tried again: damage to a segment does not disappear."""


class LogCleaner:
    """Cleans one log at a time.

    :param run: makes a pass; its iterator is only used in *worker*.
    :ivar memory: the memory of a pass; may be replaced, for the next passes.
    :param end_run: ends the current pass; called from the reactor thread.
    """

    _log = Logger()

    def __init__(
        self, files: Files, worker: Worker, memory: Memory, run: Run, end_run: Callable[[], None]
    ) -> None:
        self._files = files
        self._worker = worker
        self.memory = memory
        self._run = run
        self._end_run = end_run
        self._stopped = False
        self._busy = DeferredLock()
        self._not_before: WeakKeyDictionary[FileLog, int] = WeakKeyDictionary()

    def clean_one(self, logs: Iterable[FileLog], now_ms: int) -> Deferred[FileLog | None]:
        """Make one pass over the log with the largest part to be cleaned.

        :return: fires with the log when the pass is complete; with None if there was nothing to do, or the
            pass has failed and the error was logged. It does not fail for a damaged log.
        """
        return self._busy.run(lambda: Deferred.fromCoroutine(self._clean_one(logs, now_ms)))

    async def _clean_one(self, logs: Iterable[FileLog], now_ms: int) -> FileLog | None:
        waiting = [log for log in logs if log.config.compacted and self._not_before.get(log, 0) <= now_ms]
        await self._flush(waiting)
        chosen = None if self._stopped else self._choose(waiting, now_ms)
        if chosen is None:
            return None
        log, found = chosen
        job = plan(log, found, self.memory, secrets.token_hex(8), now_ms)
        log.begin_pass(job.name)
        end_offset = None
        try:
            end_offset = await self._make_pass(log, job)
        except CleaningAborted as error:
            self._log.info("compaction of {log} was given up: {error}", log=log.topic_partition, error=error)
        except Exception as error:
            self._not_before[log] = now_ms + RETRY_MS
            self._log.error(
                "compaction of {log} failed and is tried again in {minutes} minutes: {kind}: {error}",
                log=log.topic_partition,
                minutes=RETRY_MS // 60_000,
                kind=type(error).__name__,
                error=error,
            )
        finally:
            log.end_pass(job.name, end_offset)
        if end_offset is None:
            await self._worker(partial(swap.discard, self._files, job.directory, job.name))
            return None
        return log

    async def _flush(self, logs: list[FileLog]) -> None:
        """Sync closed segments: only synced ones are cleaned, and recovery does not truncate them."""
        for log in logs:
            if log.flushed_offset < log.segments[-1].base_offset:
                with contextlib.suppress(OSError):  # the log has reported it
                    await log.flush()

    def _choose(self, logs: list[FileLog], now_ms: int) -> tuple[FileLog, Cleanable] | None:
        """Return the log that is due and has the largest ratio."""
        due = []
        for log in logs:
            most = log.last_stable_offset(min(log.flushed_offset, log.deletable_end))
            found = cleanable(log.segments, log.first_dirty_offset, most, log.config, now_ms)
            if found.due(log.config):
                due.append((log, found))
        return max(due, key=lambda one: one[1].ratio, default=None)

    async def _make_pass(self, log: FileLog, job: Pass) -> int:
        """Clean and swap; return the offset up to which the log is clean.

        :raises CleaningAborted: the log has changed meanwhile, or the cleaner was stopped.
        """
        began = time.monotonic()
        steps = self._run(self._files, job, self._still_wanted)
        try:
            while True:
                step = await self._worker(partial(next, steps, None))
                if self._stopped or step is None:
                    raise CleaningAborted("the broker stops")
                if isinstance(step, Finished):
                    break
                if not log.swap_in(job.name, step):
                    raise CleaningAborted("the log has changed meanwhile")
        finally:
            await self._worker(partial(_close, steps))
        # The new names are on the disk before the checkpoint says that the log is clean.
        await log.flush()
        self._tell(log, step, time.monotonic() - began)
        return step.end_offset

    def _tell(self, log: FileLog, finished: Finished, seconds: float) -> None:
        self._log.info(
            "compacted {log} up to offset {end}: {before} to {after} bytes in {seconds:.1f} s",
            log=log.topic_partition,
            end=finished.end_offset,
            before=finished.bytes_read,
            after=finished.bytes_kept,
            seconds=seconds,
        )

    def _still_wanted(self) -> None:
        if self._stopped:
            raise CleaningAborted("the broker stops")

    def stop(self) -> Deferred[None]:
        """Abort the current pass; fires with None when it has ended."""
        self._stopped = True
        self._end_run()
        return self._busy.run(lambda: None)


def _close(steps: Iterator[Cleaned | Finished]) -> None:
    """End the iteration, and with it the cleaner's process."""
    close = getattr(steps, "close", None)
    if close is not None:
        close()
