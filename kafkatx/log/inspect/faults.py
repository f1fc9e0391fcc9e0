"""Values of a check: the faults of a log, their remedies, and the amount of sound data. Pure."""

from __future__ import annotations

import enum
from typing import NamedTuple

import attrs


class Remedy(enum.Enum):
    """The way in which a repair removes a fault."""

    CUT = "cut the log there"
    REINDEX = "build the indexes anew"
    TRANSACTIONS = "build the indexes of transactions anew"
    REMOVE = "put the file aside"
    EPOCHS = "write the leader epochs anew"
    OFFSETS = "write the checkpoint anew"


class Fault(NamedTuple):
    """One fault: the file, the position (None for the whole file), the problem, and its remedy."""

    path: str
    position: int | None
    problem: str
    remedy: Remedy

    def __str__(self) -> str:
        where = self.path if self.position is None else f"{self.path}:{self.position}"
        return f"{where}: {self.problem}"


class Cut(NamedTuple):
    """The end of the sound part of a log: the position of the first byte to cut off, and its offset."""

    base_offset: int
    position: int
    end_offset: int


@attrs.define
class Amount:
    """A number of batches, records and bytes."""

    batches: int = 0
    records: int = 0
    bytes: int = 0

    def add(self, other: Amount) -> None:
        """Add another amount."""
        self.batches += other.batches
        self.records += other.records
        self.bytes += other.bytes

    def __str__(self) -> str:
        return f"{self.batches:,} batches, {self.records:,} records, {self.bytes:,} bytes"


@attrs.define
class Tally:
    """The data of a log before its first fault and after it; after it only complete batches are counted."""

    segments: int = 0
    sound: Amount = attrs.Factory(Amount)
    lost: Amount = attrs.Factory(Amount)
    cut: Cut | None = None
