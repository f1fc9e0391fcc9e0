"""The committed offsets of all groups, in memory, as the records of ``__consumer_offsets`` define them. Pure.

An offset changes here only after its record is in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kafkatx.group.actions import Group, Record
from kafkatx.group.offset_records import Committed, decode_key, decode_value, tombstone
from kafkatx.types import NO_TIMESTAMP

Topics = dict[str, dict[int, Committed]]
_NONE: Mapping[str, dict[int, Committed]] = MappingProxyType({})


class Offsets:
    """Committed offsets by group, topic and partition. Groups and topics without offsets have no entry."""

    def __init__(self) -> None:
        self._groups: dict[str, Topics] = {}

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        """Return the committed offset of a group for a partition, or None."""
        topics = self._groups.get(group)
        partitions = topics.get(topic) if topics else None
        return partitions.get(partition) if partitions else None

    def of(self, group: str) -> Mapping[str, Mapping[int, Committed]]:
        """Return the offsets of a group by topic and partition; the caller must not change or keep them."""
        return self._groups.get(group, _NONE)

    def groups(self) -> list[str]:
        """Return the groups that have offsets."""
        return list(self._groups)

    def set(self, group: str, topic: str, partition: int, committed: Committed) -> None:
        """Set the committed offset of a group for a partition."""
        topics = self._groups.get(group)
        if topics is None:
            topics = self._groups[group] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
        partitions[partition] = committed

    def delete(self, group: str, topic: str, partition: int) -> None:
        """Remove an offset, if there is one."""
        topics = self._groups.get(group, {})
        partitions = topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            topics.pop(topic, None)
        if not topics:
            self._groups.pop(group, None)

    def remove(self, group: str) -> None:
        """Remove all offsets of a group."""
        self._groups.pop(group, None)

    def replay(self, key: bytes, value: bytes | None) -> str | None:
        """Apply a record of the log with a key of version 0 or 1.

        :return: the group of the offset; None for a tombstone.
        :raises UnreadableOffset: the record is damaged, or its version is unknown.
        """
        group, topic, partition = decode_key(key)
        if value is None:
            self.delete(group, topic, partition)
            return None
        self.set(group, topic, partition, decode_value(value))
        return group

    def tombstones(self, group: str) -> list[Record]:
        """Return the records that remove all offsets of a group from the log."""
        return [tombstone(group, topic, partition) for topic, partition in self._each(group)]

    def of_topic(self, topic: str) -> Iterator[tuple[str, list[int]]]:
        """Yield each group with offsets of a topic, and the partitions. Offsets must not change meanwhile."""
        for group, topics in self._groups.items():
            if topic in topics:
                yield group, list(topics[topic])

    def topics(self) -> frozenset[str]:
        """Return every topic for which a group has offsets."""
        return frozenset(topic for topics in self._groups.values() for topic in topics)

    def expired(self, group: Group, now_ms: int, retention_ms: int) -> list[tuple[str, int]]:
        """Return the (topic, partition) of a group's expired offsets (KIP-211).

        The retention time starts, as in Apache Kafka's ``ClassicGroup.offsetExpirationCondition``::

            state Empty                           when the last member left; at the commit if that time
                                                  is not known, or the group never had a member
            state Stable, protocol type consumer  at the commit, if no member subscribes to the topic
            the consumer protocol, with members   the same
            any other                             never: the members' topics are not known

        An offset with an expire timestamp expires at that time, under the same conditions.
        """
        if not _tells_subscriptions(group):
            return []
        return [
            (topic, partition)
            for topic, partitions in self._groups.get(group.group_id, {}).items()
            if not group.subscribes(topic)
            for partition, committed in partitions.items()
            if _is_expired(committed, group.empty_since_ms, now_ms, retention_ms)
        ]

    def _each(self, group: str) -> Iterator[tuple[str, int]]:
        for topic, partitions in self.of(group).items():
            for partition in partitions:
                yield topic, partition


def _tells_subscriptions(group: Group) -> bool:
    if group.kind != "classic" or not group.protocol_type or group.state == "Empty":
        return True
    return group.state == "Stable" and group.protocol_type == "consumer"


def _is_expired(committed: Committed, empty_since_ms: int, now_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_timestamp_ms
    since_ms = committed.commit_timestamp_ms if empty_since_ms < 0 else empty_since_ms
    return now_ms - since_ms >= retention_ms
