"""The samples of a week: each second of ten minutes, each ten seconds of two hours, each five minutes of
seven days. Pure.

A coarser ring gets the mean, or the peak, of the finer one's slots when their time is over. The series of
topics and groups are sampled each ten seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from kafkatx.broker.history.ring_buffer import EMPTY, Ring
from kafkatx.broker.history.series import ROWS, find_series
from kafkatx.broker.history.window import Grain, Window, plan

GRAINS = (Grain(1000, 600), Grain(10_000, 720), Grain(300_000, 2016))

MOST_NAMED = 96
"""Series of topics and groups at the same time."""

MOST_SERIES, MOST_POINTS = 20, 1000
"""Series and intervals that a request may ask for."""


class History:
    """The rings.

    :ivar rings: the finest first.
    :ivar latest: the newest values of the series that are sampled each second.
    """

    def __init__(self) -> None:
        own = len(ROWS)
        self.rings = (
            Ring(GRAINS[0], own),
            Ring(GRAINS[1], own + MOST_NAMED),
            Ring(GRAINS[2], own + MOST_NAMED),
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
            (value,) = ring.read(name, slot * wider, wider, 1, series is not None and series.peak)
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

    def read(self, name: str, window: Window) -> Sequence[float]:
        """Return a series, of the finest ring that goes back far enough; NaN where nothing is known."""
        fits = [ring for ring in self.rings if window.step_ms % ring.step_ms == 0 and name in ring.columns]
        if not fits:
            return [EMPTY] * window.count
        far = (ring for ring in fits if window.begin_ms >= ring.first * ring.step_ms)
        ring = next(far, fits[-1])
        series = find_series(name)
        wider = window.step_ms // ring.step_ms
        return ring.read(name, window.first * wider, wider, window.count, series is not None and series.peak)


def plan_window(names: Sequence[str], from_ms: int, to_ms: int, points: int, now_ms: int) -> Window:
    """Return the window for a chart of some series.

    :param points: intervals at most.
    """
    fine = 1 if any(":" in name for name in names) else 0
    return plan(GRAINS[fine:], from_ms, to_ms, points, now_ms)
