"""What can be wrong with a log, and what would mend it."""

from __future__ import annotations

import enum
from typing import NamedTuple

import attrs


class Remedy(enum.Enum):
    """What a repair does about a fault."""

    CUT = "cut the log there"
    REINDEX = "build the indexes anew"
    REMOVE = "put the file aside"
    EPOCHS = "write the leader epochs anew"
    OFFSETS = "write the checkpoint anew"


class Fault(NamedTuple):
    """One fault: in which file, at which byte (None: the file as a whole), what, and its remedy."""

    path: str
    position: int | None
    problem: str
    remedy: Remedy

    def __str__(self) -> str:
        where = self.path if self.position is None else f"{self.path}:{self.position}"
        return f"{where}: {self.problem}"


class Cut(NamedTuple):
    """Where a log ceases to be sound: the first byte that cannot stay, and the offset it would have had."""

    base_offset: int
    position: int
    end_offset: int


@attrs.define
class Amount:
    """How much there is of something."""

    batches: int = 0
    records: int = 0
    bytes: int = 0

    def add(self, other: Amount) -> None:
        """Count what is in another, too."""
        self.batches += other.batches
        self.records += other.records
        self.bytes += other.bytes

    def __str__(self) -> str:
        return f"{self.batches:,} batches, {self.records:,} records, {self.bytes:,} bytes"


@attrs.define
class Tally:
    """What a log has before its first fault and after it; of the latter only whole batches are counted."""

    segments: int = 0
    sound: Amount = attrs.Factory(Amount)
    lost: Amount = attrs.Factory(Amount)
    cut: Cut | None = None
