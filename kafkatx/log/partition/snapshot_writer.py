"""Producer snapshots (``.snapshot``): taken in the reactor thread, encoded and written in a worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafkatx.log.partition.location import LogLocation
from kafkatx.log.producer_state import ProducerState, encode_snapshot
from kafkatx.log.segment.files import SNAPSHOT, file_name

MANY_PRODUCERS = 1000
"""With more producers than this only the newest snapshot is kept waiting: each is a copy of all states."""


class Snapshot(NamedTuple):
    """The producers' states when *offset* was the end of the log."""

    offset: int
    states: Mapping[int, ProducerState]


class SnapshotWriter:
    """Writes the snapshots that each roll of a log asks for, so that recovery starts at the last of them.

    :param cuts: returns how often the log was truncated. A snapshot taken before a truncation is not written:
        it may tell of records that are gone.
    """

    __slots__ = ("_cuts", "_location", "_waiting")

    def __init__(self, location: LogLocation, cuts: Callable[[], int]) -> None:
        self._location = location
        self._cuts = cuts
        self._waiting: dict[str, tuple[Mapping[int, ProducerState], int]] = {}

    def path(self, offset: int) -> str:
        """Return the path of the snapshot at *offset*."""
        return os.path.join(self._location.directory, file_name(offset, SNAPSHOT))

    def wanted(self, offsets: Sequence[int], producers: int) -> Sequence[int]:
        """Return the offsets, of those of several rolls at once, that get a snapshot."""
        return offsets[-1:] if producers > MANY_PRODUCERS else offsets

    def write_later(self, snapshots: list[Snapshot]) -> None:
        """Write snapshots in the worker."""
        if snapshots and len(snapshots[-1].states) > MANY_PRODUCERS:
            self._waiting.clear()
        for offset, states in snapshots:
            self._waiting[self.path(offset)] = states, self._cuts()
        self._location.run(self._write, "writing the producers of")

    def _write(self) -> None:
        """Write what waits. Runs in the worker, while the reactor thread may add more."""
        while self._waiting:
            try:
                path, (states, cuts) = self._waiting.popitem()
            except KeyError:  # the reactor thread has cleared it
                return
            data = encode_snapshot(states)
            if cuts == self._cuts():
                self._location.files.replace(path, data)

    def finisher(self, snapshot: Snapshot, names: set[str]) -> Callable[[], None]:
        """Return what writes the last snapshot of a log that is closed; call it in the worker.

        :param names: gets the directory if it has to be synced after that.
        """
        path = self.path(snapshot.offset)

        def finish() -> None:
            if snapshot.offset and not self._location.files.exists(path):
                data = encode_snapshot(snapshot.states)
                if snapshot.states:
                    self._location.files.replace_file(path, data)
                    names.add(self._location.directory)
                else:
                    self._location.files.replace(path, data, sync=False)

        return finish
