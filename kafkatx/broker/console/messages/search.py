"""A search: bounded in records and bytes, over all partitions in the order of time.

Records are sent while they are found; the end says how to go on. It touches the clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import attrs

from kafkatx.broker.console.messages.merge import Merge
from kafkatx.broker.console.messages.query import BEFORE, OFFSET, OFFSETS, TIME, Query, write_origin
from kafkatx.broker.console.messages.steps import Steps, Wanted
from kafkatx.broker.console.messages.topic_reader import Bounds, TopicReader
from kafkatx.views.requests import Found, StepResult
from kafkatx.web.event_stream import EventStream

PROGRESS_S: Final = 0.25
MOST_HELD_BYTES: Final = 4 << 20
"""The size of the records of all partitions that wait to be sent, but for one of each."""

LEAST_HELD_BYTES: Final = 64 << 10
MOST_WINDOW_BYTES: Final = 8 << 20
FIRST_WINDOW: Final = 64
GROWTH: Final = 4
"""A search for the newest records goes back by this many offsets at first, and by more each time."""


@attrs.define
class Place:
    """The progress in one partition.

    :ivar position: the next offset to be read; *until*: the end, exclusive.
    :ivar window: newest first: the number of offsets of the next step back; *position* then is the first
        offset that may be found.
    """

    position: int
    until: int
    window: int = FIRST_WINDOW


@attrs.define
class Window:
    """The last records of a range that are wanted.

    :ivar is_whole: True if there are no others that are wanted in the range.
    :ivar first_timestamp: the earliest of all that were seen; -1: none.
    """

    found: list[Found] = attrs.Factory(list)
    is_whole: bool = True
    first_timestamp: int = -1

    def add(self, result: StepResult, most: int) -> None:
        """Add what a step has found behind them; keep at most *most*."""
        if result.left_out or len(self.found) + result.matched > most:
            self.is_whole = False
        found = result.found if result.left_out else [*self.found, *result.found]
        self.found = found[-most:]
        earliest = [one for one in (self.first_timestamp, result.first_timestamp) if one >= 0]
        self.first_timestamp = min(earliest, default=-1)

    def oldest(self) -> int | None:
        """Return the earliest timestamp of what was looked at for good; None if there is none."""
        if not self.is_whole:
            return self.found[0].timestamp
        return self.first_timestamp if self.first_timestamp >= 0 else None


class Search:
    """A search.

    :param seconds: the time of a monotonic clock.
    """

    def __init__(
        self,
        query: Query,
        reader: TopicReader,
        steps: Steps,
        stream: EventStream,
        seconds: Callable[[], float],
    ) -> None:
        self._query = query
        self._reader = reader
        self._steps = steps
        self._stream = stream
        self._seconds = seconds
        self._chosen: Sequence[int] = query.chosen(reader.count)
        self._backwards = query.origin.newest_first
        self._merge = Merge(self._chosen, self._backwards)
        self._places: dict[int, Place] = {}
        self._left = query.count
        self._told_s = seconds()
        shares = max(1, len(self._chosen))
        self._most_bytes = max(LEAST_HELD_BYTES, MOST_HELD_BYTES // shares)
        self._most = max(4, 2 * query.count // shares + 1)

    async def run(self) -> None:
        """Search, and send what is found; at the end tell if there is more.

        :raises KafkaTXError: the search cannot go on.
        """
        for number in self._chosen:
            self._places[number] = await self._begin(number)
        advance: Callable[[int], Awaitable[None]] = self._go_back if self._backwards else self._go_on
        while self._left and self._steps.tally.bytes < self._query.most_bytes:
            behind = self._merge.next_partition()
            if behind is None:
                break
            await advance(behind)
            await self._send(self._merge.ready())
            self._tell()
        await self._send(self._merge.rest())
        self._stream.send("end", {**self._progress(), "more": self._has_more(), "next": self._next()})

    async def _begin(self, number: int) -> Place:
        bounds, origin = await self._reader.bounds(number), self._query.origin
        place = Place(bounds.start, bounds.end)
        if origin.kind == TIME:
            found = await self._reader.offset_at(number, origin.number)
            place.position = bounds.end if found is None else found
        elif origin.kind == OFFSET:
            place.position = _within(origin.number, bounds)
        elif origin.kind == OFFSETS:
            place.position = _within(origin.offsets.get(number, bounds.end), bounds)
        elif origin.kind == BEFORE:
            place.until = _within(origin.offsets.get(number, bounds.start), bounds)
        if place.position >= place.until:
            self._merge.add(number, (), None, True)
        return place

    # --- from old to new

    async def _go_on(self, number: int) -> None:
        place = self._places[number]
        wanted = Wanted(place.position, place.until, min(self._most, self._left), self._most_bytes)
        step = await self._steps.make(number, wanted)
        place.position = place.until if step.was_empty else step.result.position
        timestamp = step.result.last_timestamp
        done = place.position >= place.until
        self._merge.add(number, step.result.found, timestamp if timestamp >= 0 else None, done)

    # --- from new to old

    async def _go_back(self, number: int) -> None:
        """Look at the records of a window before the end, and make its beginning the new end."""
        place = self._places[number]
        place.window = max(place.window, min(self._most, self._left))
        start = self._window_start(number, place)
        before_bytes = self._steps.tally.bytes
        window = await self._look_at_window(number, start, place.until)
        if window.is_whole:
            place.until = start
            if self._steps.tally.bytes - before_bytes < MOST_WINDOW_BYTES // GROWTH:
                place.window *= GROWTH
        else:
            place.until = window.found[0].offset
        done = place.until <= place.position
        self._merge.add(number, reversed(window.found), window.oldest(), done)

    def _window_start(self, number: int, place: Place) -> int:
        """Return the beginning of the next window: one that is not too large, as far as that is known."""
        start = max(place.position, place.until - place.window)
        while place.window > FIRST_WINDOW:
            size = self._reader.size(number, start, place.until)
            if size is None or size <= MOST_WINDOW_BYTES:
                break
            place.window //= 2
            start = max(place.position, place.until - place.window)
        return start

    async def _look_at_window(self, number: int, start: int, until: int) -> Window:
        """Return the last records in a range."""
        most, position, window = min(self._most, self._left), start, Window()
        while position < until:
            step = await self._steps.make(number, Wanted(position, until, most, self._most_bytes, True))
            if step.was_empty:
                break
            window.add(step.result, most)
            position = max(step.result.position, position + 1)
            self._tell()
        return window

    # --- what is sent

    async def _send(self, records: Iterable[tuple[int, Found]]) -> None:
        """Send records as fast as the client takes them, and no more than are wanted."""
        for _, found in islice(records, self._left):
            if self._stream.is_behind:
                await self._stream.drained()
            self._left -= 1
            self._stream.send_encoded("record", found.data)

    def _tell(self) -> None:
        now_s = self._seconds()
        if now_s - self._told_s >= PROGRESS_S and not self._stream.is_behind:
            self._told_s = now_s
            self._stream.send("progress", self._progress())

    def _progress(self) -> dict[str, Any]:
        positions = {str(number): str(offset) for number, offset in self._offsets().items()}
        return {**self._steps.tally.shown(), "positions": positions}

    def _offsets(self) -> dict[int, int]:
        """Return the offsets to go on from; newest first: the ends, exclusive, of what is left."""
        found = {}
        for number, place in self._places.items():
            head = self._merge.head(number)
            if self._backwards:
                found[number] = place.until if head is None else head + 1
            else:
                found[number] = place.position if head is None else head
        return found

    def _has_more(self) -> bool:
        return len(self._merge) > 0 or self._merge.next_partition() is not None

    def _next(self) -> str | None:
        """Return the parameter ``from`` of a search that goes on."""
        if not self._has_more():
            return None
        return write_origin(BEFORE if self._backwards else OFFSETS, self._offsets())


def _within(offset: int, bounds: Bounds) -> int:
    return min(max(offset, bounds.start), bounds.end)
