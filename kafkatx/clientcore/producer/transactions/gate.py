"""The interface between a producer's sender and its transactions."""

from __future__ import annotations

from typing import Protocol

from kafkatx.clientcore.producer.partition_queue import PartitionQueue


class TransactionGate(Protocol):
    """Decides which batches may be sent: those of partitions that are in the open transaction."""

    @property
    def transactional_id(self) -> str:
        """The id that produce requests carry."""

    @property
    def produce_at_most(self) -> int | None:
        """The last version of Produce that may be used; None: any."""

    def check(self) -> None:
        """Drop all records of a transaction that has failed; called before each run."""

    def admit(self, queues: list[PartitionQueue]) -> list[PartitionQueue]:
        """Return the queues that may be sent from; wake the sender when others may be."""
