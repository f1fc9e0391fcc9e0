"""The staged batches of a log, and what they change: offsets, epochs, producers, transactions. Pure.

The base of :class:`~kafkatx.log.append.appender.Appender`. Batches of a leader are staged as they are here;
those of producers are validated first. :meth:`StagedAppends.discard` undoes all that was staged.
"""

from __future__ import annotations

from kafkatx.counts import WriteCounts
from kafkatx.log.append.follower import FollowedBatch, check_batches
from kafkatx.log.append.result import StagedChanges, Undo
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerState, ProducerStateManager, active_producers, put_back
from kafkatx.log.segment.batches import BatchInfo, StagedBatches
from kafkatx.log.transactions.ended import EndedTransactions, end_transaction
from kafkatx.types import ActiveProducer, Marker


class StagedAppends:
    """Stages batches that have offsets.

    :ivar producers: the producers' state, including that of staged batches.
    :ivar transactions: the ended transactions of written batches.
    :ivar staged: the batches that are to be written.
    :ivar changes: what the log has to change before it writes the staged batches; None: nothing.
    :ivar next_offset: the offset that the next record gets.
    :ivar counts: counts of what was written.
    :param epochs: the epochs of written batches; read here, changed by the log.
    """

    __slots__ = (
        "_epochs",
        "_leader_epoch",
        "_most_producers",
        "_undo",
        "changes",
        "counts",
        "next_offset",
        "producers",
        "staged",
        "transactions",
    )

    def __init__(
        self,
        producers: ProducerStateManager,
        transactions: EndedTransactions,
        epochs: LeaderEpochCache,
        log_end_offset: int,
    ) -> None:
        self.producers = producers
        self.transactions = transactions
        self._epochs = epochs
        self.staged = StagedBatches()
        self.next_offset = log_end_offset
        self.changes: StagedChanges | None = None
        self.counts = WriteCounts()
        self._undo: list[Undo] = []
        self._leader_epoch = epochs.latest
        self._most_producers = 1

    def append_as_follower(
        self, records: bytes | memoryview, leader_epoch: int, now_ms: int, is_empty: bool
    ) -> int:
        """See IPartitionLog.

        :param is_empty: True if the log has no record.
        """
        view, staged = memoryview(records), self.staged
        is_empty = is_empty and not staged.batches
        found = check_batches(view, self.next_offset, self._leader_epoch, leader_epoch, is_empty)
        if not found.batches:
            return 0
        if found.changes or found.batches[0].base_offset != self.next_offset:
            self._change().add(found)
        self._leader_epoch = found.latest_epoch
        for batch in found.of_producers:
            self._follow(batch, now_ms)
        if len(self.producers.states) > self._most_producers:
            self._forget_producers()
        staged.buffers.append(view[: found.size])
        staged.batches += found.batches
        staged.size_bytes += found.size
        staged.append_ms = now_ms
        counts = self.counts
        counts.followed_batches += len(found.batches)
        counts.followed_records += found.next_offset - found.batches[0].base_offset
        counts.followed_bytes += found.size
        self.next_offset = found.next_offset
        return found.size

    def _follow(self, batch: FollowedBatch, now_ms: int) -> None:
        """Take the batch of a producer, or a marker, into the producers' state."""
        producer_id, epoch, sequence, base_offset, last_offset, transactional, marker = batch
        if marker is not None:
            self._end_transaction(producer_id, epoch, marker, base_offset, now_ms)
            return
        before = self.producers.record(
            producer_id, epoch, sequence, base_offset, last_offset, now_ms, transactional
        )
        self._undo.append(Undo(base_offset, producer_id, before))

    def _end_transaction(
        self, producer_id: int, epoch: int, marker: Marker, offset: int, now_ms: int
    ) -> None:
        """Take a marker into the producers' state."""
        before, ended = end_transaction(self.producers, producer_id, epoch, marker, offset, now_ms)
        self._undo.append(Undo(offset, producer_id, before))
        if ended is not None:
            self._change().ended.append(ended)

    def _forget_producers(self) -> None:
        """Forget the oldest producers, as many as are too many; not those with open transactions."""
        states, most = self.producers.states, self._most_producers
        while len(states) > most and len(states) > len(self.producers.open):
            self.producers.forget_oldest()

    def _stage(self, start: bytes, rest: memoryview, batch: BatchInfo, now_ms: int) -> None:
        staged = self.staged
        staged.buffers += (start, rest)
        staged.batches.append(batch)
        staged.size_bytes += batch.size
        staged.append_ms = now_ms
        self.next_offset = batch.last_offset + 1

    def _advance_epoch(self, leader_epoch: int) -> int:
        """Return the epoch to stamp on the next batch: the leader's, or the log's if that one is later.

        Epochs in a log never go back (KIP-101), even if the cluster's state has lost the latest one.
        """
        if leader_epoch > self._leader_epoch:
            self._leader_epoch = leader_epoch
            self._change().epoch_starts.append((leader_epoch, self.next_offset))
        return self._leader_epoch

    def _change(self) -> StagedChanges:
        if self.changes is None:
            batches = self.staged.batches
            self.changes = StagedChanges(batches[0].base_offset if batches else self.next_offset)
        return self.changes

    # --- staged batches

    def written(self) -> None:
        """Count the staged batches, which are in the log, and forget them."""
        staged, counts = self.staged, self.counts
        counts.writes += 1
        counts.batches += len(staged.batches)
        counts.records += self.next_offset - staged.batches[0].base_offset
        counts.bytes += staged.size_bytes
        self._forget()

    def _forget(self) -> None:
        self.staged.clear()
        self._undo = []
        self.changes = None

    def discard(self) -> None:
        """Undo the staged appends: offsets, producer state and leader epoch are as before them."""
        if self._undo:
            self.producers.restore((undo.producer_id, undo.state) for undo in reversed(self._undo))
        if self.changes is not None:
            self.next_offset = self.changes.log_end_offset
        elif self.staged.batches:
            self.next_offset = self.staged.batches[0].base_offset
        self._leader_epoch = self._epochs.latest
        self._forget()

    def restart_at(self, log_end_offset: int, producers: ProducerStateManager) -> None:
        """Continue at the new end of a log that was truncated; nothing is staged."""
        self.next_offset = log_end_offset
        self._leader_epoch = self._epochs.latest
        self.producers = producers
        self.transactions.cut_from(log_end_offset)

    # --- producers and transactions

    def producers_at(self, offset: int) -> dict[int, ProducerState]:
        """Return the producers' states without those of staged batches from *offset* on."""
        states = self.producers.states.copy()
        for undo in reversed(self._undo):
            if undo.base_offset >= offset:
                put_back(states, undo.producer_id, undo.state)
        return states

    def written_producers(self) -> dict[int, ProducerState]:
        """Return the producers' states by written batches only."""
        return self.producers_at(0)

    def active_producers(self) -> list[ActiveProducer]:
        """Return the idempotent producers of written batches, for DescribeProducers."""
        return active_producers(self.written_producers())

    def has_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """See IPartitionLog."""
        state = self.producers.states.get(producer_id)
        return state is not None and state.txn_first_offset >= 0 and state.epoch == producer_epoch

    def last_stable_offset(self, high_watermark: int, log_start_offset: int) -> int:
        """See IPartitionLog. A staged marker ends nothing yet."""
        opened = self.producers.open
        if not opened and not self.transactions.unstable and self.changes is None:
            return high_watermark
        first = min(
            self.transactions.first_unstable(high_watermark), next(iter(opened.values()), high_watermark)
        )
        if self.changes is not None:
            first = min([first, *(one.first_offset for one in self.changes.ended)])
        return min(max(first, log_start_offset), high_watermark)
