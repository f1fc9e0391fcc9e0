"""Replay of the records of ``__consumer_offsets`` into groups and their offsets, a partition at a time.

Pure: :mod:`kafkatx.broker.coordinator.loader` reads the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from kafkatx.group.actions import Action, Group
from kafkatx.group.classic import records as classic_records
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer import records as consumer_records
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.offset_records import key_version
from kafkatx.group.offsets import Offsets


class Groups(Protocol):
    """The part of the group coordinator that groups are replayed into."""

    offsets: Offsets
    now_ms: Callable[[], int]

    def new_classic(self, group_id: str) -> ClassicGroup:
        """Return a new group of the classic protocol, not coordinated yet."""

    def new_consumer(self, group_id: str) -> ConsumerGroup:
        """Return a new group of KIP-848, not coordinated yet."""

    def make(self, group_id: str) -> Group:
        """Coordinate a new group of the classic protocol."""

    def add(self, group: Group) -> None:
        """Coordinate a group."""

    def perform(self, group: Group, actions: list[Action]) -> None:
        """Perform the actions of a group."""


class GroupReplayer:
    """The groups of a partition that is being loaded; they are not coordinated before :meth:`loaded`."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._found: dict[str, Group] = {}
        self._with_offsets: set[str] = set()

    def __call__(self, key_version: int, key: bytes, value: bytes | None) -> None:
        """Replay the last record of a key; skip one of an unknown version (KIP-915).

        :raises KafkaTXError: it cannot be read.
        """
        replay = REPLAY.get(key_version)
        if replay is not None:
            replay(self, key, value)

    def offset(self, key: bytes, value: bytes | None) -> None:
        """Replay a committed offset."""
        group_id = self._groups.offsets.replay(key, value)
        if group_id is not None:
            self._with_offsets.add(group_id)

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
        found, self._found = self._found, {}
        with_offsets, self._with_offsets = self._with_offsets, set()
        for group in found.values():
            self._groups.add(group)
            self._groups.perform(group, group.loaded(self._groups.now_ms()))
        for group_id in with_offsets - found.keys():  # consumers that are in no group
            self._groups.make(group_id)


REPLAY: Mapping[int, Callable[[GroupReplayer, bytes, bytes | None], None]] = MappingProxyType(
    {
        0: GroupReplayer.offset,
        1: GroupReplayer.offset,
        2: GroupReplayer.classic,
        **dict.fromkeys(consumer_records.Kind, GroupReplayer.consumer),
    }
)
"""The method for each version of a key, which tells the kind of the record."""
