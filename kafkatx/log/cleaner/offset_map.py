"""The last offset of each key, in bounded memory. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import eq

ENTRY_BYTES = 192
"""What a key costs at most in a dict that was just enlarged: two objects and their place in the table.

The sorted offsets, 16 bytes more while they are made, come when the dict grows no more.
"""

_DIGEST_BYTES = 31
"""As many as fit into the 64 bytes that CPython takes for a bytes object of 16."""


def short(key: bytes) -> bytes:
    """A name of at most 31 bytes for a key: itself, or its hash if it is longer than 30.

    The two kinds differ in length. A cryptographic hash: whoever chooses the keys must not be able to make
    two of them meet, for one of the records would go.
    """
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()


def names_of(keys: Iterable[bytes | None]) -> list[bytes | None]:
    """:func:`short` of every key, None for none."""
    return [key if key is None or len(key) < _DIGEST_BYTES else short(key) for key in keys]


class OffsetMap:
    """Names of keys (see :func:`short`) to the last offset that was seen of each.

    :ivar end_offset: exclusive; records from here on are not judged.
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
        """Whether so many more records fit, all with new keys. The first batch always does."""
        return not self._offsets or len(self._offsets) + count <= self._most

    def add(self, names: Sequence[bytes | None], offsets: Sequence[int]) -> None:
        """Note the offsets, which rise, of some keys; records without a key are passed over."""
        self._offsets.update(zip(names, offsets, strict=True))
        self._offsets.pop(None, None)

    def complete(self, start_offset: int) -> None:
        """No more will be added; of what lies from *start_offset* on, everything was."""
        self._start_offset = start_offset
        self._survivors = array("q", sorted(self._offsets.values()))

    def may_hold(self, base_offset: int, last_offset: int) -> bool:
        """Whether a batch that ends below :attr:`end_offset` may hold a record that is its key's last one.

        Where every record is in the map only those in it are: no need to look into a batch without any.
        """
        if base_offset < self._start_offset:
            return True
        at = bisect_left(self._survivors, base_offset)
        return at < len(self._survivors) and self._survivors[at] <= last_offset

    def latest(self, names: Sequence[bytes | None], offsets: Sequence[int]) -> list[bool]:
        """For each record below :attr:`end_offset` whether no later one has its key.

        A record without a key is none that can be kept in a compacted log, as in Apache Kafka.
        """
        found = list(map(eq, map(self._offsets.get, names, offsets), offsets))
        if None in names:
            return [kept and name is not None for kept, name in zip(found, names, strict=True)]
        return found
