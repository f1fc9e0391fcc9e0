"""What a producer has gathered and not yet got rid of: batches by partition, memory, due times. Pure.

Time is an argument, in seconds by a clock of the owner's choice; record timestamps are another thing.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

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
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec

BATCH_BYTES = 1_000_000
"""Below Kafka's default ``max.message.bytes`` of 1 MiB and 12 bytes, by more than a header."""

NO_PAUSE = Backoff(first_ms=0, longest_ms=0)


@attrs.frozen
class AccumulatorLimits:
    """When a batch is closed and when it is sent.

    :ivar batch_bytes: a batch has at most so much, unless one record or one list has more; it is closed when
        the next record does not fit, and sent at once.
    :ivar max_bytes: a list that is sent at once is cut into batches of at most so much.
    :ivar linger_s: how long an open batch waits for more.
    :ivar buffer_bytes: how much may be gathered and under way.
    :ivar delivery_s: how long a record may be on its way.
    :ivar in_flight: how many batches of one partition may be under way.
    :ivar retries: how often a batch is sent again.
    """

    batch_bytes: int = BATCH_BYTES
    max_bytes: int = BATCH_BYTES
    linger_s: float = math.inf
    buffer_bytes: int = 1 << 62
    delivery_s: float = math.inf
    in_flight: int = 5
    retries: int = 1 << 31


class Outcome(enum.Enum):
    """What an answer means for a batch: it is settled, or will be sent again."""

    DELIVERED = "it is in the log"
    RETRY = "it is sent again, perhaps in two halves"
    FAILED = "it is given up"


