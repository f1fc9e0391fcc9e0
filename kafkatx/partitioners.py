"""The built-in partitioners: they choose the partition of a record. Pure, except for random numbers.

They provide ``kafkatx.interfaces.IPartitioner``, without declaring it: the blocking client uses them, and
does not import Twisted.
"""

from __future__ import annotations

import itertools
import random
from typing import Protocol

MURMUR2_SEED = 0x9747B28C
MURMUR2_FACTOR = 0x5BD1E995
_MASK = 0xFFFFFFFF


class RandomSource(Protocol):
    """The part of ``random.Random`` that is used."""

    def randrange(self, stop: int, /) -> int:
        """Return an integer from 0 to *stop* - 1."""


def murmur2(data: bytes) -> int:
    """Return MurmurHash2 as in the Java client (``Utils.murmur2``), as an unsigned 32-bit integer."""
    size = len(data)
    whole = size & ~3
    value = MURMUR2_SEED ^ size
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * MURMUR2_FACTOR & _MASK
        word = (word ^ word >> 24) * MURMUR2_FACTOR & _MASK
        value = value * MURMUR2_FACTOR & _MASK ^ word
    if size > whole:
        value = (value ^ int.from_bytes(data[whole:], "little")) * MURMUR2_FACTOR & _MASK
    value = (value ^ value >> 13) * MURMUR2_FACTOR & _MASK
    return value ^ value >> 15


class DefaultPartitioner:
    """Partitions by the key's hash, as the Java client; records without a key share one partition per batch.

    This (KIP-480) makes full batches, where a choice for each record would make many small ones.
    """

    def __init__(self, source: RandomSource | None = None) -> None:
        self._source = source or random.Random()
        self._sticky: dict[str, int] = {}

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the partition of a record with this key."""
        if key is not None:
            return (murmur2(key) & 0x7FFFFFFF) % partitions
        chosen = self._sticky.get(topic, partitions)
        if chosen >= partitions:
            chosen = self._sticky[topic] = self._source.randrange(partitions)
        return chosen

    def batch_sent(self, topic: str) -> None:
        """Choose another partition at random for the next records without a key."""
        self._sticky.pop(topic, None)


class RandomPartitioner:
    """Partitions at random, whatever the key."""

    def __init__(self, source: RandomSource | None = None) -> None:
        self._source = source or random.Random()

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return a random partition."""
        return self._source.randrange(partitions)

    def batch_sent(self, topic: str) -> None:
        """Do nothing."""


class RoundRobinPartitioner:
    """Partitions in turn, whatever the key; each topic has its own turn."""

    def __init__(self) -> None:
        self._turns: dict[str, itertools.count[int]] = {}

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the next partition in turn."""
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._turns[topic] = itertools.count()
        return next(turn) % partitions

    def batch_sent(self, topic: str) -> None:
        """Do nothing."""


class HashPartitioner:
    """Java's hash of the key modulo the number of partitions, as Kafka 0.7; random without a key.

    The key is read as a Java String in UTF-8. (0.7 had no partition for Integer.MIN_VALUE; here it is 0.)
    """

    def __init__(self, source: RandomSource | None = None) -> None:
        self._source = source or random.Random()

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the partition of a record with this key."""
        if key is None:
            return self._source.randrange(partitions)
        return java_hash(bytes(key).decode("utf-8", "replace")) % partitions

    def batch_sent(self, topic: str) -> None:
        """Do nothing."""


def java_hash(text: str) -> int:
    """Return the absolute value of ``String.hashCode()``; 0 for Integer.MIN_VALUE, which has none in Java."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8) + units[at + 1]) & _MASK
    return (value if value < 1 << 31 else (1 << 32) - value) & 0x7FFFFFFF
