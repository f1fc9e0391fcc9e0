"""A live tail: records as they come, at a rate that people can look at. It touches the clock.

What comes faster is left out, and counted: a tail never falls behind, and costs little however busy its topic
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.console.messages.query import MOST_PARTITIONS, Query
from kafkatx.broker.console.messages.steps import Steps, Wanted
from kafkatx.broker.console.messages.topic_reader import TopicReader
from kafkatx.views.requests import Found
from kafkatx.web.event_stream import EventStream

ROUND_S: Final = 0.25
ROUND_RECORDS: Final = 50
ROUND_BYTES: Final = 1 << 20
"""Records that are shown in one round, and bytes that are looked at for them."""

PROGRESS_S: Final = 1.0
LONGEST_S: Final = 3600.0
"""Seconds after which a tail ends; the page asks for another one."""


@attrs.define
class Room:
    """The room that is left in a round."""

    records: int = ROUND_RECORDS
    size: int = ROUND_BYTES

    def __bool__(self) -> bool:
        return self.records > 0 and self.size > 0


class Tail:
    """A tail."""

    def __init__(
        self, query: Query, reader: TopicReader, steps: Steps, stream: EventStream, clock: IReactorTime
    ) -> None:
        self._query = query
        self._reader = reader
        self._steps = steps
        self._stream = stream
        self._clock = clock
        self._positions: dict[int, int] = {}
        self._skipped = 0
        self._shown = 0
        self._rounds = 0

    async def run(self) -> None:
        """Send records as they come.

        :raises KafkaTXError: the tail cannot go on: its topic was deleted, for example.
        """
        began_s = told_s = self._clock.seconds()
        for number in self._query.chosen(self._reader.count):
            self._positions[number] = (await self._reader.bounds(number)).end
        self._stream.send("progress", self._progress())
        while self._clock.seconds() - began_s < LONGEST_S:
            await deferLater(self._clock, ROUND_S)
            self._steps.check()
            if self._stream.is_behind:
                continue
            await self._round()
            if self._clock.seconds() - told_s >= PROGRESS_S:
                told_s = self._clock.seconds()
                self._stream.send("progress", self._progress())
        self._stream.send("end", {**self._progress(), "more": True, "next": None})

    async def _round(self) -> None:
        self._add_partitions()
        room, found = Room(), list[Found]()
        for number in self._order():
            found += await self._read(number, room)
        found.sort(key=lambda one: one.timestamp)
        for one in found:
            if self._stream.is_behind:
                await self._stream.drained()
            self._shown += 1
            self._stream.send_encoded("record", one.data)

    def _add_partitions(self) -> None:
        """Follow partitions that the topic has got meanwhile, if all are followed."""
        count = len(self._reader.check().partitions)
        if self._query.partitions is None:
            for number in range(len(self._positions), min(count, MOST_PARTITIONS)):
                self._positions[number] = 0

    def _order(self) -> Sequence[int]:
        """Return the partitions, another one first in each round: all get their share of the room."""
        numbers = list(self._positions)
        self._rounds += 1
        first = self._rounds % len(numbers)
        return numbers[first:] + numbers[:first]

    async def _read(self, number: int, room: Room) -> list[Found]:
        """Return what has come to a partition, as far as there is room; skip the rest."""
        found: list[Found] = []
        end = await self._reader.end(number)
        position = min(self._positions[number], end)
        while position < end:
            if not room:
                self._skipped += end - position
                position = end
                break
            step = await self._steps.make(number, Wanted(position, end, room.records, room.size), room.size)
            if step.was_empty:
                position = end
                break
            found += step.result.found
            room.records -= len(step.result.found)
            room.size -= max(step.result.scanned_bytes, 1)
            position = max(step.result.position, position + 1)
        self._positions[number] = position
        return found

    def _progress(self) -> dict[str, Any]:
        positions = {str(number): str(offset) for number, offset in self._positions.items()}
        return {
            **self._steps.tally.shown(),
            "shown": self._shown,
            "skippedOffsets": str(self._skipped),
            "positions": positions,
        }
