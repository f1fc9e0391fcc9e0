"""The steps that a store takes with its log dirs when it opens, writes checkpoints and closes."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from kafkatx.errors import SettingError
from kafkatx.log.store import ownership
from kafkatx.log.store.attached_dir import Place
from kafkatx.log.store.ownership import Survey
from kafkatx.types import Expected, TopicPartition


def unless_failing(place: Place, opening: Deferred[None]) -> Deferred[None]:
    """Wait for a step of opening a dir; one that cannot be used is offline, for the others may do."""

    def failed(failure: Failure) -> None:
        failure.trap(OSError)
        place.take_offline(failure.value, "opening it")  # type: ignore[arg-type]  # trapped

    return opening.addErrback(failed)


async def survey_all(places: Sequence[Place], expected: Expected | None) -> dict[str, Survey]:
    """Judge whether the dirs are those of the expected state, and write down that they are.

    :raises StateLost: they are not; nothing was changed.
    """
    surveys: dict[str, Survey] = {}

    def surveyed(place: Place) -> None:
        surveys[place.path] = place.dir.survey()

    for place in _online(places):
        await unless_failing(place, place.worker(partial(surveyed, place)))
    if expected is not None:
        ownership.check(surveys, expected)
        lost = dict(ownership.lost(surveys, expected))
        for place in _online(places):
            if place.path in lost:
                place.take_offline(OSError(errno.ENODEV, lost[place.path]), "opening it")
    for place in _online(places):
        await unless_failing(place, place.worker(partial(_claim, place, surveys, expected)))
    return surveys


def _claim(place: Place, surveys: dict[str, Survey], expected: Expected | None) -> None:
    """In the worker: write down whose dir it is.

    :raises OSError: it cannot be written.
    """
    if expected is None:
        place.dir.claim(None, None)
        return
    place.dir.claim(expected.cluster_id, ownership.known_directory_id(place.path, surveys, expected))
    with contextlib.suppress(OSError):  # of a full disk: the next checkpoint is another chance
        place.dir.note(expected.generation())


def check_any_online(places: Sequence[Place]) -> None:
    """Check that some dir can be used.

    :raises SettingError: none can.
    """
    if not _online(places):
        place = places[0]
        why = place.error.strerror if place.error else ""
        raise SettingError(f"log.dirs={place.path}: {why}; name a directory that can be written")


def _online(places: Iterable[Place]) -> list[Place]:
    return [place for place in places if place.error is None]


def saving(place: Place, expected: Expected | None) -> Callable[[], None]:
    """Return what writes a dir's checkpoints, as they are now."""
    save = partial(place.dir.save, *_offsets(place))
    generation = expected.generation() if expected is not None else 0

    def write() -> None:
        save()
        place.dir.note(generation)

    return write


def _offsets(place: Place) -> tuple[dict[TopicPartition, int], ...]:
    """Recovery points, log starts and ends of the logs in one dir."""
    logs = place.logs.values()
    return (
        {log.topic_partition: log.flushed_offset for log in logs},
        {log.topic_partition: log.log_start_offset for log in logs},
        {log.topic_partition: log.log_end_offset for log in logs},
    )


async def settle_all(deferreds: list[Deferred[Any]]) -> None:
    """Wait for all of them, then raise the first failure if there was one."""
    results = await DeferredList(deferreds, consumeErrors=True)
    for succeeded, result in results:
        if not succeeded:
            result.raiseException()
