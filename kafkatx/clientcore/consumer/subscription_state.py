"""The partitions that a consumer has, and what it hands out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kafkatx.clientcore.audit.delivered import CountRecords, DeliveredRecords
from kafkatx.clientcore.consumer.fetch_buffer import FetchBuffer
from kafkatx.clientcore.consumer.partition_state import Delivery, TopicPartitionState
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import NoOffset, NotAssigned, OffsetOutOfRange, Undecodable
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.types import TopicPartition

_LASTING = (OffsetOutOfRange, NoOffset, Undecodable, CorruptRecords, UnsupportedCompression)
"""Errors that only a seek gets the application past; others may be gone when it asks again."""


def _nothing() -> None:
    pass


class SubscriptionState:
    """Positions by partition; one reader at a time takes records of them.

    :ivar on_error_raised: called after a retriable error was raised to the application: the failed operation
        can be tried again.
    """

    def __init__(self, shelf: FetchBuffer, tally: CountRecords | None = None) -> None:
        """Begin with none.

        :param tally: hears of the records that the application is done with.
        """
        self.buffer = shelf
        self._tally = tally
        self.on_error_raised: Callable[[], None] = _nothing
        self._states: dict[TopicPartition, TopicPartitionState] = {}
        self._unprocessed: dict[TopicPartition, TopicPartitionState] = {}
        self._deliveries: dict[TopicPartition, Delivery] = {}

    def __iter__(self) -> Iterator[TopicPartitionState]:
        return iter(list(self._states.values()))

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, place: TopicPartition) -> TopicPartitionState:
        """The position in a partition.

        :raises NotAssigned: the consumer does not have it.
        """
        position = self._states.get(place)
        if position is None:
            raise NotAssigned(*place)
        return position

    def get(self, place: TopicPartition) -> TopicPartitionState | None:
        """The position, or None."""
        return self._states.get(place)

    @property
    def assigned_partitions(self) -> frozenset[TopicPartition]:
        """Which partitions there are."""
        return frozenset(self._states)

    def add_partitions(self, places: Iterable[TopicPartition], begin: int) -> None:
        """The consumer gets these; it keeps its position in those that it has.

        A partition that comes back while the application is still at work on a record of it, which it had
        before it was lost, hands out nothing before that is done.
        """
        for place in places:
            if place not in self._states:
                self._states[place] = position = TopicPartitionState(place, self.buffer, begin)
                if self._tally is not None:
                    position.delivered = DeliveredRecords(place.topic, self._tally)
                position.delivery = self._deliveries.get(place)
                if position.delivery is not None:
                    self._unprocessed[place] = position
        self.buffer.set_partition_count(len(self._states))

    def remove_partitions(self, places: Iterable[TopicPartition]) -> None:
        """The consumer has these no longer; what is at hand of them is dropped.

        What was handed out of them counts as if it were done, though a group that lost this consumer gives
        it to another one: it was handed out twice then.
        """
        for place in places:
            position = self._states.pop(place, None)
            self._unprocessed.pop(place, None)
            if position is not None:
                position.suspended = True
                position.drop_buffered()
                if position.delivered is not None:
                    position.delivered.done()
        self.buffer.set_partition_count(len(self._states))

    # -- handing out

    def take(self, limit: int) -> dict[TopicPartition, list[Record]]:
        """The next records by partition, at most *limit* in all.

        :raises KafkaTXError: an error stands where the next record should.
        """
        found: dict[TopicPartition, list[Record]] = {}
        while limit > 0 and (position := self.buffer.next_ready()) is not None:
            records = position.take(limit)
            if records:
                limit -= len(records)
                self._unprocessed[position.topic_partition] = position
                if position.topic_partition in found:
                    found[position.topic_partition] += records
                else:
                    found[position.topic_partition] = records
            elif position.error is not None:
                if found:
                    break
                self._raise(position)
        return found

    def next_delivery(self, limit: int) -> Delivery | None:
        """The next records of one partition, at most *limit*; :meth:`finish_delivery` ends it.

        :raises KafkaTXError: an error stands where the next record should.
        """
        while (position := self.buffer.next_ready()) is not None:
            hand = position.start_delivery(limit)
            if hand is not None:
                self._unprocessed[position.topic_partition] = position
                self._deliveries[position.topic_partition] = hand
                return hand
            if position.error is not None:
                self._raise(position)
        return None

    def finish_delivery(self, hand: Delivery) -> None:
        """What was given out of a hand is done."""
        place = hand.state.topic_partition
        position = self._states.get(place)
        if position is not None:
            position.finish_delivery(hand)
        self._unprocessed.pop(place, None)
        self._deliveries.pop(place, None)

    def fail_delivery(self, hand: Delivery) -> None:
        """What was given out last of a hand could not be done: it is the next again."""
        if not hand.stale:
            hand.state.seek(hand.state.processed_offset)
        self.finish_delivery(hand)

    def mark_processed(self) -> None:
        """What was handed out is done: the application asks for more."""
        for position in self._unprocessed.values():
            position.mark_processed()
        self._unprocessed.clear()
        self._deliveries.clear()

    @property
    def unprocessed_partitions(self) -> frozenset[TopicPartition]:
        """Of which partitions the application has records that are not done, as far as is known."""
        return frozenset(self._unprocessed)

    def _raise(self, position: TopicPartitionState) -> None:
        error = position.error
        assert error is not None
        if not isinstance(error, _LASTING):
            position.error = None
            self.on_error_raised()
        raise error

    # -- committing

    def positions(
        self, places: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What commits commit: the next offset to hand out of each partition, where it is known."""
        return self._offsets(places, lambda position: position.position)

    def processed_offsets(
        self, places: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What automatic commits commit."""
        return self._offsets(places, lambda position: position.processed_offset)

    def _offsets(
        self, places: Iterable[TopicPartition] | None, of: Callable[[TopicPartitionState], int]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        wanted = self._states if places is None else places
        return {
            place: OffsetAndMetadata(of(position), leader_epoch=position.leader_epoch)
            for place in wanted
            if (position := self._states.get(place)) is not None and of(position) >= 0
        }
