"""The reads of each consumer: no skip, no step back, the same records, and all of them for a group. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from tests.cluster.checker.contents import Contents
from tests.cluster.checker.findings import Findings, Kind
from tests.cluster.checker.history import parse


class Reads:
    """The checks of readers' histories, one after the other.

    :ivar count: how many records were read.
    """

    def __init__(self, contents: Contents, findings: Findings) -> None:
        self.count = 0
        self._contents = contents
        self._findings = findings
        self._groups: dict[tuple[str, str], dict[int, bytearray]] = {}

    def check(self, lines: Iterable[str]) -> None:
        """Check the history of a reader."""
        history = parse(lines)
        name, topic, group = history.header
        read = self._groups.setdefault((group, topic), {}) if group != "-" else None
        expected: dict[int, int] = {}
        for kind, _, *words in history.events:
            if kind == "n":
                expected.clear()
                continue
            partition, first = int(words[0]), int(words[1])
            self._follow(f"{name} at {topic}-{partition}", expected.get(partition, first), first)
            end = first + len(words) - 2
            expected[partition] = end
            self.count += end - first
            for offset, text in enumerate(words[2:], first):
                self._contents.seen(name, topic, partition, offset, text)
            if read is not None:
                _mark(read.setdefault(partition, bytearray()), first, end)

    def check_groups(self) -> None:
        """Check that each group has read every record, when all of its members' histories were checked."""
        for (group, topic), read in self._groups.items():
            for name, partition, records in self._contents.partitions():
                if name != topic:
                    continue
                marks = read.get(partition, bytearray()).ljust(len(records), b"\0")
                missing = marks.count(0, 0, len(records))
                if missing:
                    first = marks.find(0)
                    self._findings.add(
                        Kind.UNREAD,
                        f"{group}: {missing} records of {topic}-{partition}, the first at {first}",
                    )

    def _follow(self, who: str, expected: int, first: int) -> None:
        if first > expected:
            self._findings.add(Kind.SKIPPED, f"{who}: from {expected} to {first}")
        elif first < expected:
            self._findings.add(Kind.STEPPED_BACK, f"{who}: from {expected} to {first}")


def _mark(marks: bytearray, first: int, end: int) -> None:
    """Set the bytes from *first* to before *end*."""
    if end > len(marks):
        marks.extend(bytes(end - len(marks)))
    marks[first:end] = b"\1" * (end - first)
