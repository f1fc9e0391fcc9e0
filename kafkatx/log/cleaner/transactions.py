"""The transactions that a pass meets: aborted batches, and markers that are not needed any more. Pure.

All transactions with records in the range of a pass have ended. Records of aborted ones are removed at once.
A marker is kept as long as the log has a batch of its transaction, also an empty one: recovery would find the
transaction open without it, and a reader would skip what its producer wrote later. In the pass after that it
gets a delete horizon, as a tombstone does, and is removed when that has passed (KIP-534).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from kafkatx.log.segment.scan import Shallow
from kafkatx.log.transactions.aborted import AbortedTransaction
from kafkatx.records.header import TRANSACTIONAL


class TransactionFilter:
    """The transactions of one pass; batches are passed in the order of the log.

    :param aborted: those with records in the range, by their markers.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted: dict[int, list[AbortedTransaction]] = {}
        for one in aborted:
            self._aborted.setdefault(one.producer_id, []).append(one)
        self._seen: set[int] = set()
        self._kept: list[AbortedTransaction] = []

    def is_aborted(self, batch: Shallow) -> bool:
        """Return True if a batch of records is part of an aborted transaction."""
        if not batch.attributes & TRANSACTIONAL:
            return False
        found = self._ending_at_or_after(batch.producer_id, batch.last_offset)
        return found is not None and found.first_offset <= batch.base_offset

    def _ending_at_or_after(self, producer_id: int, offset: int) -> AbortedTransaction | None:
        """Return the producer's first aborted transaction with its marker at *offset* or later."""
        entries = self._aborted.get(producer_id, [])
        at = bisect_left(entries, offset, key=_last_offset)
        return entries[at] if at < len(entries) else None

    def note(self, batch: Shallow) -> None:
        """Note a batch that the log had before this pass."""
        if batch.attributes & TRANSACTIONAL:
            self._seen.add(batch.producer_id)

    def end(self, marker: Shallow) -> bool:
        """Note a marker; return True if the log had no batch of its transaction before this pass."""
        if marker.producer_id not in self._seen:
            return True
        self._seen.discard(marker.producer_id)
        found = self._ending_at_or_after(marker.producer_id, marker.base_offset)
        if found is not None and found.last_offset == marker.base_offset:
            self._kept.append(found)
        return False

    def take_kept(self) -> tuple[AbortedTransaction, ...]:
        """Return the aborted transactions whose markers were kept since the last call."""
        kept, self._kept = tuple(self._kept), []
        return kept


def _last_offset(transaction: AbortedTransaction) -> int:
    return transaction.last_offset
