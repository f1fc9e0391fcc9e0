"""The kinds of faults that the checker finds, and a bounded collection of them. Pure."""

from __future__ import annotations

import enum
from collections import Counter

import attrs

MOST = 20


class Kind(enum.Enum):
    """A rule that was broken."""

    LOST = "an acknowledged record, or one that was read, is not in the log at the end"
    FAILED_READ = "a record whose send definitely failed is in the log"
    INVENTED = "the log has a record that no producer sent, or not to there"
    INCONSISTENT = "an offset has different records for two readers or replicas"
    REPLICAS_DIFFER = "two replicas have different batches below the high watermark"
    SKIPPED = "a reader went past an offset"
    STEPPED_BACK = "a reader got an offset again, or an earlier one"
    DUPLICATED = "a record of an idempotent producer is in the log twice"
    REORDERED = "records of a producer are not in the order in which it sent them"
    COMMITTED_BACK = "a committed offset went back, or past the end of the log"
    UNREAD = "a group did not read a record"
    NOT_WHOLE = "the in-sync replicas of a partition are not all of its replicas in time"


@attrs.frozen
class Finding:
    """A place where a rule was broken."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.kind.name}: {self.text}"


class Findings:
    """All findings are counted; of each kind the first are kept.

    :param most: how many of a kind are kept.
    :ivar counts: the number of findings of each kind.
    """

    def __init__(self, most: int = MOST) -> None:
        self.counts: Counter[Kind] = Counter()
        self.kept: list[Finding] = []
        self._most = most

    def add(self, kind: Kind, text: str) -> None:
        """Count a finding, and keep it if it is one of the first of its kind."""
        self.counts[kind] += 1
        if self.counts[kind] <= self._most:
            self.kept.append(Finding(kind, text))
