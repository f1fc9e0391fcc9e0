"""The state of one partition of a consumer: what is fetched, buffered, delivered and processed. Pure: no I/O.

Three offsets, each the next one of its kind, move through a partition::

    processed_offset <= position <= fetch_offset
      |                   |           the next offset to fetch; records between position and it are buffered
      |                   the next offset to deliver: Kafka's "position", committed by commit()
      all records below it are processed: committed by automatic commits

A record counts as processed when the application asks for the next one, as in Apache Kafka's consumer, which
commits automatically in ``poll``. Until then the records delivered last are the partition's *delivery*.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import attrs

from kafkatx.clientcore.audit.delivered import DeliveredRecords
from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodedBatch
from kafkatx.clientcore.consumer.fetch_buffer import FetchBuffer
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import Undecodable
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.errors import KafkaTXError
from kafkatx.types import NO_LEADER_EPOCH, TopicPartition

COMMITTED = -1000
"""Start at the group's committed offset. EARLIEST and LATEST are other values of ``start_at``."""

OUT_OF_RANGE = -1001
"""The log does not have the offset and ``auto.offset.reset`` is ``none``: look up what the log has."""

RESETS = {"earliest": EARLIEST, "latest": LATEST}
"""Timestamps for ``auto.offset.reset``, without "none"."""

UNKNOWN = -1
NO_NODE = -1


def _nothing() -> None:
    pass


class Delivery:
    """Records that are given to the application one by one.

    The iterating code sets :attr:`last` to each record before it hands it out. A seek, a pause or a rebalance
    takes the rest out of :attr:`remaining`, so the iteration ends by itself, without checking a flag for each
    record. No record is given out twice, even if the iteration runs in another thread: advancing a list
    iterator is atomic.

    :ivar state: the partition that the records are of.
    :ivar last: the record that was given out last.
    :ivar start_offset: the position before the delivery.
    :ivar as_batch: true if the records were given out as one list.
    :ivar on_interrupted: called when records were taken out of :attr:`remaining`.
    :ivar stale: true if the partition's position has been changed since, by a seek say.
    """

    __slots__ = ("as_batch", "last", "on_interrupted", "remaining", "stale", "start_offset", "state")

    def __init__(self, state: TopicPartitionState, records: list[Record], start_offset: int) -> None:
        self.state = state
        self.remaining: Iterator[Record] = iter(records)
        self.last: Record | None = None
        self.start_offset = start_offset
        self.as_batch = False
        self.on_interrupted: Callable[[], None] = _nothing
        self.stale = False

    def take_all(self) -> list[Record]:
        """Give out all records as one list: they are processed all together."""
        records = list(self.remaining)
        if records:
            self.last = records[-1]
            self.as_batch = True
        return records


