"""Replay of the records of ``__consumer_offsets`` into groups and their offsets, a partition at a time.

:mod:`kafkatx.broker.coordinator.runtime.loader` reads the records. It touches nothing before all are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.group.actions import Action, Group
from kafkatx.group.classic import records as classic_records
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer import records as consumer_records
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.offset_records import KEY_VERSIONS, decode_key, decode_value, key_version


class Groups(Protocol):
    """The part of the group coordinator that groups are replayed into."""

    now_ms: Callable[[], int]

    def new_classic(self, group_id: str) -> ClassicGroup:
        """Return a new group of the classic protocol, not coordinated yet."""

    def new_consumer(self, group_id: str) -> ConsumerGroup:
        """Return a new group of KIP-848, not coordinated yet."""

    def serve(self, shard: GroupShard) -> None:
        """Serve the groups of a partition from now on."""

    def loaded(self, shard: GroupShard) -> None:
        """Finish the load of a partition."""

    def make(self, group_id: str) -> Group:
        """Coordinate a new group of the classic protocol."""

    def add(self, group: Group) -> None:
        """Coordinate a group."""

    def perform(self, group: Group, actions: list[Action]) -> None:
        """Perform the actions of a group."""


class GroupReplayer:
    """The groups of a partition that is being loaded; they are not coordinated before :meth:`loaded`."""

    def __init__(self, groups: Groups, shard: GroupShard) -> None:
        self._groups = groups
        self._shard = shard
        self._found: dict[str, Group] = {}

    def __call__(self, key: bytes, value: bytes | None) -> None:
        """Replay the last record of a key; skip one of an unknown version (KIP-915).

        :raises KafkaTXError: it cannot be read.
        """
        replay = REPLAY.get(key_version(key))
        if replay is not None:
            replay(self, key, value)

    def offset(self, key: bytes, value: bytes | None) -> None:
        """Replay a committed offset."""
        self._shard.offsets.replay(key, value)

    def pending(self, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Replay an offset that an open transaction commits; there are no other records of transactions.

        :raises UnreadableOffset: it cannot be read.
        """
        if key_version(key) in KEY_VERSIONS and value is not None:
            self._shard.pending_offsets.add(producer_id, decode_key(key), decode_value(value))

    def classic(self, key: bytes, value: bytes | None) -> None:
        """Replay a group of the classic protocol."""
        group_id = classic_records.decode_key(key)
        if value is not None:
            group = self._groups.new_classic(group_id)
            group.replay(value, self._groups.now_ms())
            self._found[group_id] = group

    def consumer(self, key: bytes, value: bytes | None) -> None:
        """Replay a record of a KIP-848 group; only the last state is left of one that changed protocol."""
        group_id, change = consumer_records.decode(key_version(key), key, value)
        if change.value is not None:
            group = self._found.get(group_id)
            if not isinstance(group, ConsumerGroup):
                group = self._found[group_id] = self._groups.new_consumer(group_id)
            group.replay(change)

    def loaded(self) -> None:
        """Coordinate the groups of the partition, which is loaded; the sessions of their members begin."""
        groups, shard, found = self._groups, self._shard, self._found
        groups.serve(shard)
        for group in found.values():
            if shard.dropped:
                return  # a record of a group before could not be written
            groups.add(group)
            groups.perform(group, group.loaded(groups.now_ms()))
        with_offsets = {*shard.offsets.groups(), *shard.pending_offsets.groups()}
        for group_id in [name for name in with_offsets if name not in shard.groups]:
            groups.make(group_id)  # consumers that are in no group
        groups.loaded(shard)


REPLAY: Mapping[int, Callable[[GroupReplayer, bytes, bytes | None], None]] = MappingProxyType(
    {
        0: GroupReplayer.offset,
        1: GroupReplayer.offset,
        2: GroupReplayer.classic,
        **dict.fromkeys(consumer_records.Kind, GroupReplayer.consumer),
    }
)
"""The method for each version of a key, which tells the kind of the record."""
