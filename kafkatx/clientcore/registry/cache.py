"""A cache of what was made of schemas: bounded; a hit is one look-up in a dict; failures are kept a while."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)

NEGATIVE_S = 5.0
"""Seconds for which a failure is kept: an unknown id does not cost a request for each record."""


class SchemaCache(Generic[K, V]):
    """A cache of at most *capacity* values by key; if it is full, the one that was added first gives way.

    :ivar found: the values; to be read directly, not changed.
    """

    def __init__(self, capacity: int, seconds: Callable[[], float]) -> None:
        """Make an empty cache.

        :param seconds: a monotonic clock.
        """
        self.found: dict[K, V] = {}
        self._capacity = capacity
        self._seconds = seconds
        self._failed: dict[K, tuple[Exception, float]] = {}

    def add(self, key: K, value: V) -> None:
        """Keep a value."""
        self._failed.pop(key, None)
        if key not in self.found and len(self.found) >= self._capacity:
            del self.found[next(iter(self.found))]
        self.found[key] = value

    def discard(self, key: K) -> None:
        """Forget the value of a key."""
        self.found.pop(key, None)

    def fail(self, key: K, error: Exception) -> None:
        """Keep a failure, for :data:`NEGATIVE_S`."""
        if key not in self._failed and len(self._failed) >= self._capacity:
            del self._failed[next(iter(self._failed))]
        self._failed[key] = error, self._seconds() + NEGATIVE_S

    def error(self, key: K) -> Exception | None:
        """Return the failure of a key; None if there is none, or it is too old."""
        if key not in self._failed:
            return None
        error, until = self._failed[key]
        if self._seconds() < until:
            return error
        del self._failed[key]
        return None

    def missing(self, keys: Iterable[K]) -> list[K]:
        """Return the keys, each once, of which neither a value nor a failure is kept."""
        return [key for key in dict.fromkeys(keys) if key not in self.found and self.error(key) is None]
