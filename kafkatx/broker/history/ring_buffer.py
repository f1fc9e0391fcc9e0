"""A ring of samples at equal distances in time, a column for each series. Pure.

A sample belongs to a slot: the time divided by the distance. If the clock was set back, the samples of later
slots are dropped; if it was set forward, or nothing was sampled, slots stay empty.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import isnan, nan

from kafkatx.broker.history.window import Grain

EMPTY = nan


class Ring:
    """A ring.

    :ivar step_ms: the distance of two slots.
    :ivar capacity: the number of slots.
    :ivar most: columns at the same time; a further one takes the place of the one that ended first.
    :ivar last: the newest slot; -1 before the first sample.
    :ivar columns: the values of each series (float32), slot *n* at *n* modulo the capacity.
    """

    def __init__(self, grain: Grain, most: int) -> None:
        self.step_ms = grain.step_ms
        self.capacity = grain.capacity
        self.most = most
        self.last = -1
        self.columns: dict[str, array[float]] = {}

    def put(self, slot: int, values: Mapping[str, float]) -> None:
        """Set the values of a slot, which is the newest one from then on."""
        self.move(slot)
        at = slot % self.capacity
        for name, value in values.items():
            column = self.columns.get(name)
            if column is None:
                column = self._add(name)
            column[at] = value

    def move(self, slot: int) -> None:
        """Make a slot the newest one: empty those in between, or drop later ones."""
        last, self.last = self.last, slot
        if last < 0 or slot == last:
            return
        first, end = (last + 1, slot + 1) if slot > last else (slot + 1, last + 1)
        if end - first >= self.capacity:
            first, end = 0, self.capacity
        for column in self.columns.values():
            for each in range(first, end):
                column[each % self.capacity] = EMPTY

    def _add(self, name: str) -> array[float]:
        if len(self.columns) >= self.most:
            del self.columns[min(self.columns, key=self._newest)]
        column = self.columns[name] = array("f", [EMPTY]) * self.capacity
        return column

    def _newest(self, name: str) -> int:
        """Return the newest slot of a series that has a value."""
        column = self.columns[name]
        for slot in range(self.last, self.last - self.capacity, -1):
            if not isnan(column[slot % self.capacity]):
                return slot
        return -1

    @property
    def first(self) -> int:
        """The oldest slot."""
        return max(0, self.last - self.capacity + 1)

    def read(self, name: str, first: int, wider: int, count: int, peak: bool) -> Sequence[float]:
        """Return values, each of *wider* slots: their mean, or their highest value; NaN where none is known.

        :param first: the first slot.
        """
        column = self.columns.get(name)
        if column is None:
            return [EMPTY] * count
        begins = range(first, first + wider * count, wider)
        return [_fold(self._known(column, begin, begin + wider), peak) for begin in begins]

    def _known(self, column: array[float], first: int, end: int) -> array[float]:
        """Return the values of those slots that the ring has."""
        begin = max(first, self.first)
        length = min(end, self.last + 1) - begin
        if length <= 0:
            return array("f")
        at = begin % self.capacity
        straight = column[at : at + min(length, self.capacity - at)]
        return straight if len(straight) == length else straight + column[: length - len(straight)]


def _fold(values: Sequence[float], peak: bool) -> float:
    """Return the mean or the highest of the values that are known."""
    total = sum(values)
    if isnan(total):
        values = [value for value in values if not isnan(value)]
        total = sum(values)
    if not values:
        return EMPTY
    return max(values) if peak else total / len(values)
