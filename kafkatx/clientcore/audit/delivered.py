"""Records that were handed out to the application; the audit counts them when it has finished them. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

CountRecords: TypeAlias = "Callable[[str, Sequence[int]], None]"
"""Called with a topic and the timestamps (ms) of records that the application has finished."""


class DeliveredRecords:
    """Offsets and timestamps of the records of one partition that were handed out, in order.

    :param tally: called with the timestamps of finished records.
    """

    __slots__ = ("_parts", "_tally", "_topic")

    def __init__(self, topic: str, tally: CountRecords) -> None:
        self._topic = topic
        self._tally = tally
        self._parts: list[tuple[list[int], list[int]]] = []

    def add(self, offsets: list[int], times_ms: list[int]) -> None:
        """Add records that are handed out now; at least one."""
        self._parts.append((offsets, times_ms))

    def take_back(self, offset: int) -> None:
        """Forget the records from *offset* on: they will be handed out again."""
        parts = self._parts
        while parts and parts[-1][0][-1] >= offset:
            offsets, times_ms = parts.pop()
            end = bisect_left(offsets, offset)
            if end:
                parts.append((offsets[:end], times_ms[:end]))

    def done(self) -> None:
        """Count all of them: the application has finished them."""
        parts, self._parts = self._parts, []
        for _, times_ms in parts:
            self._tally(self._topic, times_ms)
