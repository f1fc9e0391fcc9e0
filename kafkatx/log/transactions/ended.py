"""The ended transactions of one log: the aborted ones, and those that are not stable yet. Pure.

A reader of committed records may not pass a transaction before its marker is below the high watermark: the
marker may still be cut off. After a restart, markers before the last producer snapshot count as stable, as in
Apache Kafka. That misleads no reader: a marker that was cut off comes again, with the same outcome, because
the coordinator has decided before it writes the first one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.log.producer_state import ProducerState, ProducerStateManager
from kafkatx.log.segment.scan import Shallow
from kafkatx.log.transactions.aborted import AbortedTransaction, AbortedTransactions
from kafkatx.records.control import read_marker
from kafkatx.records.header import CONTROL, TRANSACTIONAL
from kafkatx.types import NO_PRODUCER_ID, Marker


class EndedTransaction(NamedTuple):
    """A transaction whose marker was appended; ``last_offset`` is the marker's.

    ``last_stable_offset`` is as in :class:`AbortedTransaction`.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    committed: bool


class EndedTransactions:
    """The ended transactions of one log.

    :ivar aborted: all of them that were aborted.
    :ivar unstable: (marker, first offset) of those whose marker may be at or above the high watermark. Both
        rise: a transaction is left out if a later marker ends one that began earlier, which outlasts it.
    """

    __slots__ = ("aborted", "unstable")

    def __init__(
        self, aborted: Iterable[AbortedTransaction] = (), ended: Iterable[EndedTransaction] = ()
    ) -> None:
        self.aborted = AbortedTransactions(aborted)
        self.unstable: deque[tuple[int, int]] = deque()
        for one in ended:
            self._add_unstable(one)

    def add(self, ended: Iterable[EndedTransaction], high_watermark: int) -> None:
        """Add transactions whose markers were written.

        :param high_watermark: at most the present one; what is stable by it is not kept.
        """
        self.first_unstable(high_watermark)
        for one in ended:
            self._add_unstable(one)
            if not one.committed:
                self.aborted.add(AbortedTransaction(*one[:4]))

    def _add_unstable(self, one: EndedTransaction) -> None:
        unstable = self.unstable
        while unstable and unstable[-1][1] >= one.first_offset:
            unstable.pop()
        unstable.append((one.last_offset, one.first_offset))

    def first_unstable(self, high_watermark: int) -> int:
        """Return the first offset of those whose marker is not below the high watermark, or NO_LIMIT.

        Those that are stable are forgotten: the high watermark never goes back behind a marker that it has
        passed, unless the log is cut.
        """
        unstable = self.unstable
        while unstable and unstable[0][0] < high_watermark:
            unstable.popleft()
        return unstable[0][1] if unstable else NO_LIMIT

    def cut_from(self, offset: int) -> None:
        """Forget the transactions whose markers are at *offset* or beyond."""
        self.aborted.cut_from(offset)
        while self.unstable and self.unstable[-1][0] >= offset:
            self.unstable.pop()

    def clear(self) -> None:
        """Forget all."""
        self.cut_from(0)


def end_transaction(
    producers: ProducerStateManager, producer_id: int, epoch: int, marker: Marker, offset: int, now_ms: int
) -> tuple[ProducerState | None, EndedTransaction | None]:
    """Take a marker into the producers' state.

    :return: the producer's previous state, and the transaction that ends; None if it has no records here.
    """
    before, first_offset = producers.end_transaction(producer_id, epoch, marker.coordinator_epoch, now_ms)
    if first_offset < 0:
        return before, None
    stable = next(iter(producers.open.values()), offset + 1)
    return before, EndedTransaction(producer_id, first_offset, offset, stable, marker.committed)


def replay(
    producers: ProducerStateManager, batch: Shallow, read: Callable[[], bytes | memoryview], now_ms: int
) -> EndedTransaction | None:
    """Take a batch that is in a log into the producers' state.

    :param read: returns the bytes of the batch; called for a control batch only.
    :return: the transaction that ends with it, if it is a marker.
    :raises CorruptRecords: it is a control batch that cannot be decoded.
    """
    if batch.producer_id == NO_PRODUCER_ID:
        return None
    if batch.attributes & CONTROL:
        marker = read_marker(read())
        if marker is None:
            return None
        producer_id, epoch = batch.producer_id, batch.producer_epoch
        return end_transaction(producers, producer_id, epoch, marker, batch.base_offset, now_ms)[1]
    transactional = batch.attributes & TRANSACTIONAL != 0
    if batch.base_sequence >= 0 or transactional:
        producers.record(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.base_offset,
            batch.last_offset,
            now_ms,
            transactional,
        )
    return None
