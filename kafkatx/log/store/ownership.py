"""The check that log dirs and the cluster's state belong together, before anything is changed. Pure."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping

import attrs

from kafkatx.errors import StateLost
from kafkatx.interfaces.log_dirs import Expected
from kafkatx.log.checkpoint import NO_TOPIC_ID
from kafkatx.types import TopicPartition


@attrs.frozen
class Found:
    """A partition's directory and the topic id in it."""

    topic_partition: TopicPartition
    topic_id: uuid.UUID


@attrs.frozen
class Survey:
    """The content of a log dir.

    :ivar cluster_id: of ``meta.properties``; None if it names none.
    :ivar directory_id: the same.
    :ivar generation: the highest generation of the cluster's state that was noted here; 0 if none was.
    :ivar found: the directories of partitions.
    :ivar doomed: the directories of deleted partitions by name, and the topics that they say they belong to.
    """

    cluster_id: str | None
    directory_id: str | None
    generation: int
    found: list[Found]
    doomed: list[tuple[str, uuid.UUID]]


def check(surveys: Mapping[str, Survey], expected: Expected) -> None:
    """Check that these log dirs, by path, are those of the expected state.

    :raises StateLost: they are not, and ``kafkatx.start.anew`` is not set.
    """
    ids: dict[str, str] = {}
    for path, survey in surveys.items():
        twice = ids.setdefault(survey.directory_id or path, path)
        if twice != path:
            raise StateLost(
                f"log.dirs: {twice} and {path} have the same directory.id in meta.properties: one is a copy",
                surveys,
            )
    if expected.anew:
        return
    for path, survey in surveys.items():
        if survey.cluster_id not in (None, expected.cluster_id):
            raise StateLost(
                f"log.dirs={path}: belongs to cluster {survey.cluster_id} by its meta.properties, but the "
                f"cluster's state is that of cluster {expected.cluster_id}",
                surveys,
            )
        if 0 < expected.generation() < survey.generation and not expected.heals:
            raise StateLost(
                f"log.dirs={path}: has noted change {survey.generation} of the cluster's state, which is at "
                f"change {expected.generation()}: it is an older copy",
                surveys,
            )
    _check_any_known(surveys, expected)


def _check_any_known(surveys: Mapping[str, Survey], expected: Expected) -> None:
    """Check that an empty state, or log dirs without a cluster id, belong to this cluster."""
    if not expected.empty and all(survey.cluster_id for survey in surveys.values()):
        return
    unknown = 0
    for one in (one for survey in surveys.values() for one in survey.found):
        if one.topic_id in expected.recorded.deleted:
            continue
        if problem(one, expected) is None:
            return
        unknown += 1
    if unknown:
        raise StateLost(
            f"log.dirs={','.join(surveys)}: the cluster's state knows none of the {unknown} partitions there",
            surveys,
        )


def problem(found: Found, expected: Expected) -> str | None:
    """Return why a partition's directory is not of the expected state; None if it is."""
    topic_id = expected.topic_id(found.topic_partition)
    if topic_id is None:
        return "the cluster has no such partition on this broker"
    if found.topic_id in (topic_id, NO_TOPIC_ID):
        return None
    return f"its partition.metadata has topic id {found.topic_id}, the topic's is {topic_id}"


def lost(surveys: Mapping[str, Survey], expected: Expected) -> Iterator[tuple[str, str]]:
    """Yield the path of each log dir that held partitions and is empty now, and a message."""
    present = {survey.directory_id for survey in surveys.values()}
    for path, survey in surveys.items():
        if survey.directory_id is not None or survey.found:
            continue
        for directory_id, count in _counts(expected).items():
            there = expected.recorded.log_dirs.get(directory_id)
            if directory_id not in present and there is not None and os.path.abspath(there) == path:
                yield (
                    path,
                    f"it is empty and held {count} partitions (mount its disk; if they are lost for good, "
                    "let them start empty with kafkatx log adopt --empty)",
                )


def is_emptied(path: str, surveys: Mapping[str, Survey], expected: Expected) -> bool:
    """Return True if a log dir on record is empty now: its disk was replaced, or is not mounted."""
    survey = surveys.get(path)
    if survey is None or survey.directory_id is not None or survey.found:
        return False
    return known_directory_id(path, surveys, expected) is not None


def known_directory_id(path: str, surveys: Mapping[str, Survey], expected: Expected) -> str | None:
    """Return the id on record of the log dir at *path*; None if there is none, or another dir has it now."""
    present = {survey.directory_id for survey in surveys.values()}
    for directory_id, there in expected.recorded.log_dirs.items():
        if os.path.abspath(there) == path and directory_id not in present:
            return directory_id
    return None


def _counts(expected: Expected) -> dict[str, int]:
    """Return the number of partitions on record for each log dir."""
    counts: dict[str, int] = {}
    for placed in expected.recorded.placed.values():
        for directory_id in placed.values():
            counts[directory_id] = counts.get(directory_id, 0) + 1
    return counts
