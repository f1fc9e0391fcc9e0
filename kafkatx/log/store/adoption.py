"""The work of ``kafkatx log adopt``: rebuilds topics from the directories of their partitions.

:func:`look` reads a log dir. :func:`plan` computes the cluster's state; it is pure and changes nothing.
Directories that were put aside are taken only if their names are given.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import attrs

from kafkatx.errors import RequestError
from kafkatx.log.checkpoint import (
    GENERATION,
    META_PROPERTIES,
    NO_TOPIC_ID,
    PARTITION_METADATA,
    STRAY_METADATA,
    CheckpointDamaged,
    decode_generation,
    decode_meta_properties,
    decode_partition_metadata,
    decode_stray,
    encode_partition_metadata,
)
from kafkatx.log.files import Files
from kafkatx.log.store.log_dir_files import DOOMED, MAX_NAME, STRAY
from kafkatx.names import CONSUMER_OFFSETS, INTERNAL_TOPICS, PARTITION_DIRECTORY, check_topic_name
from kafkatx.types import LogDirRecord, PartitionState, Placement, Topic, TopicPartition

MOST_PARTITIONS = 100_000
"""A directory with a higher number is ignored: each number below it would become a partition."""

KRAFT_METADATA = "__cluster_metadata"
"""The topic in which Apache Kafka's controllers keep their state: it is none of the brokers'."""

KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}
"""The configs of a topic whose own are lost: nothing is deleted before an operator sets them."""

OFFSETS = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(100 << 20)}
"""The configs of ``__consumer_offsets``, which groups give it."""


@attrs.frozen
class Candidate:
    """A directory that can be a partition's."""

    log_dir: str
    name: str
    topic_partition: TopicPartition
    topic_id: uuid.UUID

    @property
    def path(self) -> str:
        """The path of the directory."""
        return os.path.join(self.log_dir, self.name)

    @property
    def is_stray(self) -> bool:
        """True if it was put aside."""
        return self.name != str(self.topic_partition)


@attrs.frozen
class Facts:
    """The facts in a log dir's own files.

    :ivar unnamed: directories that were put aside, and whose partition is not known any more.
    """

    path: str
    meta: Mapping[str, str]
    generation: int
    candidates: Sequence[Candidate]
    unnamed: Sequence[str]

    @property
    def broker_id(self) -> str | None:
        """The broker that it belongs to."""
        return self.meta.get("broker.id", self.meta.get("node.id"))


@attrs.frozen
class Known:
    """The state in the metadata store's database.

    :ivar is_older: the log dirs have noted a later one.
    """

    cluster_id: str
    topics: Mapping[str, Topic]
    recorded: LogDirRecord
    is_older: bool = False


@attrs.define
class Plan:
    """The changes to make, in words and as values.

    :ivar problems: why nothing can be done.
    :ivar lines: what would be done.
    :ivar notes: what is left as it is.
    :ivar topics: topics that are new in the state, or replace one of the same name.
    :ivar grown: topics of the state that get more partitions, with how many they have now.
    :ivar placed: what is to be on record.
    :ivar take: directories to be given their partition's name or their topic's id.
    """

    problems: list[str] = attrs.Factory(list)
    lines: list[str] = attrs.Factory(list)
    notes: list[str] = attrs.Factory(list)
    topics: list[Topic] = attrs.Factory(list)
    grown: list[tuple[Topic, int]] = attrs.Factory(list)
    placed: list[Placement] = attrs.Factory(list)
    take: list[tuple[Candidate, uuid.UUID]] = attrs.Factory(list)


def look(files: Files, path: str) -> Facts:
    """Read what a log dir holds; change nothing.

    :raises OSError: it cannot be read.
    """
    candidates, unnamed = [], []
    for name in files.names(path):
        if not files.is_dir(os.path.join(path, name)):
            continue
        was = _was(files, path, name)
        match = PARTITION_DIRECTORY.fullmatch(was or "")
        if match and match[1] == KRAFT_METADATA:
            continue
        if match and _is_legal(match[1]):
            topic_partition = TopicPartition(match[1], int(match[2]))
            candidates.append(
                Candidate(path, name, topic_partition, _topic_id(files, os.path.join(path, name)))
            )
        elif was is not None and was != name:
            unnamed.append(name)
    return Facts(
        path,
        decode_meta_properties(files.read(os.path.join(path, META_PROPERTIES)) or b""),
        decode_generation(files.read(os.path.join(path, GENERATION)) or b""),
        candidates,
        unnamed,
    )


