"""The partitions assigned to a consumer, and the delivery of their records.

Pure: no I/O and no clock. One partition's part is in :mod:`kafkatx.clientcore.consumer.partition_state`.
"""

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
"""Errors that last until the application seeks; others may be gone at the next poll."""


def _nothing() -> None:
    pass


class SubscriptionState:
    """The state of each assigned partition, as in ``SubscriptionState`` of the Java client.

    One reader at a time takes records.

    :ivar lost_unprocessed: partitions that were lost while the application had records of them, as long as
        it has these.
    :ivar on_error_raised: called after a retriable error was raised to the application: the failed operation
        can be tried again.
    """

    def __init__(
        self, buffer: FetchBuffer[TopicPartitionState], count_processed: CountRecords | None = None
    ) -> None:
        """Create it without partitions.

        :param count_processed: counts the records that the application has processed.
        """
        self.buffer = buffer
        self._count_processed = count_processed
        self.lost_unprocessed: set[TopicPartition] = set()
        self.on_error_raised: Callable[[], None] = _nothing
        self._states: dict[TopicPartition, TopicPartitionState] = {}
        self._unprocessed: dict[TopicPartition, TopicPartitionState] = {}
        self._deliveries: dict[TopicPartition, Delivery] = {}

    def __iter__(self) -> Iterator[TopicPartitionState]:
        return iter(list(self._states.values()))

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, topic_partition: TopicPartition) -> TopicPartitionState:
        """Return the state of a partition.

        :raises NotAssigned: the partition is not assigned.
        """
        state = self._states.get(topic_partition)
        if state is None:
            raise NotAssigned(*topic_partition)
        return state

    def get(self, topic_partition: TopicPartition) -> TopicPartitionState | None:
        """Return the state of a partition, or None if it is not assigned."""
        return self._states.get(topic_partition)

    @property
    def assigned_partitions(self) -> frozenset[TopicPartition]:
        """The assigned partitions."""
        return frozenset(self._states)

    def add_partitions(self, partitions: Iterable[TopicPartition], start_at: int) -> None:
        """Assign partitions; those that are assigned already keep their position.

        If a partition was lost and comes back while the application still processes records of it, nothing
        more of it is delivered until the application is done with them.
        """
        for topic_partition in partitions:
            if topic_partition not in self._states:
                self._states[topic_partition] = state = TopicPartitionState(
                    topic_partition, self.buffer, start_at
                )
                if self._count_processed is not None:
                    state.delivered = DeliveredRecords(topic_partition.topic, self._count_processed)
                state.delivery = self._deliveries.get(topic_partition)
                if state.delivery is not None:
                    self._unprocessed[topic_partition] = state
        self.buffer.set_partition_count(len(self._states))

    def remove_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Unassign partitions and drop their buffered records.

        Records of them that were delivered count as processed, even if a group that lost this consumer
        assigns the partition to another one: then they were delivered twice.
        """
        for topic_partition in partitions:
            state = self._states.pop(topic_partition, None)
            self._unprocessed.pop(topic_partition, None)
            if state is not None:
                state.suspended = True
                state.drop_buffered()
                if state.delivered is not None:
                    state.delivered.done()
        self.buffer.set_partition_count(len(self._states))

    def lose_partitions(self, partitions: set[TopicPartition]) -> None:
        """Unassign partitions that other members of the group may have by now."""
        self.lost_unprocessed |= self._unprocessed.keys() & partitions
        self.remove_partitions(partitions)

    # -- delivering records

    def take(self, limit: int) -> dict[TopicPartition, list[Record]]:
        """Return the next records by partition, at most *limit* in all.

        :raises KafkaTXError: the next record cannot be read.
        """
        found: dict[TopicPartition, list[Record]] = {}
        while limit > 0 and (state := self.buffer.next_ready()) is not None:
            records = state.take(limit)
            if records:
                limit -= len(records)
                self._unprocessed[state.topic_partition] = state
                if state.topic_partition in found:
                    found[state.topic_partition] += records
                else:
                    found[state.topic_partition] = records
            elif state.error is not None:
                if found:
                    break
                self._raise(state)
        return found

    def next_delivery(self, limit: int) -> Delivery | None:
        """Return the next records of one partition, at most *limit*; end it with :meth:`finish_delivery`.

        :raises KafkaTXError: the next record cannot be read.
        """
        while (state := self.buffer.next_ready()) is not None:
            delivery = state.start_delivery(limit)
            if delivery is not None:
                self._unprocessed[state.topic_partition] = state
                self._deliveries[state.topic_partition] = delivery
                return delivery
            if state.error is not None:
                self._raise(state)
        return None

    def finish_delivery(self, delivery: Delivery) -> None:
        """Mark the records that were given out of a delivery as processed."""
        topic_partition = delivery.state.topic_partition
        state = self._states.get(topic_partition)
        if state is not None:
            state.finish_delivery(delivery)
        self._unprocessed.pop(topic_partition, None)
        self._deliveries.pop(topic_partition, None)
        self.lost_unprocessed.discard(topic_partition)

    def fail_delivery(self, delivery: Delivery) -> None:
        """End a delivery whose last record could not be processed: that record is the next one again."""
        if not delivery.stale:
            delivery.state.seek(delivery.state.processed_offset)
        self.finish_delivery(delivery)

    def mark_processed(self) -> None:
        """Mark all delivered records as processed, because the application asks for more."""
        for state in self._unprocessed.values():
            state.mark_processed()
        self._unprocessed.clear()
        self._deliveries.clear()
        self.lost_unprocessed.clear()

    @property
    def unprocessed_partitions(self) -> frozenset[TopicPartition]:
        """Partitions whose delivered records are not known to be processed."""
        return frozenset(self._unprocessed)

    def _raise(self, state: TopicPartitionState) -> None:
        error = state.error
        assert error is not None
        if not isinstance(error, _LASTING):
            state.error = None
            self.on_error_raised()
        raise error

    # -- committing

    def positions(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the position of each partition where it is known; :meth:`Consumer.commit` commits these."""
        return self._offsets(partitions, lambda state: state.position)

    def processed_offsets(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets for an automatic commit."""
        return self._offsets(partitions, lambda state: state.processed_offset)

    def _offsets(
        self, partitions: Iterable[TopicPartition] | None, of: Callable[[TopicPartitionState], int]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        wanted = self._states if partitions is None else partitions
        return {
            topic_partition: OffsetAndMetadata(of(state), leader_epoch=state.leader_epoch)
            for topic_partition in wanted
            if (state := self._states.get(topic_partition)) is not None and of(state) >= 0
        }
