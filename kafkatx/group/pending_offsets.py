"""Offsets that are committed with transactions which have not ended (KIP-98, KIP-447). Pure.

They count once the transaction's commit marker is in ``__consumer_offsets``. Of several commits for one
partition the newest *record* counts, not the newest marker: a commit that was written later, by another
transaction or without one, stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.group.offset_records import Committed, OffsetKey


class PendingOffsets:
    """The pending offsets of one partition of ``__consumer_offsets``; False while there are none.

    Records are added in the order of the log.
    """

    def __init__(self) -> None:
        self._producers: dict[int, dict[OffsetKey, tuple[int, Committed]]] = {}
        self._keys: dict[OffsetKey, dict[int, None]] = {}
        self._order = 0

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __contains__(self, key: OffsetKey) -> bool:
        """Return True if an open transaction commits an offset of (group, topic, partition)."""
        return key in self._keys

    def add(self, producer_id: int, key: OffsetKey, committed: Committed) -> None:
        """Add an offset; it replaces the one that the same transaction had before."""
        self._order += 1
        self._producers.setdefault(producer_id, {})[key] = (self._order, committed)
        self._keys.setdefault(key, {})[producer_id] = None

    def supersede(self, key: OffsetKey) -> None:
        """Drop the pending offsets of a key: a newer one is committed, or the offset is deleted."""
        for producer_id in self._keys.pop(key, ()):
            self._drop(producer_id, key)

    def _drop(self, producer_id: int, key: OffsetKey) -> None:
        offsets = self._producers[producer_id]
        del offsets[key]
        if not offsets:
            del self._producers[producer_id]

    def end(self, producer_id: int, commit: bool) -> dict[OffsetKey, Committed]:
        """End a producer's transaction; return the offsets that are committed by that, none by an abort."""
        ended = self._producers.pop(producer_id, {})
        for key, (order, _) in ended.items():
            others = self._keys[key]
            del others[producer_id]
            if commit:
                for other in [one for one in others if self._producers[one][key][0] < order]:
                    del others[other]
                    self._drop(other, key)
            if not others:
                del self._keys[key]
        return {key: committed for key, (_, committed) in ended.items()} if commit else {}

    def __iter__(self) -> Iterator[OffsetKey]:
        """Yield the keys that have pending offsets. They must not change meanwhile."""
        return iter(self._keys)

    def of_group(self, group_id: str) -> set[tuple[str, int]]:
        """Return topic and partition of a group's pending offsets."""
        return {key[1:] for key in self._keys if key[0] == group_id}

    def groups(self) -> set[str]:
        """Return the groups that have pending offsets."""
        return {key[0] for key in self._keys}
