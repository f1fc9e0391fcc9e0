"""Deletion of committed offsets: of groups long without members (KIP-211), and of deleted topics.

It writes tombstones to ``__consumer_offsets``, for the groups that this broker coordinates; each coordinator
does so for its own. A group that has neither members nor offsets is deleted, too.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.broker.coordinator.groups.coordinator import GroupCoordinator
from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.coordinator.runtime.record_writer import outcome
from kafkatx.broker.requests.quotation import quoted
from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups as g
from kafkatx.errors import RequestError
from kafkatx.group.actions import NEVER_MS, Group, Record
from kafkatx.group.offset_records import tombstone
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import ClusterDelta

MINUTE_MS = 60_000
EMPTY = "Empty"


class OffsetExpiry:
    """Deletes offsets and groups. Those whose tombstones cannot be written stay until the next time.

    The offsets of a topic that is gone from a cluster's state, though no client was seen to delete it, stay
    as its logs do: an older copy of the state may have been put back. They are deleted when another topic is
    created under its name, which must not begin at them, or by their retention.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, metadata: IMetadataStore, groups: GroupCoordinator) -> None:
        self._metadata = metadata
        self._groups = groups
        self._missing: dict[str, uuid.UUID | None] = {}  # topics whose offsets stay; the ids, if known
        metadata.subscribe(self._cluster_changed)
        groups.on_loaded = self.forget_missing_topics
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._retention_ms: int = config[g.OFFSETS_RETENTION_MINUTES] * MINUTE_MS

    def expire_each(self, now_ms: int) -> Iterator[None]:
        """Delete what has been kept for ``offsets.retention.minutes``, one group with each step.

        :param now_ms: the wall clock.
        """
        for group in list(self._groups.all()):
            try:
                self._expire(group, now_ms)
            except RequestError as error:
                self._log.warn(
                    "the old offsets of group {group} cannot be taken away now: {error}",
                    group=quoted(group.group_id),
                    error=error,
                )
            yield

    def _expire(self, group: Group, now_ms: int) -> None:
        """Expire the offsets of one group, as ``GroupCoordinatorShard.cleanupExpiredOffsets`` does.

        :raises RequestError: the tombstones cannot be written.
        """
        groups, group_id = self._groups, group.group_id
        shard = groups.shard_of(group_id)
        if shard is None or shard.groups.get(group_id) is not group or shard.records.is_storing(group_id):
            return
        pending = shard.pending_of(group_id)
        expired = [
            key
            for key in shard.offsets.expired(group, now_ms, self._retention_ms)
            if key not in pending  # it is being committed again
        ]
        kept = len(pending) + sum(map(len, shard.offsets.of(group_id).values())) - len(expired)
        records = [tombstone(group_id, topic, number) for topic, number in expired]
        unused = not kept and group.state == EMPTY and group.deadline_ms == NEVER_MS
        if unused:
            records += group.tombstones()
        if records:
            self._write(shard, records)
        for topic, number in expired:
            shard.delete_offset(group_id, topic, number)
        if unused:
            groups.remove(group_id)
        if records:
            self._log.info(
                "{count} offsets of group {group} expired{also}",
                count=len(expired),
                group=quoted(group_id),
                also=", and the group with them" if unused else "",
            )

    def _write(self, shard: GroupShard, records: Sequence[Record]) -> None:
        """Write tombstones, and do not wait until they are committed.

        :raises RequestError: they cannot be written.
        """
        committed = self._groups.writer.append(shard.partition, records)
        Deferred.fromCoroutine(outcome(committed))

    def _cluster_changed(self, delta: ClusterDelta) -> None:
        """Delete the offsets of topics that are deleted, or in whose place there is another."""
        for name in delta.topics:
            old, new = delta.before.topics.get(name), delta.after.topics.get(name)
            if new is None:
                if old is not None and old.topic_id not in delta.deleted:
                    self._missing[name] = old.topic_id
                    continue
            elif new.topic_id == (self._missing.pop(name, new.topic_id) if old is None else old.topic_id):
                continue  # it is new, or back, or was changed
            for shard in list(self._groups.shards.values()):
                self._forget_topic(shard, name)

    def _forget_topic(self, shard: GroupShard, topic: str) -> None:
        """Delete the offsets of a deleted topic: one created under its name must not begin at them."""
        found = shard.groups_with_offsets_of(topic)
        records = [tombstone(group_id, topic, number) for group_id, numbers in found for number in numbers]
        if not records:
            return
        try:
            self._write(shard, records)
        except RequestError as error:
            self._log.warn(
                "the offsets of the deleted {topic} stay in {partition} until it is loaded again: {error}",
                topic=quoted(topic),
                partition=shard.partition.topic_partition,
                error=error,
            )
        for group_id, numbers in found:
            for number in numbers:
                shard.delete_offset(group_id, topic, number)

    def forget_missing_topics(self, shard: GroupShard) -> None:
        """Look for offsets of topics that are gone; delete them if it is certain that a client wanted that.

        The state of a broker that is alone cannot be an older copy.
        """
        for topic in shard.offsets.topics() - self._metadata.state.topics.keys():
            if self._groups.topic.is_alone:
                self._forget_topic(shard, topic)
            else:
                self._missing.setdefault(topic, None)
