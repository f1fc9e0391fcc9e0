"""The last offset of each key, in bounded memory. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import eq

ENTRY_BYTES = 192
"""Maximum memory of a key in a dict that was just enlarged: two objects and a table entry.

The sorted offsets take 16 bytes more while they are created, when the dict does not grow any more.
"""

_DIGEST_BYTES = 31
"""The largest size for which a bytes object of CPython takes 64 bytes, as one of 16 does."""


def short(key: bytes) -> bytes:
    """Return a name of at most 31 bytes for a key: the key itself, or its hash if it is longer than 30.

    The two kinds differ in length. The hash is cryptographic: a client that chooses keys must not be able to
    cause a collision, which would remove a record.
    """
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()


def names_of(keys: Iterable[bytes | None]) -> list[bytes | None]:
    """Return :func:`short` of every key; None for None."""
    return [key if key is None or len(key) < _DIGEST_BYTES else short(key) for key in keys]


class OffsetMap:
    """The last offset of each key, by its name (see :func:`short`).

    :ivar end_offset: exclusive; records from here on are all retained.
    """

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._start_offset = 0
        self._survivors: array[int] = array("q")
        self._most = int(memory_bytes * load_factor) // ENTRY_BYTES
        self._offsets: dict[bytes | None, int] = {}
        self.end_offset = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room(self, count: int) -> bool:
        """Return True if *count* more records fit, all with new keys. The first batch always fits."""
        return not self._offsets or len(self._offsets) + count <= self._most

    def add(self, names: Sequence[bytes | None], offsets: Sequence[int]) -> None:
        """Add the increasing offsets of some keys; records without a key are skipped."""
        self._offsets.update(zip(names, offsets, strict=True))
        self._offsets.pop(None, None)

    def complete(self, start_offset: int) -> None:
        """Complete the map: all records from *start_offset* on were added."""
        self._start_offset = start_offset
        self._survivors = array("q", sorted(self._offsets.values()))

    def may_hold(self, base_offset: int, last_offset: int) -> bool:
        """Return True if a batch that ends below :attr:`end_offset` may have the last record of a key.

        In the range whose records were all added, a batch without offsets in the map has none.
        """
        if base_offset < self._start_offset:
            return True
        at = bisect_left(self._survivors, base_offset)
        return at < len(self._survivors) and self._survivors[at] <= last_offset

    def latest(self, names: Sequence[bytes | None], offsets: Sequence[int]) -> list[bool]:
        """Return for each record below :attr:`end_offset` True if no later record has its key.

        It is False for a record without a key: a compacted log does not retain it, as in Apache Kafka.
        """
        found = list(map(eq, map(self._offsets.get, names, offsets), offsets))
        if None in names:
            return [kept and name is not None for kept, name in zip(found, names, strict=True)]
        return found
