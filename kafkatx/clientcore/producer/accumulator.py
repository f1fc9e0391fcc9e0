"""The batches that a producer holds: by partition, with their memory and due times. Pure.

Times are arguments, in seconds of the owner's monotonic clock; timestamps of records are ms since the epoch.
The order of batches within a partition is :mod:`kafkatx.clientcore.producer.partition_queue`'s.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import retriable
from kafkatx.clientcore.producer.arguments import (
    check_timestamp,
    checked_bytes,
    checked_headers,
    checked_values,
)
from kafkatx.clientcore.producer.batch import (
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    ProducerIdAndEpoch,
    record_bytes,
    split_to_fit,
)
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.producer.requests import can_be_split, code_of
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec

BATCH_BYTES = 1_000_000
"""Smaller than Kafka's default ``max.message.bytes`` (1 MiB and 12 bytes) by more than a batch header."""

NO_PAUSE = Backoff(first_ms=0, longest_ms=0)


@attrs.frozen
class AccumulatorLimits:
    """Limits of batches and memory.

    :ivar batch_bytes: the largest batch, unless a single record or list is larger; a batch is closed, and
        sent at once, when the next record does not fit.
    :ivar max_bytes: the largest batch of a list; longer lists are split.
    :ivar linger_s: seconds for which an open batch waits for more records.
    :ivar buffer_bytes: memory for all records that are not settled.
    :ivar delivery_s: seconds after which a record fails if it is not in the log.
    :ivar in_flight: the largest number of batches in flight per partition.
    :ivar retries: the largest number of retries of a batch.
    """

    batch_bytes: int = BATCH_BYTES
    max_bytes: int = BATCH_BYTES
    linger_s: float = math.inf
    buffer_bytes: int = 1 << 62
    delivery_s: float = math.inf
    in_flight: int = 5
    retries: int = 1 << 31


class Outcome(enum.Enum):
    """The consequence of a reply for a batch: it is settled, or will be sent again."""

    DELIVERED = "in the log"
    RETRY = "sent again, perhaps in two halves"
    FAILED = "failed for good"


