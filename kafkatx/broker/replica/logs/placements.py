"""The log dir of each partition: the cluster's record, compared with what the log store finds.

It touches the log store and the cluster's metadata. :mod:`kafkatx.broker.replica.topics` uses it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

from twisted.logger import Logger

from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.errors import RequestError
from kafkatx.interfaces import ILogStore, IMetadataStore
from kafkatx.interfaces.log_dirs import DirectoryChanges, Expected
from kafkatx.metadata.controller.isr import is_lost
from kafkatx.types import Placement, Topic, TopicPartition

NAMED = 5
"""Missing partitions that a log line names."""


class Placements:
    """The cluster's record of where this broker's logs are.

    A partition is on record once its directory is on the disk. One that is on record but missing at a start
    was lost: it is offline, and is not created again. One that is not on record was never created, or was
    lost in a power cut before its directory was synced: it is created.

    In a cluster a lost partition starts empty where another replica is in sync or eligible: it is copied from
    that one, since this broker registers as one that may have lost records. Where no other is, it is offline.

    :ivar on_change: called when logs were created; :meth:`record` should be called soon.
    :ivar started_empty: True if lost partitions have started empty.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, metadata: IMetadataStore, store: ILogStore) -> None:
        self._anew = config[b.KAFKATX_START_ANEW]
        self._broker_id: int = config.get("broker.id")
        self._metadata = metadata
        self._store = store
        self._unrecorded = DirectoryChanges()
        self.on_change: Callable[[], None] | None = None
        self._missing: dict[str, list[TopicPartition]] = {}
        self._emptied: list[TopicPartition] = []
        self.started_empty = False

    def expected(self) -> Expected:
        """Return what the log store should find."""
        metadata = self._metadata
        return Expected(
            metadata.state.cluster_id,
            not metadata.state.topics,
            lambda: metadata.generation,
            self._topic_id,
            metadata.recorded,
            self._anew,
            self._is_elsewhere,
            metadata.lease_remaining_s is not None,
            heals=metadata.lease_remaining_s is not None,
        )

    def _is_elsewhere(self, name: TopicPartition, topic_id: uuid.UUID) -> bool:
        topic = self._metadata.state.topics.get(name.topic)
        return (
            topic is not None
            and topic.topic_id == topic_id
            and name.partition < len(topic.partitions)
            and self._broker_id not in topic.partitions[name.partition].replicas
        )

    def _topic_id(self, name: TopicPartition) -> uuid.UUID | None:
        topic: Topic | None = self._metadata.state.topics.get(name.topic)
        if topic is None or name.partition >= len(topic.partitions):
            return None
        return topic.topic_id if self._broker_id in topic.partitions[name.partition].replicas else None

    def is_lost(self, name: TopicPartition, topic_id: uuid.UUID) -> bool:
        """Return True if an existing log is missing, or may be in a log dir that is offline."""
        if name in self._store.logs:
            return False
        directory_id = self._metadata.recorded.placed.get(topic_id, {}).get(name.partition)
        dirs = self._store.dirs
        if directory_id is None and not any(one.error is not None or one.emptied for one in dirs):
            return False
        if self._may_start_empty(name, directory_id):
            self._emptied.append(name)
            return False
        if directory_id is not None:
            self._missing.setdefault(directory_id, []).append(name)
        return True

    def _may_start_empty(self, name: TopicPartition, directory_id: str | None) -> bool:
        """Return True if a lost log may start empty: another replica has its records, or a person says so.

        :param directory_id: the log dir on record; None: it may be any.
        """
        if self._metadata.lease_remaining_s is None:
            return False  # there are no other replicas
        path = self._metadata.recorded.log_dirs.get(directory_id or "")
        failed = [one.path for one in self._store.dirs if one.error is not None]
        if failed and (directory_id is None or path in failed):
            return False  # it is there again when the disk is
        state = self._metadata.state
        partition = state.topics[name.topic].partitions[name.partition]
        members = {*partition.isr, *partition.eligible}
        others = [each for each in members - {self._broker_id} if not is_lost(each, partition, state)]
        return self._anew or bool(others) or self._broker_id not in members

    def say_missing(self) -> None:
        """Log which partitions are lost: a line for those that start empty, and one for each log dir."""
        emptied, self._emptied = self._emptied, []
        if emptied:
            self.started_empty = True
            self._log.warn(
                "{count} partitions start empty, and are copied from other replicas: their directories are"
                " missing in {dirs}: {names}",
                count=len(emptied),
                dirs=" ".join(one.path for one in self._store.dirs),
                names=_named(emptied),
            )
        missing, self._missing = self._missing, {}
        for directory_id, names in missing.items():
            path = self._metadata.recorded.log_dirs.get(directory_id, "an unknown log dir")
            self._log.error(
                "{count} partitions are offline: their directories are missing: {names}; they were in {path}."
                " Mount its disk, or put them back, and start again; if they are lost, {advice}",
                count=len(names),
                names=_named(names),
                path=path,
                advice=self._advice(),
            )

    def _advice(self) -> str:
        """Return the way to go on with partitions that are lost for good."""
        if self._metadata.lease_remaining_s is None:
            dirs = " ".join(one.path for one in self._store.dirs)
            return f"let them start empty: kafkatx log adopt --empty {dirs}"
        return (
            "elect a replica that was not in sync, kafkatx cluster elect --unclean -t TOPIC -p NUMBER, and"
            " start again; or let them start empty, with kafkatx.start.anew=true for one start"
        )

    async def opened(self) -> None:
        """Record the log dirs and the partitions in them; a full disk does not prevent the start."""
        if self._anew:
            self._log.warn("kafkatx.start.anew=true is for one start: remove it from the settings again")
        recorded = self._metadata.recorded.log_dirs
        log_dirs = {one.directory_id: one.path for one in self._store.dirs if one.error is None}
        try:
            await self._settle()
            moved = (*self._unrecorded.placed, *self._moved_away())
            self._unrecorded = DirectoryChanges(moved, self._unrecorded.gone)
            if log_dirs != recorded or self._unrecorded:
                await self._write(log_dirs)
        except (OSError, RequestError) as error:
            self._log.warn("recording the log dirs of partitions failed: {error}", error=error)

    def _moved_away(self) -> Iterator[Placement]:
        """Return recorded partitions that other brokers have now: they are not missing if they come back."""
        state = self._metadata.state
        for topic_id, placed in self._metadata.recorded.placed.items():
            topic = state.topics.get(state.topic_names.get(topic_id, ""))
            if topic is None:
                continue
            for number in placed:
                if number < len(topic.partitions) and (
                    self._broker_id not in topic.partitions[number].replicas
                ):
                    yield Placement(topic_id, number, None)

    def changed(self) -> None:
        """Tell :attr:`on_change` that logs were created."""
        if self.on_change is not None:
            self.on_change()

    async def record(self) -> None:
        """Record created and deleted logs; after a failure they are recorded the next time.

        :raises OSError: a log dir could not be synced.
        :raises RequestError: KAFKA_STORAGE_ERROR.
        """
        await self._settle()
        if self._unrecorded:
            await self._write(None)

    def removed(self, topic_id: uuid.UUID, partition: int) -> None:
        """Record soon that a partition is not here any more, though its topic exists: it is not lost."""
        placed = (*self._unrecorded.placed, Placement(topic_id, partition, None))
        self._unrecorded = DirectoryChanges(placed, self._unrecorded.gone)
        self.changed()

    async def _settle(self) -> None:
        new = await self._store.sync_directories()
        old, names = self._unrecorded, self._metadata.state.topic_names
        gone = [topic_id for topic_id in new.gone if topic_id not in names]  # else replicas were moved away
        self._unrecorded = DirectoryChanges((*old.placed, *new.placed), (*old.gone, *gone))

    async def _write(self, log_dirs: dict[str, str] | None) -> None:
        settled, self._unrecorded = self._unrecorded, DirectoryChanges()
        try:
            await self._metadata.record(log_dirs, settled.placed, settled.gone)
        except BaseException:
            more = self._unrecorded
            placed: tuple[Placement, ...] = (*settled.placed, *more.placed)
            self._unrecorded = DirectoryChanges(placed, (*settled.gone, *more.gone))
            raise


def _named(names: list[TopicPartition]) -> str:
    """Return the first of some partitions as text."""
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(str, names[:NAMED])) + rest
