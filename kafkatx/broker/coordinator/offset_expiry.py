"""Offsets that nobody needs any more: of groups long without members (KIP-211), and of topics that are gone.

They go by tombstones in ``__consumer_offsets``. A group that has neither members nor offsets goes with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from twisted.logger import Logger

from kafkatx.broker.requests.quotation import quoted
from kafkatx.config.table import groups as g
from kafkatx.errors import RequestError
from kafkatx.group.actions import NEVER_MS, Group, Record
from kafkatx.group.offset_records import tombstone

if TYPE_CHECKING:
    from kafkatx.broker.replica.partition import Partition
    from kafkatx.broker.state import Broker

MINUTE_MS = 60_000
EMPTY = "Empty"


class OffsetExpiry:
    """Takes offsets and groups away. What cannot be written stays, and is tried again the next time."""

    _log = Logger()

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        broker.topics.on_deleted = self.forget_topic

    def expire_each(self, now_ms: int) -> Iterator[None]:
        """Let go what has been kept for ``offsets.retention.minutes``: a group at each step.

        :param now_ms: the wall clock.
        """
        retention_ms = self._broker.config[g.OFFSETS_RETENTION_MINUTES] * MINUTE_MS
        for group in list(self._broker.groups.groups.values()):
            try:
                self._expire(group, now_ms, retention_ms)
            except RequestError as error:
                self._log.warn(
                    "the old offsets of group {group} cannot be taken away now: {error}",
                    group=quoted(group.group_id),
                    error=error,
                )
            yield

    def _expire(self, group: Group, now_ms: int, retention_ms: int) -> None:
        """As Apache Kafka's ``GroupCoordinatorShard.cleanupExpiredOffsets`` does with one group.

        :raises RequestError: the tombstones cannot be written.
        """
        groups, group_id = self._broker.groups, group.group_id
        if groups.find(group_id) is not group or groups.check(group_id, True):
            return
        expired = groups.offsets.expired(group, now_ms, retention_ms)
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
        """A topic is gone: one that is created under its name must not begin at its offsets."""
        groups = self._broker.groups
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
        """All is loaded: let the offsets go of topics whose deletion a crash cut short."""
        for topic in self._broker.groups.offsets.topics() - self._broker.coordinator.state.topics.keys():
            self.forget_topic(topic)
