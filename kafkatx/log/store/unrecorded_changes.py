"""Partition directories made and deleted that the cluster's state does not record yet."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from functools import partial

from kafkatx.interfaces.log_dirs import DirectoryChanges, Expected
from kafkatx.log.store.log_dir import LogDir
from kafkatx.log.store.ownership import Found, Survey
from kafkatx.types import Placement, TopicPartition


class UnrecordedChanges:
    """The directories made, and the topics deleted, since the last call of :meth:`settle`.

    :ivar deleted: ids of topics that a client asked to delete: their directories may be removed.
    """

    def __init__(self) -> None:
        self.deleted: set[uuid.UUID] = set()
        self._made: dict[TopicPartition, tuple[uuid.UUID, LogDir]] = {}
        self._placed: list[Placement] = []
        self._going: Counter[uuid.UUID] = Counter()
        self._gone: list[uuid.UUID] = []
        self._sees_all = True

    def opened(self, log_dirs: Iterable[tuple[LogDir, Survey]], expected: Expected) -> None:
        """Compare the directories that were found, and not put aside, with those on record.

        :param log_dirs: the log dirs that are online.
        """
        recorded = expected.recorded
        online = set()
        for log_dir, survey in log_dirs:
            online.add(log_dir.directory_id)
            for found in survey.found:
                if found.topic_partition in log_dir.logs:
                    self._compare(log_dir, found, expected)
        self._sees_all = online.issuperset(recorded.log_dirs)
        if self._sees_all:
            self._gone += recorded.deleted
        else:
            self.deleted |= recorded.deleted

    def _compare(self, log_dir: LogDir, found: Found, expected: Expected) -> None:
        topic_id = expected.topic_id(found.topic_partition)
        number = found.topic_partition.partition
        if topic_id is not None and (
            expected.recorded.placed.get(topic_id, {}).get(number) != log_dir.directory_id
        ):
            self._placed.append(Placement(topic_id, number, log_dir.directory_id))

    def made(self, log_dir: LogDir, found: Found) -> None:
        """Add a directory that was made; its name may not be synced yet."""
        self._made[found.topic_partition] = (found.topic_id, log_dir)

    def deleting(self, topic_id: uuid.UUID) -> None:
        """Add a partition that a client asked to delete."""
        self.deleted.add(topic_id)
        self._going[topic_id] += 1

    def removed(self, topic_id: uuid.UUID) -> None:
        """Note that the directory of a deleted partition was removed."""
        self._going[topic_id] -= 1
        if not self._going[topic_id]:
            del self._going[topic_id]
            self.deleted.discard(topic_id)
            self._gone.append(topic_id)

    async def settle(self, log_dirs: Iterable[LogDir]) -> DirectoryChanges:
        """Sync the names of new directories; return the changes to record.

        :raises OSError: a sync failed.
        """
        made, self._made = self._made, {}
        for log_dir in {log_dir for _, log_dir in made.values()}:
            try:
                await log_dir.run(partial(log_dir.files.sync), "syncing the names of new partitions")
            except OSError:
                self._made = {name: one for name, one in made.items() if one[1].error is None} | self._made
                raise
        for name, (topic_id, log_dir) in made.items():
            if name in log_dir.logs:
                self._placed.append(Placement(topic_id, name.partition, log_dir.directory_id))
        placed, self._placed = self._placed, []
        gone: list[uuid.UUID] = []
        if self._sees_all and all(log_dir.error is None for log_dir in log_dirs):
            gone, self._gone = self._gone, []
        return DirectoryChanges(tuple(placed), tuple(gone))
