"""Steps of a store over all of its log dirs: opening, checkpoints, waiting for all."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from kafkatx.errors import SettingError
from kafkatx.interfaces import Worker
from kafkatx.interfaces.log_dirs import Expected
from kafkatx.log.files import Files
from kafkatx.log.store import ownership
from kafkatx.log.store.log_dir import LogDir
from kafkatx.log.store.ownership import Survey

T = TypeVar("T")

MANY, THREADS = 64, 8
"""From so many syncs on some threads share them: more than disks and file systems can do at once."""


def unless_failing(log_dir: LogDir, opening: Deferred[None]) -> Deferred[None]:
    """Take a log dir offline if a step of opening it fails with OSError; the others may be usable."""

    def failed(failure: Failure) -> None:
        failure.trap(OSError)
        log_dir.take_offline(failure.value, "opening it")  # type: ignore[arg-type]  # trapped

    return opening.addErrback(failed)


async def survey_all(log_dirs: Sequence[LogDir], expected: Expected | None) -> dict[str, Survey]:
    """Check that the log dirs belong to the expected state, and write that to each of them.

    :raises StateLost: they do not; nothing was changed.
    """
    surveys: dict[str, Survey] = {}

    def surveyed(log_dir: LogDir) -> None:
        surveys[log_dir.path] = log_dir.files.survey()

    for log_dir in _online(log_dirs):
        await unless_failing(log_dir, log_dir.worker(partial(surveyed, log_dir)))
    if expected is not None:
        ownership.check(surveys, expected)
        lost = dict(ownership.lost(surveys, expected))
        for log_dir in _online(log_dirs):
            if expected.copied:
                log_dir.emptied = ownership.is_emptied(log_dir.path, surveys, expected)
            elif log_dir.path in lost:
                log_dir.take_offline(OSError(errno.ENODEV, lost[log_dir.path]), "opening it")
    for log_dir in _online(log_dirs):
        await unless_failing(log_dir, log_dir.worker(partial(_claim, log_dir, surveys, expected)))
    return surveys


async def finish_moves(files: Files, log_dirs: Sequence[LogDir], worker: Worker) -> dict[str, Survey]:
    """Complete or undo moves that a crash has interrupted; survey the dirs again."""
    from kafkatx.log.store.moves.relocation import settle

    await worker(partial(settle, files, log_dirs))
    return {log_dir.path: await log_dir.worker(log_dir.files.survey) for log_dir in log_dirs}


def _claim(log_dir: LogDir, surveys: dict[str, Survey], expected: Expected | None) -> None:
    """Write the owner of a log dir to its ``meta.properties``. In the worker.

    :raises OSError: it cannot be written.
    """
    if expected is None:
        log_dir.files.claim(None, None)
        return
    log_dir.files.claim(expected.cluster_id, ownership.known_directory_id(log_dir.path, surveys, expected))
    with contextlib.suppress(OSError):  # a full disk: the next checkpoint tries again
        note(log_dir, expected)


def check_any_online(log_dirs: Sequence[LogDir]) -> None:
    """Check that at least one log dir is online.

    :raises SettingError: none is.
    """
    if not _online(log_dirs):
        log_dir = log_dirs[0]
        why = log_dir.error.strerror if log_dir.error else ""
        raise SettingError(f"log.dirs={log_dir.path}: {why}; name a directory that can be written")


def _online(log_dirs: Iterable[LogDir]) -> list[LogDir]:
    return [log_dir for log_dir in log_dirs if log_dir.error is None]


def saving(log_dir: LogDir, expected: Expected | None) -> Callable[[], None]:
    """Return a function that writes a log dir's checkpoints with the present offsets. It blocks."""
    save = partial(log_dir.files.checkpoints.save, *log_dir.offsets())

    def write() -> None:
        save()
        note(log_dir, expected)

    return write


def note(log_dir: LogDir, expected: Expected | None) -> None:
    """Note the generation of the cluster's state in a log dir. It blocks.

    An older copy of a state that heals does not lower it: the next start must notice that, too.

    :raises OSError: it cannot be written.
    """
    if expected is None:
        return
    keeps = expected.heals and not expected.anew
    log_dir.files.note(max(expected.generation(), log_dir.files.noted if keeps else 0))


async def close_log_dir(log_dir: LogDir, expected: Expected | None) -> None:
    """Flush the logs of a dir, write its checkpoints and the clean-shutdown marker, and unlock it.

    :raises OSError: something could not be written; there is no marker.
    """
    if not log_dir.files.locked:
        return
    try:
        names: set[str] = set()
        finishes = [log.close(names) for log in log_dir.logs.values()]
        await log_dir.worker(partial(_finish, log_dir, finishes, names))
        await log_dir.worker(saving(log_dir, expected))
        await log_dir.worker(log_dir.files.mark_clean)
    finally:
        log_dir.files.unlock()


def _finish(log_dir: LogDir, finishes: Sequence[Callable[[], None]], names: set[str]) -> None:
    """Bring the files of closed logs to the disk, and then each directory once: theirs, the dir itself last.

    Many logs are finished by some threads at once: a file system brings together to the disk what is synced
    at the same time.

    :raises OSError: a sync failed.
    """
    _each(finishes)
    directories = sorted(names, reverse=True)
    _each([partial(log_dir.files.sync_names, path) for path in directories if path != log_dir.path])
    if log_dir.path in names:
        log_dir.files.sync_names(log_dir.path)


def _each(calls: Sequence[Callable[[], None]]) -> None:
    """Make calls that wait for the disk, many of them at the same time."""
    if len(calls) < MANY:
        for call in calls:
            call()
        return
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(_call, calls):
            pass


def _call(call: Callable[[], None]) -> None:
    call()


async def settle_all(deferreds: Sequence[Deferred[T]]) -> None:
    """Wait for all of them, then raise the first failure if there was one."""
    results = await DeferredList(deferreds, consumeErrors=True)
    for _, result in results:
        if isinstance(result, Failure):
            result.raiseException()
