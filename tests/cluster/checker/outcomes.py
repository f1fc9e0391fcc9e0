"""The outcomes of all sends, in arrays. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from tests.cluster.checker.gaps import Gaps
from tests.cluster.checker.history import parse

UNKNOWN, ACKNOWLEDGED, FAILED = range(3)
NUMBER_BITS = 40
NO_RECORD = -1


class Producer:
    """The sends of one producer.

    :ivar index: its number among all producers.
    :ivar states: the outcome of each record.
    """

    def __init__(self, index: int, name: str, topic: str, acks: str, idempotent: bool, ordered: bool) -> None:
        self.index, self.name, self.topic, self.acks = index, name, topic, acks
        self.idempotent, self.ordered = idempotent, ordered
        self.states = bytearray()
        self._partitions = array("h")
        self._offsets = array("q")

    def place(self, number: int) -> tuple[int, int]:
        """Return the partition and the offset of a record; the offset is -1 where it is not known."""
        return self._partitions[number], self._offsets[number]

    def send(self, number: int, partition: int) -> None:
        """Add a record.

        :raises ValueError: the numbers do not follow each other.
        """
        if number != len(self.states):
            raise ValueError(f"{self.name} sent {number} after {len(self.states) - 1}")
        self.states.append(UNKNOWN)
        self._partitions.append(partition)
        self._offsets.append(-1)

    def settle(self, number: int, state: int, partition: int = -1, offset: int = -1) -> None:
        """Note the outcome of a record."""
        self.states[number] = state
        if state == ACKNOWLEDGED:
            self._partitions[number] = partition
            self._offsets[number] = offset


class Outcomes:
    """All producers, and the times of their acknowledgements.

    A record is told by a number: index of its producer, then its own number in the lowest 40 bits.

    :ivar gaps: of the acknowledgements of producers with acks=all.
    """

    def __init__(self) -> None:
        self.producers: list[Producer] = []
        self.gaps = Gaps()
        self._by_name: dict[str, Producer] = {}

    def add(self, lines: Iterable[str]) -> Producer:
        """Read the history of a producer."""
        history = parse(lines)
        name, topic, acks, idempotent, ordered = history.header
        producer = Producer(len(self.producers), name, topic, acks, idempotent == "1", ordered == "1")
        self.producers.append(producer)
        self._by_name[name] = producer
        for kind, time_s, number, *place in history.events:
            if kind == "s":
                producer.send(int(number), int(place[0]))
                self.gaps.sent(float(time_s))
            elif kind == "a":
                producer.settle(int(number), ACKNOWLEDGED, int(place[0]), int(place[1]))
                if acks == "all":
                    self.gaps.acknowledged(f"{topic}-{place[0]}", float(time_s))
            else:
                producer.settle(int(number), FAILED)
        return producer

    def record(self, text: str) -> int:
        """Return the number of a record by its id; -1 if no producer sent it."""
        name, _, number = text.partition(":")
        producer = self._by_name.get(name)
        if producer is None or int(number) >= len(producer.states):
            return NO_RECORD
        return producer.index << NUMBER_BITS | int(number)

    def producer(self, record: int) -> tuple[Producer, int]:
        """Return the producer of a record, and its number there."""
        return self.producers[record >> NUMBER_BITS], record & (1 << NUMBER_BITS) - 1

    def name(self, record: int) -> str:
        """Return the id of a record."""
        if record == NO_RECORD:
            return "nothing"
        producer, number = self.producer(record)
        return f"{producer.name}:{number}"

    def acknowledged(self) -> Iterator[tuple[Producer, int]]:
        """Yield the producer and number of each acknowledged record."""
        for producer in self.producers:
            for number, state in enumerate(producer.states):
                if state == ACKNOWLEDGED:
                    yield producer, number
