"""The longest time without an acknowledgement, per partition. Pure.

Acknowledgements may come in any order: for each partition there is a byte per tenth of a second.
"""

from __future__ import annotations

TICK_S = 0.1
EARLIER_S = 600.0
"""Histories may begin as much earlier than the one that is read first."""
LONGEST_S = 100_000.0


class Gaps:
    """The times at which partitions acknowledged records."""

    def __init__(self) -> None:
        self._origin_s: float | None = None
        self._first, self._last = 0, 0
        self._ticks: dict[str, bytearray] = {}

    def sent(self, time_s: float) -> None:
        """Note that a record was sent: the first and the last send are the ends of the time looked at.

        :raises ValueError: the time is far from all others.
        """
        if self._origin_s is None:
            self._origin_s = time_s - EARLIER_S
            self._first = self._last = self._tick(time_s)
        tick = self._tick(time_s)
        self._first, self._last = min(self._first, tick), max(self._last, tick)

    def acknowledged(self, partition: str, time_s: float) -> None:
        """Note an acknowledgement.

        :raises ValueError: the time is far from all others.
        """
        ticks = self._ticks.setdefault(partition, bytearray())
        tick = self._tick(time_s)
        if tick >= len(ticks):
            ticks.extend(bytes(tick + 1 - len(ticks)))
        ticks[tick] = 1

    def longest(self) -> dict[str, float]:
        """Return the longest gap of each partition in seconds, to a tenth."""
        return {name: round(self._longest(self._ticks[name]) * TICK_S, 1) for name in sorted(self._ticks)}

    def _tick(self, time_s: float) -> int:
        if self._origin_s is None:
            raise ValueError("an acknowledgement before all sends")
        tick = round((time_s - self._origin_s) / TICK_S)
        if not 0 <= tick <= LONGEST_S / TICK_S:
            raise ValueError(f"{time_s} s is too far from the first send")
        return tick

    def _longest(self, ticks: bytearray) -> int:
        longest, last = 0, self._first
        tick = ticks.find(1)
        while tick >= 0:
            longest, last = max(longest, tick - last), tick
            tick = ticks.find(1, tick + 1)
        return max(longest, self._last - last)
