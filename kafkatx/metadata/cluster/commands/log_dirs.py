"""The record of the locations of this broker's logs, below ``/kafkatx/log_dirs``. It touches tree and clock.

No other broker writes these nodes but the controller, which marks those of deleted topics.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping

from twisted.internet.interfaces import IReactorTime

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Create, Delete, Operation, SetData
from kafkatx.metadata.cluster.commands.transactions import Transactions
from kafkatx.metadata.cluster.state.requests import children, each, read
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.incarnations import (
    PlacedTopic,
    decode_log_dirs,
    decode_placed_topic,
    encode_log_dirs,
    log_dir_record,
)
from kafkatx.types import LogDirRecord, Placement

RECORD_S = 5.0
"""Seconds after which a record that could not be written fails: it is written with the next one."""
AT_ONCE = 200
"""Topics whose placements are written in one transaction."""


async def read_record(tree: ITree, broker_id: int, exists: Callable[[uuid.UUID], bool]) -> LogDirRecord:
    """Read what is recorded of a broker's log dirs.

    :param exists: returns True if a topic id is in the state: it is not deleted then, though its deletion may
        have begun. A person may have removed the mark for it since.
    :raises UnreadableNode: a node of it is damaged.
    """
    path = paths.log_dirs(broker_id)
    found = await read(tree, path)
    log_dirs = {} if found is None else decode_log_dirs(path, found[0])
    ids = filter(None, map(paths.parse_placed_topic, await children(tree, path)))

    async def placed(topic_id: uuid.UUID) -> tuple[uuid.UUID, PlacedTopic] | None:
        child = paths.placed_topic(broker_id, topic_id)
        node = await read(tree, child)
        if node is None:
            return None
        found = decode_placed_topic(child, node[0])
        return topic_id, PlacedTopic(found.partitions, found.deleted and not exists(topic_id))

    return log_dir_record(log_dirs, dict(filter(None, await each(placed, ids))))


class LogDirCommands:
    """Writes the record.

    :param exists: returns True if a topic id is in the state.
    :ivar recorded: the record at the start of this broker.
    """

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        transactions: Transactions,
        exists: Callable[[uuid.UUID], bool],
    ) -> None:
        self.recorded = LogDirRecord()
        self._tree = tree
        self._clock = clock
        self._transactions = transactions
        self._exists = exists
        self._used: set[str] = set()

    async def load(self) -> None:
        """Read the record, when the state is known.

        :raises UnreadableNode: a node of it is damaged.
        """
        self.recorded = await read_record(self._tree, self._transactions.broker_id, self._exists)
        self._used = {
            directory for partitions in self.recorded.placed.values() for directory in partitions.values()
        }

    async def record(
        self, log_dirs: Mapping[str, str] | None, placed: Iterable[Placement], gone: Iterable[uuid.UUID]
    ) -> None:
        """Record locations, as ``IMetadataStore.record``.

        :raises RequestError: as ``Transactions.persist``.
        """
        changed: dict[uuid.UUID, dict[int, str | None] | None] = {}
        for topic_id, partition, directory_id in placed:
            if self._exists(topic_id):
                partitions = changed.setdefault(topic_id, {})
                assert partitions is not None
                partitions[partition] = directory_id
                if directory_id is not None:
                    self._used.add(directory_id)
        changed.update(dict.fromkeys(gone))
        deadline_s = self._clock.seconds() + RECORD_S
        await self._transactions.persist(lambda: self._record_dirs(log_dirs), deadline_s)
        every = list(changed.items())
        for first in range(0, len(every), AT_ONCE):
            part = every[first : first + AT_ONCE]
            deadline_s = self._clock.seconds() + RECORD_S
            await self._transactions.persist(lambda: self._record_topics(part), deadline_s)  # noqa: B023

    async def _record_dirs(self, log_dirs: Mapping[str, str] | None) -> None:
        path = paths.log_dirs(self._transactions.broker_id)
        found = await read(self._tree, path)
        if found is None:
            await self._tree.multi([Create(path, encode_log_dirs(log_dirs or {}))])
        elif log_dirs is not None:
            known = decode_log_dirs(path, found[0])
            kept = {one: where for one, where in known.items() if one in self._used}
            content = encode_log_dirs({**kept, **log_dirs})
            if content != found[0]:
                await self._tree.multi([SetData(path, content, found[1].version)])

    async def _record_topics(self, part: list[tuple[uuid.UUID, dict[int, str | None] | None]]) -> None:
        operations = [one for one in await each(self._operation, part) if one is not None]
        if operations:
            await self._tree.multi(operations)

    async def _operation(self, change: tuple[uuid.UUID, dict[int, str | None] | None]) -> Operation | None:
        topic_id, partitions = change
        path = paths.placed_topic(self._transactions.broker_id, topic_id)
        found = await read(self._tree, path)
        if partitions is None:
            return None if found is None else Delete(path, found[1].version)
        old = PlacedTopic({}) if found is None else decode_placed_topic(path, found[0])
        merged = {**old.partitions, **partitions}
        known = {number: directory for number, directory in sorted(merged.items()) if directory is not None}
        content = PlacedTopic(known, old.deleted).encode()
        if found is None:
            return Create(path, content)
        return SetData(path, content, found[1].version) if content != found[0] else None
