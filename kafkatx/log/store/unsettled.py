"""What a store has made and deleted and nobody has written down yet."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from functools import partial

from kafkatx.log.store.attached_dir import Place
from kafkatx.log.store.ownership import Found, Survey
from kafkatx.types import DirectoryChanges, Expected, Placement, TopicPartition


class Settling:
    """The directories made, and the topics deleted, since the store was asked last.

    :ivar deleted: ids of topics that a client asked to delete: their directories may be removed.
    """

    def __init__(self) -> None:
        self.deleted: set[uuid.UUID] = set()
        self._made: dict[TopicPartition, tuple[uuid.UUID, Place]] = {}
        self._placed: list[Placement] = []
        self._going: Counter[uuid.UUID] = Counter()
        self._gone: list[uuid.UUID] = []
        self._sees_all = True

    def opened(self, places: Iterable[tuple[Place, Survey]], expected: Expected) -> None:
        """Compare what was found, and not put aside, with what is on record.

        :param places: the log dirs that are online.
        """
        recorded = expected.recorded
        online = set()
        for place, survey in places:
            online.add(place.directory_id)
            for found in survey.found:
                if found.topic_partition in place.logs:
                    self._compare(place, found, expected)
        self._sees_all = online.issuperset(recorded.log_dirs)
        if self._sees_all:
            self._gone += recorded.deleted
        else:
            self.deleted |= recorded.deleted

    def _compare(self, place: Place, found: Found, expected: Expected) -> None:
        topic_id = expected.topic_id(found.topic_partition)
        number = found.topic_partition.partition
        if topic_id is not None and (
            expected.recorded.placed.get(topic_id, {}).get(number) != place.directory_id
        ):
            self._placed.append(Placement(topic_id, number, place.directory_id))

    def made(self, place: Place, found: Found) -> None:
        """A partition's directory was made; it may not be on the disk yet."""
        self._made[found.topic_partition] = (found.topic_id, place)

    def deleting(self, topic_id: uuid.UUID) -> None:
        """A client wants a topic's partition deleted."""
        self.deleted.add(topic_id)
        self._going[topic_id] += 1

    def removed(self, topic_id: uuid.UUID) -> None:
        """A deleted partition's directory is gone."""
        self._going[topic_id] -= 1
        if not self._going[topic_id]:
            del self._going[topic_id]
            self.deleted.discard(topic_id)
            self._gone.append(topic_id)

    async def settle(self, places: Iterable[Place]) -> DirectoryChanges:
        """Bring the names of new directories to the disk; return what can be written down.

        :raises OSError: that failed.
        """
        made, self._made = self._made, {}
        for place in {place for _, place in made.values()}:
            try:
                await place.run(partial(place.dir.sync), "syncing the names of new partitions")
            except OSError:
                self._made = {name: one for name, one in made.items() if one[1].error is None} | self._made
                raise
        for name, (topic_id, place) in made.items():
            if name in place.logs:
                self._placed.append(Placement(topic_id, name.partition, place.directory_id))
        placed, self._placed = self._placed, []
        gone: list[uuid.UUID] = []
        if self._sees_all and all(place.error is None for place in places):
            gone, self._gone = self._gone, []
        return DirectoryChanges(tuple(placed), tuple(gone))
