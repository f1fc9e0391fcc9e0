"""The committed offsets of groups, which never go back. Pure.

A fetched offset is at least each offset that was fetched, or whose commit was acknowledged, before it was
asked for. A commit without an answer may be applied late: from a connection that was cut, after a later one
of the same member. Its offset is no fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from tests.cluster.checker.contents import Contents
from tests.cluster.checker.findings import Findings, Kind
from tests.cluster.checker.history import parse

_Known = tuple[float, float, int, str]
"""Time at which it was asked for (infinite for a commit), time from which it is known, offset, who."""


class Commits:
    """The histories of all members of all groups. They are few: a commit is for many records.

    :ivar count: how many commits were acknowledged.
    """

    def __init__(self, contents: Contents, findings: Findings) -> None:
        self.count = 0
        self._contents = contents
        self._findings = findings
        self._known: dict[tuple[str, str, int], list[_Known]] = {}
        self._in_doubt: dict[tuple[str, str, int], set[int]] = {}

    def add(self, lines: Iterable[str]) -> None:
        """Read the history of a member."""
        history = parse(lines)
        name, group, topic = history.header
        asked: dict[str, tuple[int, int]] = {}
        for kind, time, *words in history.events:
            if kind == "c":
                asked[words[0]] = int(words[1]), int(words[2])
            elif kind == "k":
                partition, offset = asked.pop(words[0])
                self.count += 1
                self._known.setdefault((group, topic, partition), []).append(
                    (float("inf"), float(time), offset, f"{name} committed")
                )
            else:
                partition, offset = int(words[1]), int(words[2])
                self._known.setdefault((group, topic, partition), []).append(
                    (float(words[0]), float(time), offset, f"{name} fetched")
                )
        for partition, offset in asked.values():
            self._in_doubt.setdefault((group, topic, partition), set()).add(offset)

    def check(self) -> None:
        """Check the offsets of each group and partition, when all histories were read."""
        for key, known in self._known.items():
            group, topic, partition = key
            in_doubt = self._in_doubt.get(key, set())
            end = self._contents.end(topic, partition)
            where = f"{group} at {topic}-{partition}"
            for _, time_s, offset, who in known:
                if offset > end:
                    self._findings.add(
                        Kind.COMMITTED_BACK,
                        f"{where}: {who} {offset} at {time_s:.3f} s, the log ends at {end}",
                    )
            for fault in _gone_back(known, in_doubt):
                self._findings.add(Kind.COMMITTED_BACK, f"{where}: {fault}")


def _gone_back(known: list[_Known], in_doubt: set[int]) -> Iterable[str]:
    """Yield a sentence for each fetched offset below one that was known before it was asked for."""
    settled = sorted(known, key=itemgetter(1))
    at = 0
    highest = (-1, "nothing")
    for begun_s, time_s, offset, who in sorted(known):
        while at < len(settled) and settled[at][1] < begun_s:
            highest = max(highest, (settled[at][2], f"{settled[at][3]} at {settled[at][1]:.3f} s"))
            at += 1
        if begun_s != float("inf") and offset < highest[0] and offset not in in_doubt:
            yield f"{who} {offset} at {time_s:.3f} s, after {highest[0]}, which {highest[1]}"
