"""The partition of a key of an internal topic, chosen as Apache Kafka does: by Java's hash. Pure."""

from __future__ import annotations

import struct
from functools import lru_cache

CACHED_KEYS = 2048
"""For how many keys the partition is cached."""


def java_hash(text: str) -> int:
    """Return Java's ``String.hashCode``: of UTF-16 code units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        number = (number * 31 + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


@lru_cache(CACHED_KEYS)
def partition_for(key: str, partitions: int) -> int:
    """Return a key's partition, as ``GroupMetadataManager.partitionFor`` does (with ``Utils.abs``)."""
    number = java_hash(key)
    return 0 if number == -(1 << 31) else abs(number) % partitions
