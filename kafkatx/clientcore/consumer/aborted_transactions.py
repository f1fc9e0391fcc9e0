"""Filter for the batches of aborted transactions in a fetch response (KIP-98).

With ``isolation.level=read_committed`` a fetch response lists the aborted transactions among its records:
producer id and first offset. A producer has one transaction at a time, so its batches are skipped from there
until its ABORT marker, as in ``CompletedFetch`` of the Java client.

Key of a marker: version i16, type i16 (0: ABORT, 1: COMMIT).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from struct import Struct

from kafkatx.records.batch import BatchHeader, iter_records, parse_header
from kafkatx.records.conversion import batches
from kafkatx.records.header import MAGIC
from kafkatx.wire.messages.fetch import AbortedTransaction

_MARKER = Struct(">hh")
ABORT = 0


class AbortedTransactions:
    """The aborted transactions of one partition in one response; batches are passed in offset order."""

    def __init__(self, transactions: Iterable[AbortedTransaction]) -> None:
        self._pending = deque(sorted(transactions, key=lambda transaction: transaction.first_offset))
        self._open: set[int] = set()

    def is_aborted(self, header: BatchHeader) -> bool:
        """Return True if a batch of records belongs to an aborted transaction."""
        if not header.transactional:
            return False
        self._begin_until(header.last_offset)
        return header.producer_id in self._open

    def _begin_until(self, offset: int) -> None:
        while self._pending and self._pending[0].first_offset <= offset:
            self._open.add(self._pending.popleft().producer_id)

    def end_transaction(self, header: BatchHeader, raw: memoryview) -> None:
        """End the producer's aborted transaction if the control batch *raw* holds an ABORT marker.

        Compaction may have removed all records of the transaction before its marker.
        """
        self._begin_until(header.last_offset)
        for marker in iter_records(raw):
            key = marker.key or b""
            if len(key) >= _MARKER.size and _MARKER.unpack_from(key)[1] == ABORT:
                self._open.discard(header.producer_id)


def committed_batches(records: memoryview, transactions: Iterable[AbortedTransaction]) -> memoryview:
    """Return the batches of a fetch response without those of aborted transactions.

    :param records: whole stored batches.
    :param transactions: the aborted ones that the response lists.
    """
    aborted = AbortedTransactions(transactions)
    kept = []
    for span in batches(records):
        raw = records[span.position : span.position + span.size]
        if span.magic >= MAGIC:
            header = parse_header(raw)
            if header.control:
                aborted.end_transaction(header, raw)
            elif aborted.is_aborted(header):
                continue
        kept.append(raw)
    return memoryview(b"".join(kept))
