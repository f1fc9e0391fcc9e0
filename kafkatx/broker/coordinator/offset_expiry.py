"""Deletion of committed offsets: of groups long without members (KIP-211), and of deleted topics.

It writes tombstones to ``__consumer_offsets``. A group that has neither members nor offsets is deleted, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from twisted.logger import Logger

from kafkatx.broker.coordinator.groups import GroupCoordinator
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.quotation import quoted
from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups as g
from kafkatx.errors import RequestError
from kafkatx.group.actions import NEVER_MS, Group, Record
from kafkatx.group.offset_records import tombstone
from kafkatx.interfaces import IMetadataStore

MINUTE_MS = 60_000
EMPTY = "Empty"


class OffsetExpiry:
    """Deletes offsets and groups. Those whose tombstones cannot be written stay until the next time."""

    _log = Logger()

    def __init__(
        self, config: BrokerConfig, metadata: IMetadataStore, groups: GroupCoordinator, topics: Topics
    ) -> None:
        self._metadata = metadata
        self._groups = groups
        topics.on_deleted = self.forget_topic
        groups.on_loaded = self.forget_missing_topics
        self.use(config)

    def use(self, config: BrokerConfig) -> None:
        """Use other settings from now on."""
        self._retention_ms: int = config[g.OFFSETS_RETENTION_MINUTES] * MINUTE_MS

    def expire_each(self, now_ms: int) -> Iterator[None]:
        """Delete what has been kept for ``offsets.retention.minutes``, one group with each step.

        :param now_ms: the wall clock.
        """
        for group in list(self._groups.groups.values()):
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
        if groups.find(group_id) is not group or groups.check(group_id, True):
            return
        expired = groups.offsets.expired(group, now_ms, self._retention_ms)
        kept = sum(map(len, groups.offsets.of(group_id).values())) - len(expired)
        records = [tombstone(group_id, topic, number) for topic, number in expired]
        unused = not kept and group.state == EMPTY and group.deadline_ms == NEVER_MS
        if unused:
            records += group.tombstones()
        if records:
            groups.topic.append(group_id, records)
        for topic, number in expired:
            groups.offsets.delete(group_id, topic, number)
        if unused:
            groups.remove(group_id)
        if records:
            self._log.info(
                "{count} offsets of group {group} expired{also}",
                count=len(expired),
                group=quoted(group_id),
                also=", and the group with them" if unused else "",
            )

    def forget_topic(self, topic: str) -> None:
        """Delete the offsets of a deleted topic: one created under its name must not begin at them."""
        groups = self._groups
        records: dict[Partition, list[Record]] = defaultdict(list)
        found = list(groups.offsets.of_topic(topic))
        for group_id, numbers in found:
            records[groups.topic.find(group_id)] += [tombstone(group_id, topic, n) for n in numbers]
        for partition, tombstones in records.items():
            try:
                groups.topic.append_to(partition, tombstones)
            except RequestError as error:
                self._log.warn(
                    "the offsets of the deleted {topic} stay in {partition} until the next start: {error}",
                    topic=quoted(topic),
                    partition=partition.topic_partition,
                    error=error,
                )
        for group_id, numbers in found:
            for number in numbers:
                groups.offsets.delete(group_id, topic, number)

    def forget_missing_topics(self) -> None:
        """Delete the offsets of topics whose deletion a crash cut short; call when all is loaded."""
        for topic in self._groups.offsets.topics() - self._metadata.state.topics.keys():
            self.forget_topic(topic)
