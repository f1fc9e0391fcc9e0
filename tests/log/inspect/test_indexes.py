"""The checks of indexes: each false entry is found, and where."""

from __future__ import annotations

import os
from struct import Struct

from kafkatx.log.inspect.indexes import read_entries
from tests.log.inspect.shared import FIRST, LogCase

INDEX, TIME_INDEX = FIRST.replace(".log", ".index"), FIRST.replace(".log", ".timeindex")


class ReadTests(LogCase):
    def test_entries(self) -> None:
        """Entries have their positions; one that is cut off is left out."""
        path = os.path.join(self.path, "x.index")
        os.makedirs(self.path)
        with open(path, "wb") as file:
            file.write(bytes(7) + b"\1" + bytes(7) + b"\2" + b"cut")
        self.assertEqual(list(read_entries(self.files, path, Struct(">II"))), [(0, 0, 1), (8, 0, 2)])


class IndexTests(LogCase):
    def setUp(self) -> None:
        """Make a log with index entries."""
        super().setUp()
        self.fill()
        self.assertEqual(self.faults(), [])

    def problems(self, name: str) -> list[tuple[int | None, str]]:
        """Return (position, problem) of the faults in a file."""
        found = self.faults()
        return [(one.position, one.problem) for one in found if os.path.basename(one.path) == name]

    def test_position(self) -> None:
        """An entry that points into a batch is a fault at its own position."""
        self.spoil(INDEX, 7, 1)
        ((position, problem),) = self.problems(INDEX)
        self.assertEqual(position, 0)
        self.assertIn("no batch begins at byte", problem)

    def test_offset(self) -> None:
        """An entry with the offset of another batch is a fault."""
        self.spoil(INDEX, 3, 2)
        self.assertEqual([position for position, _ in self.problems(INDEX)], [0])

    def test_cut(self) -> None:
        """A part of an entry at the end is a fault after the whole ones."""
        size = len(self.read(INDEX))
        self.write(INDEX, self.read(INDEX) + b"cut")
        self.assertEqual(self.problems(INDEX), [(size, "the file ends 3 bytes into an entry")])

    def test_time(self) -> None:
        """A time index must have the newest timestamp up to each offset."""
        self.spoil(TIME_INDEX, 7, 1)
        ((position, problem),) = self.problems(TIME_INDEX)
        self.assertEqual(position, 0)
        self.assertIn("the newest is", problem)

    def test_last_entry_is_missing(self) -> None:
        """The time index of a closed segment ends with the segment's newest timestamp."""
        self.write(TIME_INDEX, self.read(TIME_INDEX)[:-12])
        ((_, problem),) = self.problems(TIME_INDEX)
        self.assertIn("newest timestamp", problem)
