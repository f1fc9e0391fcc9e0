"""The batches of one partition; keeps them in order whatever fails. Pure.

Up to *limit* batches are in flight. After a retriable error nothing more is sent until the other batches in
flight are answered; then all that failed are sent again in their original order, byte for byte, so that the
broker recognises an idempotent producer's duplicates::

    in flight: b1 b2 b3      replies: b1 retriable, b2 out of order (b1 is missing), b3 connection lost
    retried:   b1, b2, b3    with the same sequence numbers: the broker drops those that are in the log
    already

Retried batches are sent one at a time: a broker recognises duplicates only among a producer's last five
batches, so no new batch may overtake one that is in doubt. The first batch with a new producer id is sent
alone, too: a broker without state of a producer accepts any sequence number from it, even the second batch's
before the first's.

A batch that fails for good leaves its sequence numbers unused:

*   It is known not to be in the log (a *gap*): the queue continues with the next epoch and sequence number 0,
as
    Apache Kafka's client does (KIP-360). Later batches cannot be in the log either, and get new numbers.
    Earlier batches may be in the log, and keep theirs.
*   It may be in the log, because its reply was lost (a *doubt*): later batches keep their numbers. The broker
either
    accepts them, then there is no gap, or answers OUT_OF_ORDER_SEQUENCE_NUMBER, then there is one.

A broker before Kafka 2.5 forgets a producer when retention has deleted all of its batches, and answers
UNKNOWN_PRODUCER_ID to the next one. That is a gap in which nothing is missing: all batches in flight are sent
again with the next epoch, in order (``TransactionManager.canRetry``), unless a later batch is in the log.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from kafkatx.clientcore.producer.batch import LAST_EPOCH, ProducerBatch, ProducerIdAndEpoch, sequence_after
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import parse_header
from kafkatx.types import NO_PRODUCER_ID, NO_SEQUENCE


class PartitionQueue:
    """The open, waiting and in-flight batches of one partition.

    :ivar open: the batch that records are appended to.
    :ivar waiting: closed batches, the next one first.
    :ivar in_flight: sent batches, oldest first; failed ones stay until all are answered.
    :ivar max_bytes: the size of the largest batch that is likely to be accepted, after one was too large.
    :ivar not_before_s: the time of the next attempt after a failure.
    :ivar failures: the number of failures in a row.
    :ivar node_id: the broker that has the batches in flight; set by the sender.
    """

    __slots__ = (
        "_gap",
        "_in_doubt",
        "_known_to_broker",
        "_unanswered",
        "failures",
        "id_and_epoch",
        "in_flight",
        "max_bytes",
        "node_id",
        "not_before_s",
        "open",
        "partition",
        "sequence",
        "topic",
        "waiting",
    )

    def __init__(self, topic: str, partition: int, id_and_epoch: ProducerIdAndEpoch | None = None) -> None:
        """:param id_and_epoch: None: nothing is sent before :meth:`set_producer_id`."""
        self.topic = topic
        self.partition = partition
        self.open: ProducerBatch | None = None
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: deque[ProducerBatch] = deque()
        self.max_bytes = 1 << 31
        self.not_before_s = 0.0
        self.failures = 0
        self.node_id = -1
        self.id_and_epoch: ProducerIdAndEpoch | None = None
        self.sequence = NO_SEQUENCE
        self._unanswered = 0
        self._known_to_broker = self._gap = self._in_doubt = False
        if id_and_epoch is not None:
            self.set_producer_id(id_and_epoch)

    @property
    def empty(self) -> bool:
        """True if there is no batch, whether open, waiting or in flight."""
        return not self.in_flight and not self.waiting and self.open is None

    def set_producer_id(self, id_and_epoch: ProducerIdAndEpoch) -> None:
        """Take a new producer id; what has not been answered yet must not have been sent.

        What was lost behind a gap is stamped anew.
        """
        self.id_and_epoch = id_and_epoch
        self._gap = self._in_doubt = False
        idempotent = id_and_epoch.producer_id != NO_PRODUCER_ID
        self._known_to_broker = not idempotent
        self.sequence = 0 if idempotent else NO_SEQUENCE
        for batch in self.waiting:
            if batch.needs_new_sequence:
                batch.seal(id_and_epoch, self.sequence)
                batch.sent_before = batch.needs_new_sequence = False
                self.sequence = sequence_after(self.sequence, batch.records)

    def sendable(self, limit: int) -> bool:
        """Return True if the next batch, closed or open, may be sent now with at most *limit* in flight."""
        waiting, in_flight = self.waiting, self.in_flight
        if self.id_and_epoch is None or self._gap:
            return False
        if not waiting and self.open is None:
            return False
        if not in_flight:
            return True
        if len(in_flight) >= limit or self._unanswered != len(in_flight):
            return False
        return not (self._in_doubt or not self._known_to_broker or in_flight[0].sent_before)

    def next_batch(self) -> ProducerBatch:
        """Return the batch that is sent next; there must be one."""
        batch = self.waiting[0] if self.waiting else self.open
        assert batch is not None
        return batch

    def take(self) -> ProducerBatch:
        """Take the next batch and encode it; :meth:`sendable` must be true.

        :raises Exception: it cannot be encoded, and is still the first that waits: :meth:`drop` it.
        """
        batch = self.waiting[0]
        if not batch.data:
            assert self.id_and_epoch is not None
            batch.seal(self.id_and_epoch, self.sequence)
            self.sequence = sequence_after(self.sequence, batch.records)
        self.waiting.popleft()
        batch.failed = False
        batch.attempts += 1
        self.in_flight.append(batch)
        self._unanswered += 1
        return batch

    def drop(self) -> ProducerBatch:
        """Remove the batch that :meth:`take` could not encode; it has used no sequence numbers."""
        return self.waiting.popleft()

    def complete(self, batch: ProducerBatch) -> None:
        """Remove a batch that is in the log."""
        if self.in_flight[0] is batch:
            self.in_flight.popleft()
        else:
            self._overtake(batch)
        self._unanswered -= 1
        self._known_to_broker = True
        self._in_doubt = False
        self.failures = 0
        if not self._unanswered and (self.in_flight or self._gap):
            self._requeue_in_flight()

    def requeue(self, batch: ProducerBatch) -> None:
        """Mark a batch to be sent again when all others are answered."""
        self._unanswered -= 1
        if batch.expired:
            self.in_flight.remove(batch)
            self._in_doubt = True
        else:
            batch.sent_before = batch.failed = True
        if not self._unanswered:
            self._requeue_in_flight()

    def fail(self, batch: ProducerBatch) -> None:
        """Remove a batch that has failed for good."""
        at = self.in_flight.index(batch)
        if batch.sent_before:
            self._in_doubt = True
        else:
            self._open_gap(at + 1)
        del self.in_flight[at]
        self._unanswered -= 1
        if not self._unanswered:
            self._requeue_in_flight()

    def split(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """Replace a batch that is too large by two halves, which are to be sent again."""
        split = batch.split()
        at = self.in_flight.index(batch)
        del self.in_flight[at]
        for half in reversed(split):
            half.sent_before = half.failed = True
            self.in_flight.insert(at, half)
        self._unanswered -= 1
        self.max_bytes = min(self.max_bytes, max(len(half.data) for half in split))
        if self.open is not None:
            self.open.max_bytes = min(self.open.max_bytes, self.max_bytes)
        if not self._unanswered:
            self._requeue_in_flight()
        return split

    def can_retry(self, batch: ProducerBatch, code: ErrorCode) -> bool:
        """Return True if a batch can be retried though its error code is not retriable.

        That is so if the code only means that an earlier batch is not in the log, or that the broker has
        forgotten the producer. For the oldest batch in flight OUT_OF_ORDER_SEQUENCE_NUMBER is final without a
        gap: records were lost before it.
        """
        if code is ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._producer_forgotten(batch)
        if code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return False
        if self._in_doubt and self.in_flight[0] is batch:
            self._open_gap(0)  # the batch in doubt is not in the log
        return self._gap or self.in_flight[0] is not batch

    def _producer_forgotten(self, batch: ProducerBatch) -> bool:
        """Return True if a batch can be sent again with the next epoch after UNKNOWN_PRODUCER_ID.

        A broker that refuses sequence number 0 would refuse it again.
        """
        if batch.overtaken or parse_header(batch.data).base_sequence == 0:
            return False
        if self.in_flight[0] is batch:
            self._open_gap(0)
        return True

    def _overtake(self, batch: ProducerBatch) -> None:
        """Remove a batch that is in the log while earlier ones are not known to be."""
        at = self.in_flight.index(batch)
        for before in islice(self.in_flight, at):
            before.overtaken = True
        del self.in_flight[at]

    def expire(self, now_s: float) -> list[ProducerBatch]:
        """Remove and return the batches past their deadline.

        Those in flight are returned but stay until they are answered, which keeps the order.
        """
        expired = [b for b in self.in_flight if b.deadline_s <= now_s and not b.expired]
        for batch in expired:
            batch.expired = True
            if batch.failed:  # answered already
                self.in_flight.remove(batch)
                self._in_doubt = True
        while self.waiting and self.waiting[0].deadline_s <= now_s:
            batch = self.waiting.popleft()
            self._in_doubt = self._in_doubt or bool(batch.data)
            expired.append(batch)
        if self.open is not None and self.open.deadline_s <= now_s:
            expired.append(self._give_up_open(self.open))
        return expired

    def deadline_s(self) -> float:
        """Return the deadline of the oldest batch whose receipts have not fired; infinity if none."""
        for batch in self.in_flight:
            if not batch.expired:
                return batch.deadline_s
        oldest = self.waiting[0] if self.waiting else self.open
        return float("inf") if oldest is None else oldest.deadline_s

    def abandon(self) -> list[ProducerBatch]:
        """Remove and return all batches whose receipts have not fired, because the producer is closed."""
        batches = [batch for batch in (*self.in_flight, *self.waiting) if not batch.expired]
        if self.open is not None:
            batches.append(self._give_up_open(self.open))
        self.in_flight.clear()
        self.waiting.clear()
        return batches

    def _give_up_open(self, batch: ProducerBatch) -> ProducerBatch:
        batch.close()
        self.open = None
        return batch

    def _open_gap(self, at: int) -> None:
        """Record that the batches in flight from index *at* on are not in the log."""
        self._gap = True
        for number, batch in enumerate(self.in_flight):
            batch.needs_new_sequence = batch.needs_new_sequence or number >= at
        for batch in self.waiting:
            batch.needs_new_sequence = bool(batch.data)

    def _requeue_in_flight(self) -> None:
        """Move failed batches back to the front, in order; all batches in flight are answered."""
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        id_and_epoch = self.id_and_epoch
        if not self._gap or id_and_epoch is None or id_and_epoch.producer_id == NO_PRODUCER_ID:
            self._gap = False
        elif id_and_epoch.epoch < LAST_EPOCH:
            self.set_producer_id(id_and_epoch._replace(epoch=id_and_epoch.epoch + 1))
        else:
            self.id_and_epoch = None  # the owner asks for another
