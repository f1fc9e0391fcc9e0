"""The transactional ids of one partition of ``__transaction_state``, with all that belongs to them.

:mod:`kafkatx.broker.coordinator.transactions.coordinator` makes a shard when a partition is loaded, and drops
it as a whole when this broker leads the partition no more. It touches nothing.
"""

from __future__ import annotations

from typing import Any

from kafkatx.broker.coordinator.runtime.pending_request import PendingRequest, end_requests
from kafkatx.broker.replica.partition import Partition
from kafkatx.transactions.transaction import Transaction


class TransactionShard:
    """The transactional ids of one partition.

    :ivar number: the number of the partition.
    :ivar coordinator_epoch: the leader epoch in which the partition was loaded; markers have it.
    :ivar transactions: by transactional id.
    :ivar requests: the requests that wait for an answer.
    :ivar used_bytes: the memory of the transactional ids.
    :ivar dropped: True if the partition is coordinated no more, or again from its records.
    """

    __slots__ = (
        "coordinator_epoch",
        "dropped",
        "number",
        "partition",
        "requests",
        "transactions",
        "used_bytes",
    )

    def __init__(self, partition: Partition) -> None:
        self.number: int = partition.topic_partition.partition
        self.partition = partition
        self.coordinator_epoch: int = partition.leader_epoch
        self.transactions: dict[str, Transaction] = {}
        self.requests: dict[PendingRequest[Any], None] = {}
        self.used_bytes = 0
        self.dropped = False

    def drop(self) -> None:
        """Answer the waiting requests with NOT_COORDINATOR; nothing is performed any more."""
        self.dropped = True
        end_requests(self)