def _was(files: Files, log_dir: str, name: str) -> str | None:
    """Return the partition's name of a directory, or the name from before it was put aside."""
    aside = STRAY.fullmatch(name) or DOOMED.fullmatch(name)
    if aside is None:
        return name if PARTITION_DIRECTORY.fullmatch(name) else None
    said = decode_stray(files.read(os.path.join(log_dir, name, STRAY_METADATA)) or b"")
    if said is not None:
        return said
    return aside[1] if len(name) < MAX_NAME else ""


def _is_legal(topic: str) -> bool:
    try:
        check_topic_name(topic)
    except RequestError:
        return False
    return True


def _topic_id(files: Files, path: str) -> uuid.UUID:
    try:
        return decode_partition_metadata(files.read(os.path.join(path, PARTITION_METADATA)) or b"")
    except CheckpointDamaged:
        return NO_TOPIC_ID


def plan(
    dirs: Sequence[Facts],
    known: Known | None,
    broker_id: int,
    strays: Collection[str] | None,
    empty: bool,
    new_id: Callable[[], uuid.UUID],
) -> Plan:
    """Compute the state, and the changes to make.

    :param strays: names of directories to be taken though they were put aside; None: all ``-stray`` ones.
    :param empty: partitions that are missing start anew, empty; otherwise they stay offline.
    """
    return _Planner(dirs, known, broker_id, strays, empty, new_id).plan()


