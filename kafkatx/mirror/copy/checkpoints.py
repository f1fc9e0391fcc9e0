"""MirrorMaker 2's topics in the target: offset syncs, checkpoints of groups, heartbeats.

``RemoteClusterUtils`` and other tools read them to translate the offsets of a group. The wall clock is read
for the timestamps of heartbeats.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from twisted.logger import Logger

from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.mirror import table
from kafkatx.mirror.copy.gather import gather
from kafkatx.mirror.copy.source import Source
from kafkatx.mirror.copy.stream import Stream
from kafkatx.mirror.copy.target import COMPACTED, Target
from kafkatx.mirror.core.names import compiled
from kafkatx.mirror.mm2.formats import (
    Checkpoint,
    Heartbeat,
    OffsetSync,
    checkpoints_topic,
    heartbeats_topic,
    offset_syncs_topic,
)
from kafkatx.mirror.settings import MirrorSettings
from kafkatx.types import TopicPartition


class MirrorMakerTopics:
    """Writes the topics for one source."""

    _log = Logger()

    def __init__(self, settings: MirrorSettings, source: Source, target: Target) -> None:
        self._source = source
        self._target = target
        self._target_alias = settings[table.TARGET_ALIAS]
        self._groups = compiled("groups", settings[table.GROUPS])
        exclude = settings[table.GROUPS_EXCLUDE]
        self._exclude: re.Pattern[str] | None = compiled("groups.exclude", exclude) if exclude else None
        self._syncs: dict[TopicPartition, OffsetSync] = {}
        self._checkpoints: dict[tuple[str, TopicPartition], Checkpoint] = {}

    async def write_syncs(self) -> None:
        """Write the newest pair of offsets of each partition that has copied something since.

        :raises KafkaTXError: the target does not take them.
        """
        topic = offset_syncs_topic(self._source.alias)
        new: dict[TopicPartition, OffsetSync] = {}
        for place, stream in self._source.streams.items():
            known = self._target.notes(self._source.alias).of(stream.id).offset_map
            if len(known):
                sync = OffsetSync(place.topic, place.partition, known.source_end - 1, known.target_end - 1)
                if self._syncs.get(place) != sync:
                    new[place] = sync
        if new:
            await self._target.ensure_topic(topic, 1, COMPACTED)
            await self._send(topic, new.values())
            self._syncs |= new

    async def write_checkpoints(self) -> None:
        """Translate what groups have committed at the source, and write what has changed.

        :raises KafkaTXError: the source or the target does not answer.
        """
        new: dict[tuple[str, TopicPartition], Checkpoint] = {}
        for listed in await self._source.admin.groups.listings():
            group = listed.group_id
            if not self._groups.fullmatch(group) or (self._exclude and self._exclude.fullmatch(group)):
                continue
            try:
                offsets = await self._source.admin.groups.offsets(group)
            except KafkaTXError as error:
                self._log.warn("offsets of group {group}: {error}", group=group, error=error)
                continue
            for place, committed in offsets.items():
                stream = self._source.streams.get(place)
                checkpoint = None if stream is None else self._translate(group, stream, committed)
                if checkpoint is not None and self._checkpoints.get((group, place)) != checkpoint:
                    new[group, place] = checkpoint
        if new:
            topic = checkpoints_topic(self._source.alias)
            await self._target.ensure_topic(topic, 1, COMPACTED)
            await self._send(topic, new.values())
            self._checkpoints |= new

    def _translate(self, group: str, stream: Stream, committed: OffsetAndMetadata) -> Checkpoint | None:
        known = self._target.notes(self._source.alias).of(stream.id).offset_map
        target = known.to_target(committed.offset)
        if target is None:
            return None
        return Checkpoint(group, *stream.target_place, committed.offset, target, committed.metadata or "")

    async def write_heartbeat(self) -> None:
        """Write a heartbeat.

        :raises KafkaTXError: the target does not take it.
        """
        topic = heartbeats_topic(self._source.alias)
        await self._target.ensure_topic(topic, 1, COMPACTED)
        await self._send(topic, [Heartbeat(self._source.alias, self._target_alias, int(time.time() * 1000))])

    async def _send(self, topic: str, records: Iterable[OffsetSync | Checkpoint | Heartbeat]) -> None:
        await gather([self._target.send(topic, *record.encode()) for record in records])
