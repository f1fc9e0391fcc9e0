"""The records of partitions by offset, as the final reading has them, and what others saw there. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from tests.cluster.checker.findings import Findings, Kind
from tests.cluster.checker.history import parse
from tests.cluster.checker.outcomes import ACKNOWLEDGED, FAILED, NO_RECORD, Outcomes

FURTHEST = 1 << 30


class Contents:
    """The records of all partitions.

    :param outcomes: what was sent.
    """

    def __init__(self, outcomes: Outcomes, findings: Findings) -> None:
        self._outcomes = outcomes
        self._findings = findings
        self._partitions: dict[tuple[str, int], array[int]] = {}

    def partitions(self) -> Iterator[tuple[str, int, array[int]]]:
        """Yield topic, number and records of each partition; -1 is an offset without a record."""
        for (topic, partition), records in sorted(self._partitions.items()):
            yield topic, partition, records

    def end(self, topic: str, partition: int) -> int:
        """Return the offset after the last record."""
        return len(self._partitions.get((topic, partition), ()))

    def at(self, topic: str, partition: int, offset: int) -> int:
        """Return the record at an offset; -1 if there is none."""
        records = self._partitions.get((topic, partition), ())
        return records[offset] if 0 <= offset < len(records) else NO_RECORD

    def read_final(self, lines: Iterable[str]) -> None:
        """Take what a reader got that read everything when all was over."""
        history = parse(lines)
        name, topic, _ = history.header
        for kind, _, *words in history.events:
            if kind == "r":
                partition, offset = int(words[0]), int(words[1])
                if offset != (end := self.end(topic, partition)):
                    self._findings.add(
                        Kind.SKIPPED, f"{name} at {topic}-{partition}: from {end} to {offset} at the end"
                    )
                for place, record in enumerate(words[2:], offset):
                    self._put(topic, partition, place, self._known(name, topic, partition, place, record))

    def seen(self, who: str, topic: str, partition: int, offset: int, text: str) -> None:
        """Compare the record that a reader or a replica has at an offset."""
        known = self.at(topic, partition, offset)
        record = self._outcomes.record(text)
        if record != known:
            place = f"{topic}-{partition}/{offset}"
            if offset >= self.end(topic, partition):
                self._findings.add(Kind.LOST, f"{who} saw {text} at {place}, where the log has ended")
            else:
                self._findings.add(
                    Kind.INCONSISTENT, f"{who} saw {text} at {place}, which is {self._outcomes.name(known)}"
                )

    def _known(self, who: str, topic: str, partition: int, offset: int, text: str) -> int:
        record = self._outcomes.record(text)
        if record == NO_RECORD:
            self._findings.add(Kind.INVENTED, f"{who} saw {text} at {topic}-{partition}/{offset}: never sent")
        return record

    def _put(self, topic: str, partition: int, offset: int, record: int) -> None:
        records = self._partitions.setdefault((topic, partition), array("q"))
        if not 0 <= offset < FURTHEST:
            self._findings.add(Kind.INVENTED, f"an offset {topic}-{partition}/{offset}")
            return
        if offset >= len(records):
            records.extend([NO_RECORD] * (offset + 1 - len(records)))
        records[offset] = record


def check_lost(outcomes: Outcomes, contents: Contents, findings: Findings) -> int:
    """Look for each acknowledged record at its place; return how many of acks=1 are not there.

    A record whose offset its producer does not know may be anywhere: :func:`check_order` looks for it.
    """
    lost = 0
    for producer, number in outcomes.acknowledged():
        partition, offset = producer.place(number)
        if offset < 0:
            continue
        found = contents.at(producer.topic, partition, offset)
        if found != NO_RECORD and outcomes.producer(found) == (producer, number):
            continue
        if producer.acks != "all":
            lost += 1
            continue
        place = f"{producer.topic}-{partition}/{offset}"
        findings.add(
            Kind.LOST,
            f"{producer.name}:{number} was acknowledged at {place}, which is {outcomes.name(found)}",
        )
    return lost


def check_order(outcomes: Outcomes, contents: Contents, findings: Findings) -> int:
    """Check what is in the log by the producers: refused, repeated, out of order, in another partition.

    Return how many records producers that are not idempotent have there more than once.
    """
    seen = [bytearray(len(producer.states)) for producer in outcomes.producers]
    repeated = 0
    for topic, partition, records in contents.partitions():
        last = [-1] * len(seen)
        for offset, record in enumerate(records):
            if record == NO_RECORD:
                continue
            producer, number = outcomes.producer(record)
            place = f"{producer.name}:{number} at {topic}-{partition}/{offset}"
            if (topic, partition) != (producer.topic, producer.place(number)[0]):
                findings.add(Kind.INVENTED, f"{place} was sent to another partition")
            if producer.states[number] == FAILED:
                findings.add(Kind.FAILED_READ, place)
            if seen[producer.index][number]:
                repeated += not producer.idempotent
                if producer.idempotent:
                    findings.add(Kind.DUPLICATED, f"{place}, and before")
            elif number < last[producer.index] and producer.ordered:
                findings.add(Kind.REORDERED, f"{place} comes after {last[producer.index]}")
            seen[producer.index][number] = 1
            last[producer.index] = max(last[producer.index], number)
    for producer, number in outcomes.acknowledged():
        if producer.place(number)[1] < 0 and producer.acks == "all" and not seen[producer.index][number]:
            findings.add(Kind.LOST, f"{producer.name}:{number} was acknowledged, and is nowhere")
    return repeated


def acknowledged_count(outcomes: Outcomes) -> int:
    """Return the number of acknowledged records."""
    return sum(producer.states.count(ACKNOWLEDGED) for producer in outcomes.producers)