class RecordAccumulator:
    """The queues of all partitions of one producer, and the memory that they use.

    :ivar busy: the queues that hold batches, the least recently served first.
    :ivar used_bytes: the estimated size of all records that are not settled.
    :ivar closed: called with the topic whenever a batch is closed; it must not raise.
    :ivar stamp_bytes: the size of a header added to each record; see
        :mod:`kafkatx.clientcore.audit.server_header`.
    :ivar open_below_bytes: the owner may append without asking while ``used_bytes`` is below this; set by the
        owner.
    :ivar transactional: True if all batches are parts of transactions: then a failure is final, and the owner
        calls :meth:`restart` for the next transaction.
    """

    stamp_bytes = 0

    def __init__(
        self,
        limits: AccumulatorLimits,
        codec: Codec = Codec.NONE,
        closed: Callable[[str], None] = lambda topic: None,
        id_and_epoch: ProducerIdAndEpoch | None = None,
        backoff: Backoff = NO_PAUSE,
    ) -> None:
        """Make an empty accumulator.

        :param closed: called with the topic whenever a batch is closed, for sticky partitioners.
        :param id_and_epoch: None while it is not known: then nothing is sent before :meth:`set_producer_id`.
        :param backoff: the pauses of a partition after failures.
        """
        self.limits = limits
        self.backoff = backoff
        self.busy: dict[PartitionQueue, None] = {}
        self.used_bytes = 0
        self.open_below_bytes = limits.buffer_bytes
        self.transactional = False
        self._codec = codec
        self.closed = closed
        self._id_and_epoch = id_and_epoch
        self._queues: dict[tuple[str, int], PartitionQueue] = {}

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        """Return the queue of a partition."""
        found = self._queues.get((topic, partition))
        if found is None:
            found = PartitionQueue(topic, partition, self._id_and_epoch)
            self._queues[topic, partition] = found
        return found

    def set_producer_id(self, id_and_epoch: ProducerIdAndEpoch) -> None:
        """Set the producer id of new queues, and of queues without one."""
        self._id_and_epoch = id_and_epoch
        for queue in self._queues.values():
            if queue.id_and_epoch is None:
                queue.set_producer_id(id_and_epoch)

    def restart(self, id_and_epoch: ProducerIdAndEpoch) -> None:
        """Set the producer id of all queues, which are empty; sequence numbers start again."""
        self._id_and_epoch = id_and_epoch
        for queue in self._queues.values():
            queue.set_producer_id(id_and_epoch)

    @property
    def full(self) -> bool:
        """True if ``buffer_bytes`` is used up."""
        return self.used_bytes >= self.limits.buffer_bytes

    def max_bytes(self) -> int:
        """Return the size of the largest batch that no topic is known to reject."""
        return min([self.limits.batch_bytes, *(queue.max_bytes for queue in self._queues.values())])

    # -- records in

    def fits(self, queue: PartitionQueue, size: int) -> bool:
        """Return True if records of *size* bytes fit in the queue's open batch, or no batch is open."""
        batch = queue.open
        return batch is None or batch.size_bytes + size <= batch.max_bytes

    def append(
        self,
        queue: PartitionQueue,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Sequence[tuple[str, bytes | None]],
        receipt: object,
        now_s: float,
    ) -> bool:
        """Append one record to the open batch; if it does not fit, close that and open another.

        :param receipt: None: the caller wants no answer.
        :return: True if :meth:`ready` has to be called, because a batch was opened or is full.
        :raises TypeError: key, value, a header or the timestamp has the wrong type; nothing was appended.
        :raises ValueError: the timestamp is out of range; nothing was appended.
        """
        if value is not None and value.__class__ is not bytes:
            value = checked_bytes("value", value)
        if key is not None and key.__class__ is not bytes:
            key = checked_bytes("key", key)
        if headers:
            headers = checked_headers(headers)
        check_timestamp(timestamp_ms)
        size = record_bytes(key, value, headers)
        batch = queue.open
        if batch is None or batch.size_bytes + size > batch.max_bytes:
            batch = self._begin(queue, now_s)
        index = batch.rows.append(key, value, timestamp_ms, headers)
        if receipt is not None:
            batch.entries += (receipt, index, 1, timestamp_ms)
        batch.size_bytes += size
        self.used_bytes += size
        return index == 0 or batch.size_bytes >= batch.max_bytes

    def append_values(
        self, queue: PartitionQueue, values: Sequence[bytes], timestamp_ms: int, receipt: object, now_s: float
    ) -> int:
        """Append records that have only a value, in as few batches as possible.

        A list that does not fit in the open batch gets one of its own, larger than ``batch_bytes`` if need
        be.

        :return: the number of batches; the receipt is settled once for each.
        :raises TypeError: a value is not bytes; nothing was appended.
        """
        check_timestamp(timestamp_ms)
        values = checked_values(values)
        parts = list(split_to_fit(values, min(self.limits.max_bytes, queue.max_bytes)))
        for piece, payload in parts:
            size = payload + RECORD_OVERHEAD_BYTES * len(piece)
            batch = queue.open
            if batch is None or batch.size_bytes + size > batch.max_bytes:
                batch = self._begin(queue, now_s)
            index = batch.rows.extend(piece, timestamp_ms)
            batch.entries += (receipt, index, len(piece), timestamp_ms)
            batch.size_bytes += size
            self.used_bytes += size
        return len(parts)

    def append_encoded(
        self,
        queue: PartitionQueue,
        records: bytes | memoryview,
        count: int,
        payload_bytes: int,
        timestamp_ms: int,
    ) -> None:
        """Append a closed batch of records that are encoded already.

        :param records: in the format of :meth:`kafkatx.records.builder.BatchBuilder.append_encoded`.
        """
        self.close(queue)
        batch = self._begin(queue, 0.0)
        assert batch.builder is not None
        batch.builder.append_encoded(records, count, timestamp_ms)
        batch.rows.times += (0, timestamp_ms)
        batch.records = count
        batch.payload_bytes = payload_bytes
        batch.size_bytes = len(records)
        self.used_bytes += batch.size_bytes
        self.close(queue)

    def _begin(self, queue: PartitionQueue, now_s: float) -> ProducerBatch:
        """Close the open batch and open the next one."""
        self.close(queue)
        limits = self.limits
        batch = queue.open = ProducerBatch(
            queue.topic,
            queue.partition,
            BatchBuilder(self._codec, transactional=self.transactional),
            now_s + limits.linger_s,
            now_s + limits.delivery_s,
            max_bytes=min(limits.batch_bytes, queue.max_bytes),
        )
        self.busy[queue] = None
        return batch

    def close(self, queue: PartitionQueue) -> None:
        """Close the queue's open batch, if any."""
        batch = queue.open
        if batch is not None:
            batch.close()
            queue.waiting.append(batch)
            queue.open = None
            self.closed(queue.topic)

    def close_all(self) -> None:
        """Close all open batches."""
        for queue in self.busy:
            self.close(queue)

    # -- batches out

    def ready(self, now_s: float, hurry: bool = False) -> tuple[list[PartitionQueue], float]:
        """Return the queues that may send, and the time of the next check if nothing happens before.

        A queue is ready if its first batch is closed, full, or has lingered long enough, and its limit of
        batches in flight allows it.

        :param hurry: send open batches without lingering.
        """
        ready = []
        next_s = math.inf
        limit = self.limits.in_flight
        for queue in self.busy:
            next_s = min(next_s, queue.deadline_s())
            if queue.not_before_s > now_s:
                next_s = min(next_s, queue.not_before_s)
            elif queue.sendable(limit):
                batch = None if queue.waiting or hurry else queue.open
                if batch is None or batch.due_s <= now_s or batch.size_bytes >= batch.max_bytes:
                    ready.append(queue)
                else:
                    next_s = min(next_s, batch.due_s)
        return ready, next_s

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """Take the next batch of a queue of :meth:`ready`, and move the queue to the end of ``busy``.

        :raises Exception: the batch cannot be encoded: :meth:`drop` it.
        """
        if not queue.waiting:
            self.close(queue)
        if len(self.busy) > 1:
            del self.busy[queue]
            self.busy[queue] = None
        return queue.take()

    def drop(self, queue: PartitionQueue) -> ProducerBatch:
        """Remove the batch that :meth:`take` could not encode, and free its memory."""
        return self._released([queue.drop()])[0]

    def complete_batch(
        self, batch: ProducerBatch, error: Exception | None, now_s: float, at_once: bool = False
    ) -> Outcome:
        """Update a queue with the result of a batch that was taken.

        :param error: None: the batch is in the log.
        :param at_once: a retry needs no pause: the new leader is known.
        """
        queue = self._queues[batch.topic, batch.partition]
        outcome = Outcome.DELIVERED
        if error is not None:
            outcome = self._handle_error(queue, batch, error, now_s, at_once)
        if outcome is Outcome.DELIVERED:
            queue.complete(batch)
        elif outcome is Outcome.FAILED:
            queue.fail(batch)
        if outcome is not Outcome.RETRY and not batch.expired:
            self.used_bytes -= batch.size_bytes
        if queue.empty:
            self.busy.pop(queue, None)
        return outcome

    def _handle_error(
        self, queue: PartitionQueue, batch: ProducerBatch, error: Exception, now_s: float, at_once: bool
    ) -> Outcome:
        """Decide whether a batch is retried; if so, return it to its queue."""
        batch.error = error
        code = code_of(error)
        if can_be_split(batch, code) and not batch.expired:
            queue.split(batch)
            return Outcome.RETRY
        if self._is_final(code) or not queue.can_retry(batch, code):
            if not retriable(error) or batch.attempts > self.limits.retries:
                return Outcome.FAILED
            # Of several batches that fail together the first sets the pause.
            if now_s >= queue.not_before_s and not at_once:
                queue.not_before_s = now_s + self.backoff.pause_s(queue.failures)
                queue.failures += 1
        queue.requeue(batch)
        return Outcome.RETRY

    def _is_final(self, code: ErrorCode) -> bool:
        """Return True for an error that only another epoch would cure, which a transaction cannot change."""
        return self.transactional and code is ErrorCode.UNKNOWN_PRODUCER_ID

    def expire(self, now_s: float) -> list[ProducerBatch]:
        """Remove and return the batches past their deadline, and free their memory."""
        late = [queue for queue in self.busy if queue.deadline_s() <= now_s]
        return self._released(batch for queue in late for batch in queue.expire(now_s))

    def abandon(self) -> list[ProducerBatch]:
        """Remove and return all batches, because the producer is closed."""
        batches = self._released(batch for queue in list(self.busy) for batch in queue.abandon())
        self.busy.clear()
        return batches

    def _released(self, batches: Iterable[ProducerBatch]) -> list[ProducerBatch]:
        produce_failure = list(batches)
        for batch in produce_failure:
            self.used_bytes -= batch.size_bytes
            queue = self._queues[batch.topic, batch.partition]
            if queue.empty:
                self.busy.pop(queue, None)
        return produce_failure

    def needs_producer_id(self) -> bool:
        """Return True if a queue has used up its epochs and needs :meth:`set_producer_id`."""
        return any(queue.id_and_epoch is None for queue in self.busy)

    def unsettled(self) -> Iterator[ProducerBatch]:
        """Yield every batch whose receipts have not fired."""
        for queue in self.busy:
            for batch in (*queue.in_flight, *queue.waiting):
                if not batch.expired:
                    yield batch
            if queue.open is not None:
                yield queue.open