class RecordAccumulator:
    """The queues of all partitions.

    :ivar busy: the queues that hold anything, in the order in which they got it.
    :ivar used_bytes: what all records that are not settled take.
    :ivar closed: called with the topic whenever a batch is closed; it must not raise.
    :ivar stamp_bytes: what is added to each record; see :mod:`kafkatx.clientcore.audit.server_header`.
    :ivar open_below_bytes: the owner may append without asking while ``used_bytes`` is below this; set by the
        owner.
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
        """Begin with nothing.

        :param closed: called with the topic whenever a batch is closed (a sticky partitioner's moment).
        :param id_and_epoch: None where it is not known yet: see :meth:`set_producer_id`.
        :param backoff: how long a partition rests after a failure.
        """
        self.limits = limits
        self.backoff = backoff
        self.busy: dict[PartitionQueue, None] = {}
        self.used_bytes = 0
        self.open_below_bytes = limits.buffer_bytes
        self._codec = codec
        self.closed = closed
        self._id_and_epoch = id_and_epoch
        self._queues: dict[tuple[str, int], PartitionQueue] = {}

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        """The queue of a partition."""
        found = self._queues.get((topic, partition))
        if found is None:
            found = PartitionQueue(topic, partition, self._id_and_epoch)
            self._queues[topic, partition] = found
        return found

    def set_producer_id(self, id_and_epoch: ProducerIdAndEpoch) -> None:
        """Take the producer's id_and_epoch: for new queues, and for those that lack one."""
        self._id_and_epoch = id_and_epoch
        for queue in self._queues.values():
            if queue.id_and_epoch is None:
                queue.set_producer_id(id_and_epoch)

    @property
    def full(self) -> bool:
        """Whether nothing more should be appended for now."""
        return self.used_bytes >= self.limits.buffer_bytes

    def max_bytes(self) -> int:
        """How large a batch is likely to be taken everywhere."""
        return min([self.limits.batch_bytes, *(queue.max_bytes for queue in self._queues.values())])

    # -- in

    def fits(self, queue: PartitionQueue, size: int) -> bool:
        """Whether records of *size* bytes do not make a full batch of what is open, if anything is."""
        batch = queue.open
        return batch is None or batch.size_bytes + size <= batch.max_bytes

    def append(
        self,
        queue: PartitionQueue,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Sequence[tuple[str, bytes | None]],
        receipt: Any,
        now_s: float,
    ) -> bool:
        """Add one record; a batch that it does not fit in is closed before.

        :param receipt: None: nobody waits for it.
        :return: whether there is something to send, or something more to wait for: :meth:`due` tells.
        :raises TypeError: key, value, a header or the timestamp is of another type; nothing was added.
        :raises ValueError: the timestamp is out of range; nothing was added.
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
        self, queue: PartitionQueue, values: Sequence[bytes], timestamp_ms: int, receipt: Any, now_s: float
    ) -> int:
        """Add records that have a value and nothing else, in as few batches as they fit in.

        A list that does not fit in the open batch has one of its own, as large as it must be: what was
        handed over at once leaves at once.

        :return: in how many batches they are; the receipt hears of each.
        :raises TypeError: a value is not bytes; nothing was added.
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
        """Add a closed batch of records that are encoded already.

        :param records: as :meth:`kafkatx.records.builder.BatchBuilder.append_encoded` wants them.
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
        """Close what is open and open the next batch."""
        self.close(queue)
        limits = self.limits
        batch = queue.open = ProducerBatch(
            queue.topic,
            queue.partition,
            BatchBuilder(self._codec),
            now_s + limits.linger_s,
            now_s + limits.delivery_s,
            max_bytes=min(limits.batch_bytes, queue.max_bytes),
        )
        self.busy[queue] = None
        return batch

    def close(self, queue: PartitionQueue) -> None:
        """Nothing more is added to what is open."""
        batch = queue.open
        if batch is not None:
            batch.close()
            queue.waiting.append(batch)
            queue.open = None
            self.closed(queue.topic)

    def close_all(self) -> None:
        """Nothing more is added to whatever is open."""
        for queue in self.busy:
            self.close(queue)

    # -- out

    def due(self, now_s: float, hurry: bool = False) -> tuple[list[PartitionQueue], float]:
        """Which queues may send, oldest need first, and when to look again if nothing happens before.

        Open batches that have waited for long enough are closed, with *hurry* all of them, if they can be
        sent at once; those that can not go on filling.
        """
        ready = []
        again_s = math.inf
        limit = self.limits.in_flight
        for queue in self.busy:
            again_s = min(again_s, queue.deadline_s())
            if queue.not_before_s > now_s:
                again_s = min(again_s, queue.not_before_s)
            elif queue.sendable(limit):
                batch = None if queue.waiting or hurry else queue.open
                if batch is None or batch.due_s <= now_s or batch.size_bytes >= batch.max_bytes:
                    ready.append(queue)
                else:
                    again_s = min(again_s, batch.due_s)
        return ready, again_s

    def take(self, queue: PartitionQueue) -> ProducerBatch:
        """The batch that a queue of :meth:`due` sends now; others have their turn before its next one.

        :raises Exception: it cannot be sealed: :meth:`drop` it.
        """
        if not queue.waiting:
            self.close(queue)
        if len(self.busy) > 1:
            del self.busy[queue]
            self.busy[queue] = None
        return queue.take()

    def drop(self, queue: PartitionQueue) -> ProducerBatch:
        """Give up the batch that :meth:`take` could not seal; its memory is free."""
        return self._released([queue.drop()])[0]

    def complete_batch(self, batch: ProducerBatch, error: Exception | None, now_s: float) -> Outcome:
        """Act upon the answer to a batch that was taken.

        :param error: why it is not in the log; None if it is.
        """
        queue = self._queues[batch.topic, batch.partition]
        outcome = Outcome.DELIVERED if error is None else self._handle_error(queue, batch, error, now_s)
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
        self, queue: PartitionQueue, batch: ProducerBatch, error: Exception, now_s: float
    ) -> Outcome:
        """What becomes of a batch that is not in the log; one that is sent again is turned back at once."""
        batch.error = error
        code = code_of(error)
        if can_be_split(batch, code) and not batch.expired:
            queue.split(batch)
            return Outcome.RETRY
        if not queue.can_retry(batch, code):
            if not retriable(error) or batch.attempts > self.limits.retries:
                return Outcome.FAILED
            if now_s >= queue.not_before_s:  # of several that fail together the first makes the pause
                queue.not_before_s = now_s + self.backoff.pause_s(queue.failures)
                queue.failures += 1
        queue.requeue(batch)
        return Outcome.RETRY

    def expire(self, now_s: float) -> list[ProducerBatch]:
        """Give up what is past its deadline and return it; its memory is free."""
        late = [queue for queue in self.busy if queue.deadline_s() <= now_s]
        return self._released(batch for queue in late for batch in queue.expire(now_s))

    def abandon(self) -> list[ProducerBatch]:
        """Give up everything and return it: the producer is closed."""
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
        """Whether a queue has used up its producer id and needs :meth:`set_producer_id`."""
        return any(queue.id_and_epoch is None for queue in self.busy)

    def unsettled(self) -> Iterator[ProducerBatch]:
        """Every batch that somebody waits for."""
        for queue in self.busy:
            for batch in (*queue.in_flight, *queue.waiting):
                if not batch.expired:
                    yield batch
            if queue.open is not None:
                yield queue.open
