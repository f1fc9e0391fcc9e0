"""The result of an append, and what undoes its effect on the producers' state. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import attrs
from zope.interface import implementer

from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IAppended
from kafkatx.log.append.follower import FollowedBatches
from kafkatx.log.producer_state import ProducerState
from kafkatx.log.transactions.ended import EndedTransaction


@implementer(IAppended)
class Appended(NamedTuple):
    """See IAppended."""

    error: int
    message: str | None
    base_offset: int
    last_offset: int
    log_append_time_ms: int
    record_errors: Sequence[tuple[int, str]]


@attrs.define
class StagedChanges:
    """The changes that staged batches make to a log besides its records; most of a leader's make none.

    :ivar log_end_offset: the log's end before them. The first one may begin at another offset.
    :ivar epoch_starts: leader epochs that they begin, and their start offsets.
    :ivar forgets_epochs: True if the log must forget its epochs before it adds those.
    :ivar gap_end: the base offset of the last one with a gap before it; 0 if there is none.
    :ivar ended: the transactions that end with one of them.
    """

    log_end_offset: int
    epoch_starts: list[tuple[int, int]] = attrs.field(factory=list)
    forgets_epochs: bool = False
    gap_end: int = 0
    ended: list[EndedTransaction] = attrs.field(factory=list)

    def add(self, found: FollowedBatches) -> None:
        """Add the changes that further batches make."""
        if found.forgets_epochs:
            self.forgets_epochs, self.epoch_starts = True, []
        self.epoch_starts += found.epoch_starts
        self.gap_end = found.gap_end or self.gap_end


class Undo(NamedTuple):
    """A producer's state from before a staged batch."""

    base_offset: int
    producer_id: int
    state: ProducerState | None


def failed(code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]] = ()) -> Appended:
    """Return the result of an append that is refused."""
    return Appended(code, message, -1, -1, -1, record_errors)
