"""The samples of a week: each second of ten minutes, each ten seconds of two hours, each five minutes of
seven days. Pure.

A coarser ring gets the mean, or the peak, of the finer one's slots when their time is over. The series of
topics and groups are sampled each ten seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

import attrs

from kafkatx.broker.history.ring_buffer import Ring, fold
from kafkatx.broker.history.series import ROWS, find_series

SECONDS, TENS, MINUTES = (1000, 600), (10_000, 720), (300_000, 2016)
"""Distance in milliseconds and number of slots of each ring."""

MOST_NAMED = 96
"""Series of topics and groups at the same time."""


@attrs.frozen
class Excerpt:
    """A part of some series.

    :ivar times_ms: the begin of each interval.
    :ivar series: a value for each interval; None where nothing is known.
    """

    step_ms: int
    times_ms: Sequence[int]
    series: Mapping[str, Sequence[float | None]]


class History:
    """The rings.

    :ivar rings: the finest first.
    :ivar latest: the newest values of the series that are sampled each second.
    """

    def __init__(self) -> None:
        own = len(ROWS)
        self.rings = (
            Ring(*SECONDS, own),
            Ring(*TENS, own + MOST_NAMED),
            Ring(*MINUTES, own + MOST_NAMED),
        )
        self.latest: Mapping[str, float] = {}
        self._named: Mapping[str, float] = {}

    def add(self, time_ms: int, values: Mapping[str, float], seconds: int = 1) -> None:
        """Add samples.

        :param seconds: the seconds for which they count, of which this is the last one.
        """
        self.latest = values
        last, slot = self.rings[0].last, time_ms // self.rings[0].step_ms
        if last < slot:
            for each in range(max(last + 1, slot - seconds + 1), slot):
                self._put(0, each, values)
        self._put(0, slot, values)

    def add_named(self, values: Mapping[str, float]) -> None:
        """Add samples of topics and groups; they count for all ten seconds that end until the next ones."""
        self._named = values

    def _put(self, level: int, slot: int, values: Mapping[str, float]) -> None:
        """Put samples into a ring; what the slots before have been goes into the next one."""
        ring = self.rings[level]
        before = ring.last
        if 0 <= before < slot and level + 1 < len(self.rings):
            wider = self.rings[level + 1].step_ms // ring.step_ms
            if before // wider != slot // wider:
                self._close(level, before // wider, wider)
        ring.put(slot, values)

    def _close(self, level: int, slot: int, wider: int) -> None:
        ring = self.rings[level]
        folded = {}
        for name in ring.columns:
            series = find_series(name)
            values = (ring.value(name, each) for each in range(slot * wider, (slot + 1) * wider))
            value = fold(values, series is not None and series.peak)
            if not isnan(value):
                folded[name] = value
        if level == 0:
            folded.update(self._named)
        self._put(level + 1, slot, folded)

    def set_back(self, now_ms: int) -> None:
        """Drop samples that are later than now: the clock was set back."""
        for ring in self.rings:
            slot = now_ms // ring.step_ms
            if ring.last > slot:
                ring.move(slot)

    def names(self) -> list[str]:
        """Return the series that have samples."""
        return list(dict.fromkeys(name for ring in self.rings for name in ring.columns))

    def read(self, names: Sequence[str], from_ms: int, to_ms: int, points: int) -> Excerpt:
        """Return a part of some series: of the finest ring that goes back far enough.

        :param points: intervals in the answer at most.
        """
        ring = self._choose(names, from_ms)
        first = max(from_ms // ring.step_ms, ring.first)
        last = min(to_ms // ring.step_ms, max(ring.last, 0))
        wider = max(1, -(-(last - first + 1) // points))
        intervals = range(first // wider, last // wider + 1) if first <= last else range(0)
        if len(intervals) > points:  # both ends of the part are cut
            intervals = intervals[len(intervals) - points :]
        found: dict[str, list[float | None]] = {}
        for name in names:
            series = find_series(name)
            peak = series is not None and series.peak
            found[name] = [
                _known(fold((ring.value(name, at) for at in range(n * wider, (n + 1) * wider)), peak))
                for n in intervals
            ]
        step_ms = ring.step_ms * wider
        return Excerpt(step_ms, [n * step_ms for n in intervals], found)

    def _choose(self, names: Sequence[str], from_ms: int) -> Ring:
        fine = 1 if any(":" in name for name in names) else 0
        for ring in self.rings[fine:]:
            if ring.last >= 0 and from_ms >= (ring.last - ring.capacity) * ring.step_ms:
                return ring
        return self.rings[-1] if self.rings[-1].last >= 0 else self.rings[fine]


def _known(value: float) -> float | None:
    return None if isnan(value) else round(value, 3)
