"""Windows of time: equal intervals, the same at each broker that is asked for them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import attrs


@attrs.frozen
class Grain:
    """The distance of the samples of a ring, and the number that it has."""

    step_ms: int
    capacity: int


@attrs.frozen
class Window:
    """Intervals of *step_ms*; number *n* begins at ``n * step_ms``.

    :ivar first: the number of the first one.
    """

    step_ms: int
    first: int
    count: int

    @property
    def begin_ms(self) -> int:
        """The begin of the first interval."""
        return self.first * self.step_ms

    @property
    def times_ms(self) -> list[int]:
        """The begin of each interval."""
        return [number * self.step_ms for number in range(self.first, self.first + self.count)]


def plan(grains: Sequence[Grain], from_ms: int, to_ms: int, points: int, now_ms: int) -> Window:
    """Return the window for a chart.

    :param grains: of the rings, the finest first.
    :param points: intervals at most.
    """
    for grain in grains:
        oldest = now_ms // grain.step_ms - grain.capacity + 1
        if from_ms // grain.step_ms >= oldest:
            break
    first, last = max(from_ms // grain.step_ms, oldest), min(to_ms, now_ms) // grain.step_ms
    wider = max(1, -(-(last - first + 1) // points))
    begin, end = first // wider, last // wider + 1
    begin = max(begin, end - points)  # both ends of the time may be cut
    return Window(grain.step_ms * wider, begin, max(0, end - begin) if first <= last else 0)
