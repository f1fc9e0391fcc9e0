"""Records that only the source has: explained by compaction if the copy has a later one with their key.

A mirror compacts its copy itself, so the copy may be ahead of its source. Pure: records in, offsets out.
Records without a value are not followed: they may be gone for good (``delete.retention.ms``).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from kafkatx.records.batch import Record

MOST_KEYS = 500_000
"""Keys that are followed at a time, about 100 bytes each."""

KEY_BYTES = 16


class Superseded:
    """The records of one partition that the copy lacks, in the order of offsets.

    :ivar too_many: records that are not followed because there are :data:`MOST_KEYS` already.
    """

    def __init__(self) -> None:
        self.too_many = 0
        self._missing: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._missing)

    def lacks(self, record: Record) -> None:
        """Take a record that only the source has."""
        if record.value is None or record.key is None:
            return
        key = _digest(record.key)
        if len(self._missing) >= MOST_KEYS and key not in self._missing:
            self.too_many += 1
        else:
            self._missing[key] = record.offset

    def sees(self, records: Iterable[Record]) -> None:
        """Take records of the copy."""
        missing = self._missing
        for record in records:
            if not missing:
                return
            if record.key is not None:
                key = _digest(record.key)
                if missing.get(key, record.offset) < record.offset:
                    del missing[key]

    def offsets(self) -> list[int]:
        """Return the offsets of the newest missing records whose key the copy does not have later."""
        return sorted(self._missing.values())


def _digest(key: bytes) -> bytes:
    return key if len(key) <= KEY_BYTES else blake2b(key, digest_size=KEY_BYTES + 1).digest()
