"""Fair shares of what is scarce: turns and places, by address or by principal. Pure.

With N keys that want something, each gets at least every Nth turn (:class:`FairQueue`), or the Nth part of
the places (:class:`FairPlaces`), however much the others ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class FairQueue(Generic[T]):
    """Items that wait for a turn: the keys have turns one after the other, each with its items in order.

    A key that comes back queues up behind those that wait. An item is there once.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, dict[T, None]] = {}  # the next key first
        self._keys: dict[T, Hashable] = {}

    def __len__(self) -> int:
        """Return the number of items that wait."""
        return len(self._keys)

    def __contains__(self, item: object) -> bool:
        """Return True if an item waits."""
        return item in self._keys

    def count(self, key: Hashable) -> int:
        """Return the number of items of a key that wait."""
        return len(self._waiting.get(key, ()))

    def push(self, key: Hashable, item: T) -> None:
        """Add an item of a key."""
        self._waiting.setdefault(key, {})[item] = None
        self._keys[item] = key

    def peek(self) -> T:
        """Return the item that has the next turn.

        :raises StopIteration: none waits.
        """
        return next(iter(next(iter(self._waiting.values()))))

    def pop(self) -> T:
        """Remove and return the item that has the next turn.

        :raises StopIteration: none waits.
        """
        item = self.peek()
        key = self._keys[item]
        self.remove(item)
        if key in self._waiting:
            self._waiting[key] = self._waiting.pop(key)
        return item

    def pop_of(self, may_have: Callable[[Hashable], bool]) -> T | None:
        """Remove and return the next item of a key that may have a turn; None: there is none."""
        for key, items in self._waiting.items():
            if may_have(key):
                item = next(iter(items))
                self.remove(item)
                if key in self._waiting:
                    self._waiting[key] = self._waiting.pop(key)
                return item
        return None

    def remove(self, item: T) -> bool:
        """Remove an item; return False if it did not wait."""
        if item not in self._keys:
            return False
        key = self._keys.pop(item)
        items = self._waiting[key]
        del items[item]
        if not items:
            del self._waiting[key]
        return True


class FairPlaces(Generic[T]):
    """Places that are taken for a while. While all are taken, a key with fewer takes one of another key.

    :ivar most: the number of places.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._holders: dict[Hashable, dict[T, None]] = {}
        self._keys: dict[T, Hashable] = {}

    def __len__(self) -> int:
        """Return the number of places that are taken."""
        return len(self._keys)

    def __contains__(self, holder: object) -> bool:
        """Return True if a holder has a place."""
        return holder in self._keys

    def all(self) -> tuple[T, ...]:
        """Return all holders."""
        return tuple(self._keys)

    def of(self, key: Hashable) -> tuple[T, ...]:
        """Return the holders of a key, the oldest first."""
        return tuple(self._holders.get(key, ()))

    def crowded(self, key: Hashable) -> tuple[T, ...]:
        """Return the holders of whom one has to leave before *key* may have another place, the oldest first.

        They are those of the key with most places; of *key* itself if no other has more. Empty: there is
        room.
        """
        if len(self._keys) < self.most:
            return ()
        own = self._holders.get(key, {})
        largest = max(self._holders.values(), key=len, default=own)
        return tuple(largest if len(largest) > len(own) else own)

    def add(self, key: Hashable, holder: T) -> None:
        """Take a place for a holder; :meth:`crowded` tells before whether there is one."""
        self._holders.setdefault(key, {})[holder] = None
        self._keys[holder] = key

    def remove(self, holder: T) -> bool:
        """Give the place of a holder back; return False if it has none."""
        if holder not in self._keys:
            return False
        key = self._keys.pop(holder)
        holders = self._holders[key]
        del holders[holder]
        if not holders:
            del self._holders[key]
        return True
