"""The transactions of a cluster, as its coordinators and the leaders of partitions tell of them."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from kafkatx.types import TopicPartition

NO_OFFSET = -1


class TransactionListing(NamedTuple):
    """A transactional id that a broker coordinates; ``state`` is Kafka's word: ``Ongoing``, ``Empty``, ..."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


@attrs.frozen
class TransactionDescription:
    """The state of a transactional id.

    :ivar start_ms: when the open transaction began, in ms since the epoch; -1: none is open.
    :ivar partitions: those of the open transaction.
    """

    transactional_id: str
    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]


class PartitionProducer(NamedTuple):
    """An idempotent producer that has written to a partition.

    :ivar last_sequence: that of its last record; -1: none is kept.
    :ivar last_ms: the time of its last batch, in ms since the epoch; -1: not known.
    :ivar coordinator_epoch: that of its last marker; -1: none.
    :ivar start_offset: the first record of its open transaction; -1: none is open.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_ms: int
    coordinator_epoch: int
    start_offset: int


@attrs.frozen
class OpenTransaction:
    """A transaction that a partition's log has begun and not ended.

    :ivar start_offset: its first record.
    :ivar last_ms: the time of its producer's last batch, in ms since the epoch; -1: not known.
    :ivar coordinator_epoch: that of the producer's last marker; -1: none.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    start_offset: int
    last_ms: int
    coordinator_epoch: int


def hanging(
    open_transactions: list[OpenTransaction], coordinated: dict[int, TransactionDescription | None]
) -> list[OpenTransaction]:
    """Return the transactions that no coordinator will end: they hold back readers of committed records.

    :param coordinated: by producer id the state of its transactional id; None: no coordinator has it.
    """

    def is_hanging(transaction: OpenTransaction) -> bool:
        known = coordinated.get(transaction.producer_id)
        return known is None or transaction.partition not in known.partitions

    return [transaction for transaction in open_transactions if is_hanging(transaction)]
