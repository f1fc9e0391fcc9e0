"""What the application has of a partition and is not done with: what the audit counts when it is done."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

CountRecords: TypeAlias = "Callable[[str, Sequence[int]], None]"
"""Called with a topic and the timestamps (ms) of some of its records, which the application is done with."""


class DeliveredRecords:
    """Offsets and timestamps of records that were handed out, in order.

    :param tally: hears of those that are done.
    """

    __slots__ = ("_parts", "_tally", "_topic")

    def __init__(self, topic: str, tally: CountRecords) -> None:
        self._topic = topic
        self._tally = tally
        self._parts: list[tuple[list[int], list[int]]] = []

    def add(self, offsets: list[int], times_ms: list[int]) -> None:
        """Take records that are handed out now; there is one at least."""
        self._parts.append((offsets, times_ms))

    def take_back(self, offset: int) -> None:
        """Forget the records from *offset* on: nobody was given them, or they will be handed out again."""
        parts = self._parts
        while parts and parts[-1][0][-1] >= offset:
            offsets, times_ms = parts.pop()
            end = bisect_left(offsets, offset)
            if end:
                parts.append((offsets[:end], times_ms[:end]))

    def done(self) -> None:
        """Count all of them."""
        parts, self._parts = self._parts, []
        for _, times_ms in parts:
            self._tally(self._topic, times_ms)
