"""The copiers of one client, what they have copied, and its check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from tests.copiers import checks
from tests.copiers.checks import Count, Place, Seen
from tests.copiers.processes import Copier
from tests.copiers.rows import Row


@attrs.define
class Copied:
    """The copiers of one client, and what was counted of them."""

    row: Row
    copiers: list[Copier]
    count: Count = attrs.field(factory=Count)
    given: int = 0
    found: int = 0
    committed: int = 0
    torn: int = 0

    @property
    def source(self) -> str:
        """The topic that is copied."""
        return f"in.{self.row.name}"

    @property
    def target(self) -> str:
        """The topic with the copies."""
        return f"out.{self.row.name}"

    def __str__(self) -> str:
        ended: Counter[str] = sum((copier.ended for copier in self.copiers), Counter())
        reasons: Counter[str] = sum((copier.reasons for copier in self.copiers), Counter())
        parts = [f"{self.given} records in, {self.found} out", str(self.count)]
        if not self.row.verbatim:
            parts.append(f"{self.torn} transactions torn, or aborted and seen")
            parts.append(f"{self.committed} committed, {ended['abort']} aborted on purpose")
            parts.append(f"{ended['error']} aborted for errors {dict(reasons) or ''}")
        parts.append(f"{len(self.copiers)} members, killed {sum(one.killed for one in self.copiers)} times")
        parts.append(f"{sum(one.gave_up for one in self.copiers)} gave up")
        if ended["stuck"]:
            parts.append(f"{ended['stuck']} calls of the client never returned")
        return f"{self.row.name}: {'; '.join(parts)}"

    def check(self, final: Mapping[Place, Sequence[Seen]]) -> list[str]:
        """Count, and return what is wrong.

        :param final: all committed records of each partition.
        """
        faults: list[str] = []
        targets = {place: seen for place, seen in final.items() if place[0] == self.target}
        for (topic, partition), seen in targets.items():
            given = final[self.source, partition]
            self.given, self.found = self.given + len(given), self.found + len(seen)
            checks.copied(given, seen, f"{topic}-{partition}", self.count, faults)
        if not self.row.verbatim:
            wrong = checks.torn(targets)
            self.torn, self.committed = len(wrong), len(checks.transactions(targets))
            faults += wrong
        return faults
