"""A history of sends and polls while brokers failed, and the rules that it must keep. Pure.

The rules are those of Jepsen's tests of Kafka (``jepsen.redpanda.workload.queue``): acknowledged records are
not lost, failed ones are never seen, one offset has one record, and reads neither skip nor go back.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import attrs


class Outcome(enum.Enum):
    """The result of a send, as its producer knows it."""

    OK = "acknowledged"
    FAILED = "refused: it was not written"
    UNKNOWN = "it may have been written"


@attrs.frozen
class Send:
    """A numbered record that was sent.

    :ivar partition: its partition; -1 if unknown. *offset* likewise.
    """

    number: int
    key: bytes
    outcome: Outcome
    partition: int = -1
    offset: int = -1


@attrs.frozen
class Poll:
    """A record that a consumer got.

    :ivar position: grows whenever the consumer's assignment changes.
    """

    consumer: str
    position: int
    partition: int
    offset: int
    number: int


@attrs.define
class History:
    """Everything that happened.

    :ivar sends: in the order in which they were sent, by one producer.
    :ivar log: for each partition pairs of offset and number, read from its beginning at the end.
    :ivar polls: in the order in which each consumer got them.
    :ivar commits: for each partition the committed offsets, in the order in which they were read.
    """

    sends: list[Send] = attrs.Factory(list)
    log: Mapping[int, Sequence[tuple[int, int]]] = attrs.Factory(dict)
    polls: list[Poll] = attrs.Factory(list)
    commits: Mapping[int, Sequence[int]] = attrs.Factory(dict)

    def faults(self, most: int = 20) -> list[str]:
        """Return the first faults found, as sentences; none if every rule is kept."""
        found = []
        for fault in self._all_faults():
            found.append(fault)
            if len(found) == most:
                break
        return found

    def _all_faults(self) -> Iterator[str]:
        yield from self._lost()
        yield from self._impossible()
        yield from self._repeated()
        yield from self._out_of_order()
        yield from self._inconsistent()
        yield from self._skipped()
        yield from self._committed_back()

    def _written(self) -> Iterator[tuple[int, int, int]]:
        """Yield partition, offset and number of each record in the log."""
        for partition, records in self.log.items():
            for offset, number in records:
                yield partition, offset, number

    def _lost(self) -> Iterator[str]:
        at = {(partition, offset): number for partition, offset, number in self._written()}
        for send in self.sends:
            if send.outcome is Outcome.OK:
                found = at.get((send.partition, send.offset))
                place = f"{send.partition}/{send.offset}"
                if found is None:
                    yield f"{send.number} was acknowledged at {place}, and is lost"
                elif found != send.number:
                    yield f"{send.number} was acknowledged at {place}, which is {found}"

    def _impossible(self) -> Iterator[str]:
        outcomes = {send.number: send.outcome for send in self.sends}
        for partition, offset, number in self._written():
            if number not in outcomes:
                yield f"{number} at {partition}/{offset} was never sent"
            elif outcomes[number] is Outcome.FAILED:
                yield f"{number} at {partition}/{offset} was refused"

    def _repeated(self) -> Iterator[str]:
        times = Counter(number for _, _, number in self._written())
        for number, count in times.items():
            if count > 1:
                yield f"{number} is in the log {count} times"

    def _out_of_order(self) -> Iterator[str]:
        order = {send.number: place for place, send in enumerate(self.sends)}
        for partition, records in self.log.items():
            last = -1
            for offset, number in records:
                place = order.get(number, last)
                if place < last:
                    yield f"{number} at {partition}/{offset} comes after records that were sent later"
                last = max(last, place)

    def _inconsistent(self) -> Iterator[str]:
        at = {(partition, offset): number for partition, offset, number in self._written()}
        for poll in self.polls:
            known = at.setdefault((poll.partition, poll.offset), poll.number)
            if known != poll.number:
                place = f"{poll.partition}/{poll.offset}"
                yield f"{poll.consumer} saw {poll.number} at {place}, where others saw {known}"

    def _skipped(self) -> Iterator[str]:
        last: dict[tuple[str, int, int], int] = {}
        for poll in self.polls:
            before = last.get((poll.consumer, poll.position, poll.partition))
            if before is not None and poll.offset != before + 1:
                yield f"{poll.consumer} went from {poll.partition}/{before} to {poll.offset}"
            last[poll.consumer, poll.position, poll.partition] = poll.offset

    def _committed_back(self) -> Iterator[str]:
        for partition, offsets in self.commits.items():
            for before, after in pairwise(offsets):
                if after < before:
                    yield f"the committed offset of {partition} went back from {before} to {after}"


def unread(history: History) -> Iterable[int]:
    """Return the numbers in the log that no consumer got."""
    seen = {poll.number for poll in history.polls}
    return (number for records in history.log.values() for _, number in records if number not in seen)
