"""The metadata of a transactional id: the value that the records of ``__transaction_state`` hold. Pure."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from kafkatx.transactions.states import Event, State, next_state
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

TV1, TV2 = 0, 2
"""The versions of transactions that clients have: of KIP-98, and of KIP-890, which raises the epoch at each
end. Level 1 of ``transaction.version`` changes the format of records only, so that its clients count as 0."""

LAST_EPOCH = 2**15 - 2
"""The last epoch that a producer gets. One more ends or fences its last transaction; then comes a new id."""


class Producer(NamedTuple):
    """A producer id and its epoch."""

    id: int
    epoch: int


@attrs.frozen
class TransactionMetadata:
    """The state of a transactional id.

    :ivar producer_epoch: the current epoch; -1 before the first InitProducerId is stored.
    :ivar timeout_ms: how long a transaction may take.
    :ivar partitions: those of the transaction that is open or ends.
    :ivar update_ms: time of the last change, on the wall clock.
    :ivar start_ms: time when the last transaction began, on the wall clock; -1 if there was none.
    :ivar last_producer_epoch: the epoch from which the current one was raised on the request of its own
        producer; -1 if it was not. It is not in the records.
    :ivar previous_producer_id: the producer id that this one has replaced; -1 if there is none.
    :ivar next_producer_id: the producer id that replaces this one when the transaction is complete; -1: none.
    :ivar client_version: the version of transactions of the client; see :data:`TV2`.
    """

    producer_id: int
    timeout_ms: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    update_ms: int = NO_TIMESTAMP
    start_ms: int = NO_TIMESTAMP
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = TV1

    @property
    def producer(self) -> Producer:
        """The producer id with its epoch."""
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def is_epoch_exhausted(self) -> bool:
        """True if the next epoch, if there is one, is not for a producer."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def is_commit(self) -> bool:
        """True if the transaction that ends is committed."""
        return self.state is State.PREPARE_COMMIT

    def with_partitions(
        self, partitions: frozenset[TopicPartition], client_version: int, wall_ms: int
    ) -> TransactionMetadata:
        """Return the state after partitions were added; the first ones begin the transaction."""
        return attrs.evolve(
            self,
            state=next_state(self.state, Event.ADD),
            partitions=self.partitions | partitions,
            update_ms=wall_ms,
            start_ms=self.start_ms if self.state is State.ONGOING else wall_ms,
            client_version=client_version,
        )

    def completed(self, wall_ms: int) -> TransactionMetadata:
        """Return the state after all markers are written; the next producer id takes over, if any."""
        done = attrs.evolve(
            self,
            state=next_state(self.state, Event.COMPLETE),
            partitions=frozenset(),
            update_ms=wall_ms,
            next_producer_id=NO_PRODUCER_ID,
        )
        if self.next_producer_id == NO_PRODUCER_ID:
            return done
        return attrs.evolve(
            done,
            producer_id=self.next_producer_id,
            producer_epoch=0,
            previous_producer_id=self.producer_id,
        )
