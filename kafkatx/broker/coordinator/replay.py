"""From the records of ``__consumer_offsets`` back to groups and their offsets, a partition at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kafkatx.group.actions import Group
from kafkatx.group.classic import records as classic_records
from kafkatx.group.consumer import records as consumer_records
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.offset_records import key_version

if TYPE_CHECKING:
    from kafkatx.broker.coordinator.groups import Groups


class Replay:
    """The groups of a partition that is being loaded. They are nobody's to ask before :meth:`loaded`."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._found: dict[str, Group] = {}
        self._with_offsets: set[str] = set()

    def __call__(self, key_version: int, key: bytes, value: bytes | None) -> None:
        """Take over the last record of a key; one of a version that is yet to come is passed over (KIP-915).

        :raises KafkaTXError: it cannot be read.
        """
        replay = REPLAY.get(key_version)
        if replay is not None:
            replay(self, key, value)

    def offset(self, key: bytes, value: bytes | None) -> None:
        """A committed offset."""
        group_id = self._groups.offsets.replay(key, value)
        if group_id is not None:
            self._with_offsets.add(group_id)

    def classic(self, key: bytes, value: bytes | None) -> None:
        """A group of the classic protocol."""
        group_id = classic_records.decode_key(key)
        if value is not None:
            group = self._groups.new_classic(group_id)
            group.replay(value, self._groups.now_ms())
            self._found[group_id] = group

    def consumer(self, key: bytes, value: bytes | None) -> None:
        """A piece of a group of KIP-848; of one that changed its protocol only what it is now is left."""
        group_id, change = consumer_records.decode(key_version(key), key, value)
        if change.value is not None:
            group = self._found.get(group_id)
            if not isinstance(group, ConsumerGroup):
                group = self._found[group_id] = self._groups.new_consumer(group_id)
            group.replay(change)

    def loaded(self) -> None:
        """The partition is loaded: coordinate its groups; the sessions of their members begin."""
        found, self._found = self._found, {}
        with_offsets, self._with_offsets = self._with_offsets, set()
        for group in found.values():
            self._groups.add(group)
            self._groups.perform(group, group.loaded(self._groups.now_ms()))
        for group_id in with_offsets - found.keys():  # consumers that are in no group
            self._groups.make(group_id)


REPLAY: Mapping[int, Callable[[Replay, bytes, bytes | None], None]] = MappingProxyType(
    {
        0: Replay.offset,
        1: Replay.offset,
        2: Replay.classic,
        **dict.fromkeys(consumer_records.Kind, Replay.consumer),
    }
)
"""By the version of the key, which says what a record is about."""
