"""Verdicts on transactional batches that are validated before they are written.

A batch of a transaction was verified (:mod:`kafkatx.broker.produce.transactional`) when its request came. If
its records go to a worker, the transaction may end until they are back: a batch that is written then would
begin a transaction of which the coordinator does not know, and which no marker ever ends. So a marker takes
the verdict back, as it does with an answer of the coordinator that is under way. Nothing here does I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.header import HEADER_BYTES, MAGIC, MAGIC_AT, parse_header

if TYPE_CHECKING:  # with the first transaction
    from kafkatx.broker.coordinator.transactions.verification import PendingVerifications


class Verdict:
    """One batch may be written as part of its transaction, as long as no marker has ended that."""

    __slots__ = ("_epoch", "_partition", "_pending", "_producer_id", "_token")

    def __init__(
        self, pending: PendingVerifications, partition: Partition, producer_id: int, epoch: int
    ) -> None:
        self._pending = pending
        self._partition = partition
        self._producer_id, self._epoch = producer_id, epoch
        self._token = pending.begin([partition.topic_partition], producer_id, epoch)

    def check(self) -> None:
        """Check that it stands.

        :raises RequestError: a marker was written meanwhile: INVALID_PRODUCER_EPOCH if the log knows a later
            epoch of the producer, which that can go on after; else INVALID_TXN_STATE.
        """
        name = self._partition.topic_partition
        if self._pending.stands(self._token, name, self._producer_id):
            return
        fenced = any(
            one.producer_id == self._producer_id and one.producer_epoch > self._epoch
            for one in self._partition.log.active_producers()
        )
        code = ErrorCode.INVALID_PRODUCER_EPOCH if fenced else ErrorCode.INVALID_TXN_STATE
        raise RequestError(code, "the transaction was ended while the records were checked")

    def end(self) -> None:
        """Note that the batch is written, or never will be."""
        self._pending.end(self._token, self._partition.topic_partition, self._producer_id)


def verdict_on(
    pending: PendingVerifications | None, partition: Partition, records: memoryview | bytes
) -> Verdict | None:
    """Return the verdict on records whose verification has just succeeded; None if they need none.

    :param pending: None if the request has no transactional id.
    """
    producer = None if pending is None else producer_of(records)
    return None if pending is None or producer is None else Verdict(pending, partition, *producer)


def producer_of(records: memoryview | bytes | bytearray) -> tuple[int, int] | None:
    """Return the producer id and epoch of a transactional batch; None for other records."""
    if len(records) < HEADER_BYTES or records[MAGIC_AT] != MAGIC:
        return None
    header = parse_header(records)
    return (header.producer_id, header.producer_epoch) if header.transactional else None