class _Planner:
    def __init__(
        self,
        dirs: Sequence[Facts],
        known: Known | None,
        broker_id: int,
        strays: Collection[str] | None,
        empty: bool,
        new_id: Callable[[], uuid.UUID],
    ) -> None:
        self._dirs = dirs
        self._known = known
        self._led = PartitionState(broker_id, 0, (broker_id,), (broker_id,))
        self._strays = strays
        self._empty = empty
        self._new_id = new_id
        self._plan = Plan()

    def plan(self) -> Plan:
        self._check_dirs()
        by_topic: dict[str, dict[int, Candidate]] = {}
        for name, candidates in self._wanted().items():
            if len(candidates) > 1:
                where = " and ".join(one.path for one in candidates)
                self._plan.problems.append(f"{name} is in {where}: move all but one of them away")
            elif name.partition >= MOST_PARTITIONS:
                self._plan.problems.append(
                    f"{candidates[0].path}: no topic has so many partitions: rename it"
                )
            else:
                by_topic.setdefault(name.topic, {})[name.partition] = candidates[0]
        if not self._plan.problems:
            topics = self._known.topics if self._known else {}
            for topic in sorted(by_topic.keys() | topics.keys()):
                self._topic(topic, by_topic.get(topic, {}))
            self._note_strays()
        return self._plan

    def _note_strays(self) -> None:
        """Tell of the directories that were put aside and are left where they are."""
        taken = {candidate.path for candidate, _ in self._plan.take}
        for facts in self._dirs:
            names = [one.name for one in facts.candidates if one.is_stray and one.path not in taken]
            for name in (*names, *facts.unnamed):
                if STRAY.fullmatch(name):
                    path = os.path.join(facts.path, name)
                    self._plan.notes.append(f"{path} is left aside unless --stray {name} is given")

    def _check_dirs(self) -> None:
        clusters = {one.meta["cluster.id"]: one.path for one in self._dirs if "cluster.id" in one.meta}
        if len(clusters) > 1:
            said = ", ".join(f"{path} to {cluster}" for cluster, path in clusters.items())
            self._plan.problems.append(f"the log dirs belong to several clusters: {said}; name those of one")
        elif self._known is not None and clusters and self._known.cluster_id not in clusters:
            (cluster,) = clusters
            self._plan.problems.append(
                f"the state is that of cluster {self._known.cluster_id}, the log dirs belong to {cluster}: "
                "move the state's file away to have a new one made"
            )
        named = {name for one in self._dirs for name in (*(c.name for c in one.candidates), *one.unnamed)}
        for name in sorted(set(self._strays or ()) - named):
            self._plan.problems.append(f"--stray {name}: there is no such directory")
        for facts in self._dirs:
            for name in facts.unnamed:
                if self._is_chosen(name):
                    self._plan.problems.append(
                        f"{os.path.join(facts.path, name)}: its partition is not known any more; rename it "
                        "to TOPIC-NUMBER yourself"
                    )

    def _wanted(self) -> dict[TopicPartition, list[Candidate]]:
        """Return the directories to take, by partition."""
        wanted: dict[TopicPartition, list[Candidate]] = {}
        for one in (one for facts in self._dirs for one in facts.candidates):
            if not one.is_stray or self._is_chosen(one.name):
                wanted.setdefault(one.topic_partition, []).append(one)
        return wanted

    def _is_chosen(self, name: str) -> bool:
        """Return True if a directory that was put aside is to be taken."""
        return STRAY.fullmatch(name) is not None if self._strays is None else name in self._strays

    def _topic(self, name: str, found: Mapping[int, Candidate]) -> None:
        known = self._known.topics.get(name) if self._known else None
        ids = [one.topic_id for one in found.values() if one.topic_id != NO_TOPIC_ID]
        if known is not None and self._known and self._known.is_older and ids and known.topic_id not in ids:
            known = None  # it was deleted and made again since
        if known is None:
            topic = self._rebuilt(name, ids, max(found) + 1)
            count = 0
        else:
            topic = known
            count = len(known.partitions)
            if found and max(found) >= count:
                self._say(name, f"gets {max(found) + 1} partitions instead of {count}")
                added = (self._led,) * (max(found) + 1 - count)
                topic = attrs.evolve(known, partitions=(*known.partitions, *added))
                self._plan.grown.append((topic, count))
        for candidate in found.values():
            self._take(candidate, topic)
        self._missing(topic, found, count)

    def _rebuilt(self, name: str, ids: Iterable[uuid.UUID], count: int) -> Topic:
        votes = Counter(ids).most_common(1)
        topic_id = votes[0][0] if votes else self._new_id()
        configs = OFFSETS if name == CONSUMER_OFFSETS else {} if name in INTERNAL_TOPICS else KEPT
        topic = Topic(name, topic_id, (self._led,) * count, configs, name in INTERNAL_TOPICS)
        self._plan.topics.append(topic)
        what = ", ".join(f"{key}={value}" for key, value in configs.items())
        self._say(name, f"is made with {_count(count)}; its configs are lost, it gets {what or 'none'}")
        return topic

    def _take(self, candidate: Candidate, topic: Topic) -> None:
        number = candidate.topic_partition.partition
        if candidate.is_stray:
            self._say(topic.name, f"takes {candidate.path} as partition {number}")
        elif candidate.topic_id != topic.topic_id:
            what = (
                "has no topic id"
                if candidate.topic_id == NO_TOPIC_ID
                else f"has topic id {candidate.topic_id}"
            )
            self._say(topic.name, f"takes {candidate.path}, which {what}, and writes {topic.topic_id} to it")
        if candidate.is_stray or candidate.topic_id != topic.topic_id:
            self._plan.take.append((candidate, topic.topic_id))
        (facts,) = (one for one in self._dirs if one.path == candidate.log_dir)
        self._place(topic, number, facts.meta.get("directory.id", ""))

    def _place(self, topic: Topic, number: int, directory_id: str | None) -> None:
        recorded = self._known.recorded.placed.get(topic.topic_id, {}) if self._known else {}
        if recorded.get(number) != directory_id:
            self._plan.placed.append(Placement(topic.topic_id, number, directory_id))

    def _missing(self, topic: Topic, found: Mapping[int, Candidate], count: int) -> None:
        recorded = self._known.recorded.placed.get(topic.topic_id, {}) if self._known else {}
        missing = [
            number
            for number in range(len(topic.partitions))
            if number not in found and (number >= count or number in recorded)
        ]
        if not missing:
            return
        named = ", ".join(f"{topic.name}-{number}" for number in missing[:5]) + (
            ", ..." if missing[5:] else ""
        )
        for number in missing:
            self._place(topic, number, None if self._empty else recorded.get(number, ""))
        if self._empty:
            self._say(topic.name, f"starts {_count(len(missing))} anew, empty: {named}")
        else:
            self._plan.notes.append(f"{topic.name}: {named} is missing, and offline unless --empty is given")

    def _say(self, topic: str, what: str) -> None:
        self._plan.lines.append(f"{topic}: {what}")


def _count(number: int) -> str:
    return f"{number:,} partition" if number == 1 else f"{number:,} partitions"


def carry_out(files: Files, take: Iterable[tuple[Candidate, uuid.UUID]]) -> None:
    """Give directories the names and topic ids that they should have.

    :raises OSError: one could not be changed; those before it were.
    """
    for candidate, topic_id in take:
        path = os.path.join(candidate.path, PARTITION_METADATA)
        files.replace(path, encode_partition_metadata(topic_id))
        if candidate.is_stray:
            files.unlink(os.path.join(candidate.path, STRAY_METADATA))
            files.rename(candidate.path, os.path.join(candidate.log_dir, str(candidate.topic_partition)))
            files.sync_dir(candidate.log_dir)
