"""The partitions that a consumer has, and what it hands out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kafkatx.clientcore.audit.delivered import CountRecords, DeliveredRecords
from kafkatx.clientcore.consumer.fetch_buffer import Shelf
from kafkatx.clientcore.consumer.partition_state import Hand, Position
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import NoOffset, NotAssigned, OffsetOutOfRange, Undecodable
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.types import TopicPartition

_LASTING = (OffsetOutOfRange, NoOffset, Undecodable, CorruptRecords, UnsupportedCompression)
"""Errors that only a seek gets the application past; others may be gone when it asks again."""


def _nothing() -> None:
    pass


class Positions:
    """Positions by partition; one reader at a time takes records of them.

    :ivar on_told: called when an error that may pass has been handed out: what failed can be tried again.
    """

    def __init__(self, shelf: Shelf, tally: CountRecords | None = None) -> None:
        """Begin with none.

        :param tally: hears of the records that the application is done with.
        """
        self.shelf = shelf
        self._tally = tally
        self.on_told: Callable[[], None] = _nothing
        self._by_place: dict[TopicPartition, Position] = {}
        self._in_hand: dict[TopicPartition, Position] = {}
        self._hands: dict[TopicPartition, Hand] = {}

    def __iter__(self) -> Iterator[Position]:
        return iter(list(self._by_place.values()))

    def __len__(self) -> int:
        return len(self._by_place)

    def __getitem__(self, place: TopicPartition) -> Position:
        """The position in a partition.

        :raises NotAssigned: the consumer does not have it.
        """
        position = self._by_place.get(place)
        if position is None:
            raise NotAssigned(*place)
        return position

    def get(self, place: TopicPartition) -> Position | None:
        """The position, or None."""
        return self._by_place.get(place)

    @property
    def places(self) -> frozenset[TopicPartition]:
        """Which partitions there are."""
        return frozenset(self._by_place)

    def add(self, places: Iterable[TopicPartition], begin: int) -> None:
        """The consumer gets these; it keeps its position in those that it has.

        A partition that comes back while the application is still at work on a record of it, which it had
        before it was lost, hands out nothing before that is done.
        """
        for place in places:
            if place not in self._by_place:
                self._by_place[place] = position = Position(place, self.shelf, begin)
                if self._tally is not None:
                    position.handed = DeliveredRecords(place.topic, self._tally)
                position.hand = self._hands.get(place)
                if position.hand is not None:
                    self._in_hand[place] = position
        self.shelf.divide(len(self._by_place))

    def remove(self, places: Iterable[TopicPartition]) -> None:
        """The consumer has these no longer; what is at hand of them is dropped.

        What was handed out of them counts as if it were done, though a group that lost this consumer gives
        it to another one: it was handed out twice then.
        """
        for place in places:
            position = self._by_place.pop(place, None)
            self._in_hand.pop(place, None)
            if position is not None:
                position.held = True
                position.drop()
                if position.handed is not None:
                    position.handed.done()
        self.shelf.divide(len(self._by_place))

    # -- handing out

    def take(self, limit: int) -> dict[TopicPartition, list[Record]]:
        """The next records by partition, at most *limit* in all.

        :raises KafkaTXError: an error stands where the next record should.
        """
        found: dict[TopicPartition, list[Record]] = {}
        while limit > 0 and (position := self.shelf.next()) is not None:
            records = position.take(limit)
            if records:
                limit -= len(records)
                self._in_hand[position.place] = position
                if position.place in found:
                    found[position.place] += records
                else:
                    found[position.place] = records
            elif position.error is not None:
                if found:
                    break
                self._raise(position)
        return found

    def give(self, limit: int) -> Hand | None:
        """The next records of one partition, at most *limit*; :meth:`finish` ends it.

        :raises KafkaTXError: an error stands where the next record should.
        """
        while (position := self.shelf.next()) is not None:
            hand = position.give(limit)
            if hand is not None:
                self._in_hand[position.place] = position
                self._hands[position.place] = hand
                return hand
            if position.error is not None:
                self._raise(position)
        return None

    def finish(self, hand: Hand) -> None:
        """What was given out of a hand is done."""
        place = hand.position.place
        position = self._by_place.get(place)
        if position is not None:
            position.finish(hand)
        self._in_hand.pop(place, None)
        self._hands.pop(place, None)

    def fail(self, hand: Hand) -> None:
        """What was given out last of a hand could not be done: it is the next again."""
        if not hand.stale:
            hand.position.seek(hand.position.done)
        self.finish(hand)

    def settle(self) -> None:
        """What was handed out is done: the application asks for more."""
        for position in self._in_hand.values():
            position.settle()
        self._in_hand.clear()
        self._hands.clear()

    @property
    def in_hand(self) -> frozenset[TopicPartition]:
        """Of which partitions the application has records that are not done, as far as is known."""
        return frozenset(self._in_hand)

    def _raise(self, position: Position) -> None:
        error = position.error
        assert error is not None
        if not isinstance(error, _LASTING):
            position.error = None
            self.on_told()
        raise error

    # -- committing

    def offsets(
        self, places: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What commits commit: the next offset to hand out of each partition, where it is known."""
        return self._offsets(places, lambda position: position.offset)

    def done(self, places: Iterable[TopicPartition] | None = None) -> dict[TopicPartition, OffsetAndMetadata]:
        """What automatic commits commit."""
        return self._offsets(places, lambda position: position.done)

    def _offsets(
        self, places: Iterable[TopicPartition] | None, of: Callable[[Position], int]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        wanted = self._by_place if places is None else places
        return {
            place: OffsetAndMetadata(of(position), leader_epoch=position.leader_epoch)
            for place in wanted
            if (position := self._by_place.get(place)) is not None and of(position) >= 0
        }
