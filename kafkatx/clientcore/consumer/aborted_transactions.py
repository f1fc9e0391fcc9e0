"""Which batches of a fetch reply belong to transactions that were aborted (KIP-98).

With ``isolation.level=read_committed`` a broker tells, with the records, which transactions among them were
aborted: producer id and first offset. A producer has one transaction at a time, so its batches are skipped
from there until its ABORT marker, as ``CompletedFetch`` of the Java client does.

The key of a marker: version i16, type i16 (0: ABORT, 1: COMMIT).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from struct import Struct

from kafkatx.records.batch import BatchHeader, iter_records
from kafkatx.wire.messages.fetch import AbortedTransaction

_MARKER = Struct(">hh")
ABORT = 0


class AbortedTransactions:
    """Asked batch by batch, in their order.

    :param transactions: of one partition of one reply.
    """

    def __init__(self, transactions: Iterable[AbortedTransaction]) -> None:
        self._coming = deque(sorted(transactions, key=lambda one: one.first_offset))
        self._open: set[int] = set()

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a batch of records was never committed."""
        if not header.transactional:
            return False
        while self._coming and self._coming[0].first_offset <= header.last_offset:
            self._open.add(self._coming.popleft().producer_id)
        return header.producer_id in self._open

    def end_transaction(self, header: BatchHeader, raw: memoryview) -> None:
        """A control batch has come."""
        for marker in iter_records(raw):
            key = marker.key or b""
            if len(key) >= _MARKER.size and _MARKER.unpack_from(key)[1] == ABORT:
                self._open.discard(header.producer_id)