@attrs.define(eq=False)
class TopicPartitionState:
    """One assigned partition.

    :ivar start_at: where to start (``COMMITTED``, ``EARLIEST``, ``LATEST``, ``OUT_OF_RANGE``); None once
        :attr:`fetch_offset` is known.
    :ivar revision: changes with each seek; responses to requests of an earlier revision are ignored.
    :ivar paused: the application has paused the partition.
    :ivar suspended: a rebalance is about to revoke the partition, or a listener still has to hear of its
        assignment; nothing is fetched or delivered.
    :ivar leader_epoch: of the last delivered record; -1 if unknown.
    :ivar fetch_epoch: of the last record before :attr:`fetch_offset`; -1 if unknown.
    :ivar validated_epoch: the leader epoch that :attr:`fetch_offset` is validated for: it was fetched from
        that leader, or that leader was asked.
    :ivar awaiting_validation: true if the partition has a new leader: nothing is fetched or delivered until
        the position was validated against that leader's log (KIP-320).
    :ivar error: the error at :attr:`position` in place of a record.
    :ivar preferred_read_replica: the broker to fetch from (KIP-392); -1: the leader.
    :ivar needed_bytes: the least to fetch, for a batch that is larger than a share.
    :ivar in_queue: true while the partition is in the buffer's queue.
    :ivar buffered_bytes: size of the buffered batches.
    :ivar delivered: counts delivered records that are not processed yet; None: they are not counted.
    :ivar high_watermark: as the last fetch response had it; *log_start_offset* likewise.
    """

    topic_partition: TopicPartition
    buffer: FetchBuffer[TopicPartitionState]
    start_at: int | None = COMMITTED
    fetch_offset: int = UNKNOWN
    revision: int = 0
    paused: bool = False
    suspended: bool = False
    error: KafkaTXError | None = None
    delivery: Delivery | None = None
    leader_epoch: int = NO_LEADER_EPOCH
    fetch_epoch: int = NO_LEADER_EPOCH
    validated_epoch: int = NO_LEADER_EPOCH
    awaiting_validation: bool = False
    high_watermark: int = UNKNOWN
    last_stable_offset: int = UNKNOWN
    log_start_offset: int = UNKNOWN
    preferred_read_replica: int = NO_NODE
    needed_bytes: int = 0
    in_queue: bool = False
    buffered_bytes: int = 0
    delivered: DeliveredRecords | None = None
    _completed: deque[CompletedFetch] = attrs.Factory(deque)
    _undelivered: list[Record] = attrs.Factory(list)
    _undelivered_end: int = UNKNOWN
    _batch: DecodedBatch | None = None
    _taken: int = 0
    _batch_bytes: int = 0
    _before_bytes: int | None = None
    _awaiting_decoders: bool = False
    _batch_end: int = UNKNOWN
    _offset: int = UNKNOWN
    _done: int = UNKNOWN

    @property
    def position(self) -> int:
        """The next offset to deliver; -1 if unknown."""
        delivery = self.delivery
        if delivery is None or delivery.stale:
            return self._offset
        return delivery.start_offset if delivery.last is None else delivery.last.offset + 1

    @property
    def processed_offset(self) -> int:
        """All records below this offset are processed; -1 if unknown."""
        delivery = self.delivery
        if delivery is None or delivery.stale:
            return self._done
        return delivery.start_offset if delivery.last is None or delivery.as_batch else delivery.last.offset

    @property
    def ready(self) -> bool:
        """True if there is a record or an error to deliver, and the partition is not stopped."""
        if self.paused or self.suspended or self.delivery is not None or self._awaiting_decoders:
            return False
        if self.awaiting_validation:
            return self.error is not None
        return bool(self._undelivered or self._batch or self._completed or self.error)

    @property
    def fetchable(self) -> bool:
        """True if records may be fetched, provided there is space."""
        return not (self.paused or self.suspended or self.unresolved or self.error is not None)

    @property
    def unresolved(self) -> bool:
        """True if a broker has to be asked where to continue."""
        return self.start_at is not None or self.awaiting_validation

    # -- the position

    def seek(self, offset: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        """Continue at an offset and drop buffered records; parameters as :meth:`set_position`.

        Delivered records count as processed if they are before the offset.
        """
        self.drop_buffered()
        if self.delivered is not None:
            self.delivered.take_back(offset)
            self.delivered.done()
        self.set_position(offset, leader_epoch)

    def set_position(self, offset: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        """Set the position, which was unknown.

        :param leader_epoch: of the record before it, if known.
        """
        self.start_at = None
        self._offset = self._done = self.fetch_offset = offset
        self.leader_epoch = self.fetch_epoch = leader_epoch
        self.validated_epoch = NO_LEADER_EPOCH
        self.awaiting_validation = False

    def request_offset_reset(self, start_at: int) -> None:
        """Continue at an end of the log, once its offset is known."""
        self.drop_buffered()
        if self.delivered is not None:
            if start_at == EARLIEST:
                self.delivered.take_back(0)
            self.delivered.done()
        self.start_at = start_at
        self._offset = self._done = self.fetch_offset = UNKNOWN
        self.leader_epoch = self.fetch_epoch = NO_LEADER_EPOCH
        self.awaiting_validation = False

    def maybe_validate(self, leader_epoch: int) -> bool:
        """Return True if the position has to be validated against the log of the leader with this epoch.

        That is so if the position was read from another leader; responses in flight are then ignored.
        """
        known = self.start_at is None and self.fetch_epoch >= 0 and self.error is None
        if known and leader_epoch > self.validated_epoch and not self.awaiting_validation:
            self.awaiting_validation = True
            self.revision += 1
        return self.awaiting_validation

    def complete_validation(self, leader_epoch: int, fetch_epoch: int) -> None:
        """Record that the leader with this epoch has all that was read, up to *fetch_epoch* at least."""
        self.awaiting_validation = False
        self.validated_epoch = leader_epoch
        self.fetch_epoch = fetch_epoch
        self.buffer.enqueue(self)

    def drop_buffered(self) -> None:
        """Drop buffered records and ignore fetches in flight; fetch again from :attr:`position` on."""
        delivery = self.delivery
        if delivery is not None:
            self._offset, self._done = self.position, self.processed_offset
            delivery.stale = True
            list(delivery.remaining)  # ends the iteration over it
            if self.delivered is not None:
                self.delivered.take_back(self._offset)
        self.revision += 1
        self.error = None
        self._completed.clear()
        self._undelivered, self._batch, self._batch_bytes = [], None, 0
        self._before_bytes, self._awaiting_decoders = None, False
        self.fetch_offset = self._offset
        self.fetch_epoch = self.leader_epoch
        self.buffer.release_bytes(self, self.buffered_bytes)

    # -- fetched records

    def add(self, completed: CompletedFetch) -> None:
        """Buffer a response to the fetch from :attr:`fetch_offset`."""
        self.fetch_offset = completed.end_offset
        self.fetch_epoch = completed.leader_epoch
        if completed:
            self._completed.append(completed)
            self.buffer.add_bytes(self, completed.remaining_bytes)

    def fail(self, error: KafkaTXError) -> None:
        """Put an error in the place of the next record."""
        self.error = error
        self.buffer.enqueue(self)

    # -- delivery

    def take(self, limit: int) -> list[Record]:
        """Return the next records of one batch, at most *limit*; none if :attr:`error` comes next.

        They count as delivered: :attr:`position` moves past them.
        """
        while not self._undelivered and self._batch is None:
            if not self._completed or not self._decode():
                break
        if self._undelivered:
            records, self._undelivered = self._undelivered[:limit], self._undelivered[limit:]
            if self.delivered is not None:
                self.delivered.add([each.offset for each in records], [each.timestamp_ms for each in records])
            self._offset = self._undelivered[0].offset if self._undelivered else self._undelivered_end
        elif self._batch is not None:
            records = self._take_from(self._batch, limit)
        else:
            return []
        self.leader_epoch = records[-1].leader_epoch
        return records

    def _take_from(self, batch: DecodedBatch, limit: int) -> list[Record]:
        start, end = self._taken, self._taken + limit
        records = batch.records(start, end)
        if self.delivered is not None:
            self.delivered.add(batch.offsets[start:end], batch.timestamps[start:end])
        if end < len(batch):
            self._taken = end
            self._offset = batch.offsets[end]
        else:
            self._batch = None
            self._offset = self._batch_end
            self._release()
        return records

    def start_delivery(self, limit: int) -> Delivery | None:
        """Return the next records, to be given out one by one; None if :attr:`error` comes next."""
        start = self._offset
        records = self.take(limit)
        if not records:
            return None
        self.delivery = Delivery(self, records, start)
        return self.delivery

    def finish_delivery(self, delivery: Delivery) -> None:
        """Mark the records that were given out of a delivery as processed."""
        if self.delivery is delivery:
            self.mark_processed()

    def mark_processed(self) -> None:
        """Mark all delivered records as processed."""
        self.interrupt_delivery()
        if self.delivered is not None:
            self.delivered.done()
        self.delivery = None
        self._done = self._offset
        self.buffer.enqueue(self)

    def interrupt_delivery(self) -> None:
        """Give out nothing more of the delivery; its rest is next again once the delivery is finished."""
        delivery = self.delivery
        if delivery is None or delivery.stale:
            return
        rest = list(delivery.remaining)
        if rest:
            if not self._undelivered:
                self._undelivered_end = self._offset
            self._undelivered = rest + self._undelivered
            self._offset = rest[0].offset
            if self.delivered is not None:
                self.delivered.take_back(self._offset)
            delivery.on_interrupted()

    def _decode(self) -> bool:
        """Decode the next batch; return False if decoders have to wait, or there is an error in its place."""
        completed = self._completed[0]
        before = self._before_bytes
        if before is None:
            before = self._before_bytes = completed.remaining_bytes
        try:
            if not completed.prepare_next(partial(self._decoders_prepared, self.revision)):
                self._awaiting_decoders = True
                return False
            self._before_bytes = None
            batch = completed.decode_next()
        except KafkaTXError as error:
            self._fail_at(error)
            return False
        if not completed:
            self._completed.popleft()
        self._taken = 0
        self._batch_end = completed.next_offset
        self._batch_bytes = before - completed.remaining_bytes
        if batch:
            self._batch = batch
        else:  # only control records, or all records were compacted away
            self._offset = self._batch_end
            self._release()
        return True

    def _decoders_prepared(self, revision: int, error: KafkaTXError | None) -> None:
        """Go on with the next batch, unless the position was changed meanwhile."""
        if revision != self.revision:
            return
        self._awaiting_decoders = False
        if error is not None:
            self._fail_at(error)
        self.buffer.enqueue(self)

    def _fail_at(self, error: KafkaTXError) -> None:
        """Drop all records after a batch that cannot be decoded, but keep those before its bad record."""
        self.revision += 1
        self.error = error
        self._completed.clear()
        self._before_bytes = None
        end = self._offset
        if isinstance(error, Undecodable):
            self._undelivered, end = list(error.records), error.offset
            self._undelivered_end = end
        self.fetch_offset = end
        self.fetch_epoch = self.leader_epoch
        self.buffer.release_bytes(self, self.buffered_bytes)

    def _release(self) -> None:
        """Release the space of the last decoded batch."""
        if self._batch_bytes:
            freed, self._batch_bytes = self._batch_bytes, 0
            self.buffer.release_bytes(self, freed)
