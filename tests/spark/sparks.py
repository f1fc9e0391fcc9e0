"""Spark's execution of a stream of a Python data source, in memory: its MicroBatchExecution with a
checkpoint.

Everything between Spark and the reader goes through JSON, as it does there. Each run has a reader of its own,
as it has a process of its own there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kafkatx.spark.offsets import OffsetRange

STEPS = ("initialOffset", "latestOffset", "written", "partitions", "delivered", "committed")


class Killed(Exception):
    """The driver was killed."""


class Spark:
    """One query with its checkpoint and a sink that takes each batch once, by its number.

    :ivar offsets: the checkpoint's offset log: the end of each batch.
    :ivar delivered: what the tasks of each batch have read.
    :param make_reader: the data source's reader.
    :param with_limits: whether Spark gives latestOffset a start and a limit: since 4.2.
    """

    def __init__(self, make_reader: Callable[[], Any], with_limits: bool = True) -> None:
        self.offsets: list[str] = []
        self.commits = 0
        self.delivered: dict[int, list[OffsetRange]] = {}
        self.initial: list[str] = []
        self._make_reader = make_reader
        self._with_limits = with_limits
        self._kill_at: tuple[str, int] | None = None

    def run(self, triggers: int, kill_at: tuple[str, int] | None = None) -> None:
        """Start the query, let it run for so many triggers, stop it.

        :param kill_at: the driver dies when it has come to this step in this trigger.
        """
        self._kill_at = kill_at
        self._reader = self._make_reader()
        if self.offsets:
            # AcceptsLatestSeenOffset
            self._reader.partitions(json.loads(self.offsets[-1]), json.loads(self.offsets[-1]))
        try:
            for trigger in range(triggers):
                self._trigger(trigger)
        except Killed:
            pass
        self._reader.stop()

    def _trigger(self, trigger: int) -> None:
        batch = self.commits
        start = self.offsets[batch - 1] if batch else None
        if len(self.offsets) == batch:
            end = self._end(start, trigger)
            if end == start:
                return
            self.offsets.append(end)
            self._reached("written", trigger)
        self._run_batch(batch, start, trigger)

    def _end(self, start: str | None, trigger: int) -> str:
        if not self._with_limits:
            return json.dumps(self._reader.latestOffset())
        begin = self._initial(trigger) if start is None else start
        limit = self._reader.getDefaultReadLimit()
        end = json.dumps(self._reader.latestOffset(json.loads(begin), limit))
        self._reached("latestOffset", trigger)
        return end

    def _initial(self, trigger: int) -> str:
        offset = json.dumps(self._reader.initialOffset())
        self.initial.append(offset)
        self._reached("initialOffset", trigger)
        return offset

    def _run_batch(self, batch: int, start: str | None, trigger: int) -> None:
        begin = self._initial(trigger) if start is None else start
        planned = self._reader.partitions(json.loads(begin), json.loads(self.offsets[batch]))
        self._reached("partitions", trigger)
        ranges = [item.value for item in planned]
        if self.delivered.setdefault(batch, ranges) != ranges:
            raise AssertionError(f"batch {batch} was {self.delivered[batch]} and is now {ranges}")
        self._reached("delivered", trigger)
        self.commits += 1
        self._reached("committed", trigger)

    def _reached(self, step: str, trigger: int) -> None:
        if (step, trigger) == self._kill_at:
            raise Killed
