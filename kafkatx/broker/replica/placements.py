"""Which log dir has each partition: the coordinator's record, compared with what the store finds."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from twisted.logger import Logger

from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.errors import RequestError
from kafkatx.interfaces import ICoordinator, ILogStore
from kafkatx.types import DirectoryChanges, Expected, Placement, TopicPartition

NAMED = 5
"""How many missing partitions one line of the log names."""


class Placements:
    """Keeps the coordinator's record of this broker's logs.

    A partition is on record once its directory is on the disk. One that is on record and missing at a start
    was lost: it is offline, and not made anew. One that is not on record was never made, or was lost in a
    power cut before it was synced: it is made.

    :ivar on_change: called when logs were made; :meth:`record` should be called soon.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, coordinator: ICoordinator, store: ILogStore) -> None:
        self._anew = config[b.KAFKATX_START_ANEW]
        self._coordinator = coordinator
        self._store = store
        self._unrecorded = DirectoryChanges()
        self.on_change: Callable[[], None] | None = None
        self._missing: dict[str, list[TopicPartition]] = {}

    def expected(self) -> Expected:
        """What the store should find."""
        coordinator = self._coordinator
        return Expected(
            coordinator.state.cluster_id,
            not coordinator.state.topics,
            lambda: coordinator.generation,
            self._topic_id,
            coordinator.recorded,
            self._anew,
        )

    def _topic_id(self, name: TopicPartition) -> uuid.UUID | None:
        topic = self._coordinator.state.topics.get(name.topic)
        return topic.topic_id if topic is not None and name.partition < len(topic.partitions) else None

    def is_lost(self, name: TopicPartition, topic_id: uuid.UUID) -> bool:
        """True if a log is missing though it was made, or may be in a log dir that is offline."""
        if name in self._store.logs:
            return False
        directory_id = self._coordinator.recorded.placed.get(topic_id, {}).get(name.partition)
        if directory_id is not None:
            self._missing.setdefault(directory_id, []).append(name)
            return True
        return any(one.error is not None for one in self._store.dirs)

    def say_missing(self) -> None:
        """Log which partitions are lost, a line for each log dir that held them."""
        missing, self._missing = self._missing, {}
        for directory_id, names in missing.items():
            path = self._coordinator.recorded.log_dirs.get(directory_id, "an unknown log dir")
            rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            self._log.error(
                "{count} partitions are offline: their directories are missing: {names}{rest}; they"
                " were in {path}. Mount its disk, or put them back, and start again; if they are lost,"
                " let them start empty: kafkatx log adopt --empty {dirs}",
                count=len(names),
                names=", ".join(map(str, names[:NAMED])),
                rest=rest,
                path=path,
                dirs=" ".join(one.path for one in self._store.dirs),
            )

    async def opened(self) -> None:
        """Write down which log dirs there are, and what is in them; a full disk does not stop the start."""
        if self._anew:
            self._log.warn("kafkatx.start.anew=true is for one start: take it out of the settings again")
        recorded = self._coordinator.recorded.log_dirs
        log_dirs = {one.directory_id: one.path for one in self._store.dirs if one.error is None}
        try:
            await self._settle()
            if log_dirs != recorded or self._unrecorded:
                await self._write(log_dirs)
        except (OSError, RequestError) as error:
            self._log.warn("writing down where logs are failed: {error}", error=error)

    def changed(self) -> None:
        """Take note that logs were made."""
        if self.on_change is not None:
            self.on_change()

    async def record(self) -> None:
        """Write down what was made and deleted; what fails is written down the next time.

        :raises OSError: a log dir could not be synced.
        :raises RequestError: KAFKA_STORAGE_ERROR.
        """
        await self._settle()
        if self._unrecorded:
            await self._write(None)

    async def _settle(self) -> None:
        new = await self._store.sync_directories()
        old = self._unrecorded
        self._unrecorded = DirectoryChanges((*old.placed, *new.placed), (*old.gone, *new.gone))

    async def _write(self, log_dirs: dict[str, str] | None) -> None:
        settled, self._unrecorded = self._unrecorded, DirectoryChanges()
        try:
            await self._coordinator.record(log_dirs, settled.placed, settled.gone)
        except BaseException:
            more = self._unrecorded
            placed: tuple[Placement, ...] = (*settled.placed, *more.placed)
            self._unrecorded = DirectoryChanges(placed, (*settled.gone, *more.gone))
            raise
