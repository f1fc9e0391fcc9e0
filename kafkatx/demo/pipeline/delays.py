"""Delays of records, counted by milliseconds, and their percentiles. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

PERCENTILES = (50.0, 95.0, 99.0)


class Delays:
    """Counts of delays: one number for each millisecond that occurred."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self._counts: Counter[int] = Counter(counts or {})

    def add(self, delay_ms: int, count: int = 1) -> None:
        """Count a delay. A negative one, of a clock that was set back, counts as 0."""
        self._counts[max(delay_ms, 0)] += count

    @property
    def count(self) -> int:
        """The number of delays."""
        return self._counts.total()

    def percentile(self, percent: float) -> int | None:
        """Return the smallest delay in ms that *percent* of all do not exceed; None if there are none."""
        wanted, passed = self.count * percent / 100, 0
        for delay_ms, count in sorted(self._counts.items()):
            passed += count
            if passed >= wanted:
                return delay_ms
        return None

    def to_object(self) -> dict[str, int]:
        """Return the counts as an object of JSON."""
        return {str(delay_ms): count for delay_ms, count in sorted(self._counts.items())}

    @classmethod
    def merged(cls, objects: Iterable[Mapping[str, int]]) -> Delays:
        """Return the sum of what :meth:`to_object` returned."""
        found = cls()
        for one in objects:
            for delay_ms, count in one.items():
                found.add(int(delay_ms), count)
        return found
