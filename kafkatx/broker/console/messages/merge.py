"""Records of several partitions in the order of time, as far as each partition has them in it. Pure.

A record may go when no partition can still bring an earlier one (in the other direction: a later one), judged
by the last timestamp that was seen there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from kafkatx.views.requests import Found

_UNKNOWN: Final = float("-inf")


@attrs.define
class _Part:
    found: deque[Found] = attrs.Factory(deque)
    frontier: float = _UNKNOWN
    done: bool = False


class Merge:
    """The records of partitions that are not sent yet.

    :param newest_first: the direction; each partition then brings its newest records first.
    """

    def __init__(self, partitions: Sequence[int], newest_first: bool = False) -> None:
        self._parts = {number: _Part() for number in partitions}
        self._sign = -1 if newest_first else 1

    def add(self, number: int, found: Iterable[Found], frontier: int | None, done: bool) -> None:
        """Add records of a partition, in the direction.

        :param frontier: the last timestamp that was seen there, if any was; *done*: there are no more.
        """
        part = self._parts[number]
        part.found.extend(found)
        part.done = done
        if frontier is not None:
            part.frontier = max(part.frontier, self._sign * frontier)

    def next_partition(self) -> int | None:
        """Return the partition to be read next: the one that is behind; None if all are done."""
        waiting = [(part.frontier, number) for number, part in self._parts.items() if not part.done]
        empty = [one for one in waiting if not self._parts[one[1]].found]
        return min(empty or waiting)[1] if waiting else None

    def ready(self) -> Iterator[tuple[int, Found]]:
        """Yield the records that may go, with their partitions."""
        while True:
            bound, first = self._first()
            if first is None or self._at(first) > bound:
                return
            yield first, self._parts[first].found.popleft()

    def rest(self) -> Iterator[tuple[int, Found]]:
        """Yield all records that are left."""
        while (first := self._first()[1]) is not None:
            yield first, self._parts[first].found.popleft()

    def _first(self) -> tuple[float, int | None]:
        """Return the least frontier of partitions to be read first, and the partition of the first record."""
        bound, first = float("inf"), None
        for number, part in self._parts.items():
            if not part.found:
                bound = bound if part.done else min(bound, part.frontier)
            elif first is None or self._at(number) < self._at(first):
                first = number
        return bound, first

    def _at(self, number: int) -> int:
        return self._sign * self._parts[number].found[0].timestamp

    def head(self, number: int) -> int | None:
        """Return the offset of the first record of a partition that is left; None if there is none."""
        found = self._parts[number].found
        return found[0].offset if found else None

    def __len__(self) -> int:
        """Return the number of records that are left."""
        return sum(len(part.found) for part in self._parts.values())
