"""Where a consumer stands in a partition: what is to be fetched, is at hand, was handed out, and is done.

Three offsets, each the next one of its kind, move through a partition::

    done <= offset <= fetch_offset
      |       |         the next to ask the leader for; between offset and it the records are at hand
      |       the next to hand out: Kafka's "position", what commit() commits
      below it all is done: what automatic commits commit

A record counts as done when the application asks for what follows it, as in Apache Kafka's consumer, whose
automatic commits take place in ``poll``. What was handed out last is *in hand* until then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

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
"""Begin where the group has committed; EARLIEST and LATEST can stand in its place."""

OUT_OF_RANGE = -1001
"""The log does not have the offset, and settings do not say where to begin then: ask what it has."""

RESETS = {"earliest": EARLIEST, "latest": LATEST}
"""What ``auto.offset.reset`` stands for; "none" is not among them."""

UNKNOWN = -1
NO_NODE = -1


def _nothing() -> None:
    pass


class Delivery:
    """Records that go to the application one after the other.

    The iterating code sets :attr:`last` to each record before it hands it out. A seek, a pause or a rebalance
    takes the rest out of :attr:`remaining`, so the iteration ends by itself, without checking a flag for each
    record. No record is given out twice, even if the iteration runs in another thread: advancing a list
    iterator is atomic.
    """

    __slots__ = ("as_batch", "last", "on_interrupted", "remaining", "stale", "start_offset", "state")

    def __init__(self, position: TopicPartitionState, records: list[Record], start: int) -> None:
        self.state = position
        self.remaining: Iterator[Record] = iter(records)
        self.last: Record | None = None
        self.start_offset = start
        self.as_batch = False
        self.on_interrupted: Callable[[], None] = _nothing  # called when records were taken out of it
        self.stale = False  # the position has gone elsewhere meanwhile

    def take_all(self) -> list[Record]:
        """Give out all at once: none of them is done before all are."""
        records = list(self.remaining)
        if records:
            self.last = records[-1]
            self.as_batch = True
        return records


@attrs.define(eq=False)
class TopicPartitionState:
    """One partition of a consumer.

    :ivar topic_partition: which partition.
    :ivar start_at: where to begin (``COMMITTED``, ``EARLIEST``, ``LATEST``, ``OUT_OF_RANGE``); None once
        :attr:`fetch_offset` is known.
    :ivar revision: another number after each seek: replies to what was asked before it are of no use.
    :ivar paused: the application wants nothing of it for now.
    :ivar suspended: it is about to be revoked: nothing more is handed out.
    :ivar leader_epoch: of the last record that was handed out; *fetch_epoch* of the last one before
        :attr:`fetch_offset`; -1: not known.
    :ivar validated_epoch: of the leader that :attr:`fetch_offset` fits the log of: it was read there, or the
        leader was asked.
    :ivar awaiting_validation: true if the partition has a new leader: nothing is fetched or handed out until
        the position was validated against that leader's log (KIP-320).
    :ivar error: what stands at :attr:`position` in place of a record.
    :ivar preferred_read_replica: who gives the records in the leader's place (KIP-392); -1: the leader does.
    :ivar needed_bytes: how much is to be asked for at least, for a batch that is larger than a share.
    :ivar in_queue: whether the shelf has it in its row.
    :ivar buffered_bytes: of batches at hand.
    :ivar delivered: what is handed out and not done; None: nobody counts it.
    :ivar high_watermark: the end of the log, as the last reply had it; *log_start_offset* its beginning.
    """

    topic_partition: TopicPartition
    buffer: FetchBuffer
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
    _fetched: deque[CompletedFetch] = attrs.Factory(deque)
    _returned: list[Record] = attrs.Factory(list)
    _returned_end: int = UNKNOWN
    _batch: DecodedBatch | None = None
    _taken: int = 0
    _batch_bytes: int = 0
    _batch_end: int = UNKNOWN
    _offset: int = UNKNOWN
    _done: int = UNKNOWN

    @property
    def position(self) -> int:
        """The next to hand out; -1: not known yet."""
        hand = self.delivery
        if hand is None or hand.stale:
            return self._offset
        return hand.start_offset if hand.last is None else hand.last.offset + 1

    @property
    def processed_offset(self) -> int:
        """All below it is done; -1: not known yet."""
        hand = self.delivery
        if hand is None or hand.stale:
            return self._done
        return hand.start_offset if hand.last is None or hand.as_batch else hand.last.offset

    @property
    def ready(self) -> bool:
        """Whether there is something to hand out, be it an error, and it may be."""
        if self.paused or self.suspended or self.delivery is not None:
            return False
        if self.awaiting_validation:
            return self.error is not None
        return bool(self._returned or self._batch or self._fetched or self.error)

    @property
    def fetchable(self) -> bool:
        """Whether more is to be fetched, where there is room."""
        return not (self.paused or self.suspended or self.unresolved or self.error is not None)

    @property
    def unresolved(self) -> bool:
        """Whether somebody has to be asked before it is known where to go on."""
        return self.start_at is not None or self.awaiting_validation

    # -- where to begin

    def seek(self, offset: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        """Go on from an offset; what is at hand is dropped; as :meth:`set_position`.

        Records in hand are done as far as they are before the offset.
        """
        self.drop_buffered()
        if self.delivered is not None:
            self.delivered.take_back(offset)
            self.delivered.done()
        self.set_position(offset, leader_epoch)

    def set_position(self, offset: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        """Where to begin is known now.

        :param leader_epoch: of the record before it, where that is known.
        """
        self.start_at = None
        self._offset = self._done = self.fetch_offset = offset
        self.leader_epoch = self.fetch_epoch = leader_epoch
        self.validated_epoch = NO_LEADER_EPOCH
        self.awaiting_validation = False

    def request_offset_reset(self, begin: int) -> None:
        """Go on from the beginning or the end, once it is known where that is."""
        self.drop_buffered()
        if self.delivered is not None:
            if begin == EARLIEST:
                self.delivered.take_back(0)
            self.delivered.done()
        self.start_at = begin
        self._offset = self._done = self.fetch_offset = UNKNOWN
        self.leader_epoch = self.fetch_epoch = NO_LEADER_EPOCH
        self.awaiting_validation = False

    def maybe_validate(self, leader_epoch: int) -> bool:
        """The leader's epoch is this now: tell whether it has to be asked before anything else is done.

        What it has of this position was read from another leader then; replies that are under way are, too.
        """
        known = self.start_at is None and self.fetch_epoch >= 0 and self.error is None
        if known and leader_epoch > self.validated_epoch and not self.awaiting_validation:
            self.awaiting_validation = True
            self.revision += 1
        return self.awaiting_validation

    def complete_validation(self, leader_epoch: int, fetch_epoch: int) -> None:
        """What was read is in the log of the leader of this epoch, up to *fetch_epoch* at least."""
        self.awaiting_validation = False
        self.validated_epoch = leader_epoch
        self.fetch_epoch = fetch_epoch
        self.buffer.enqueue(self)

    def drop_buffered(self) -> None:
        """Drop buffered records and ignore fetches in flight; fetch again from :attr:`position` on."""
        hand = self.delivery
        if hand is not None:
            self._offset, self._done = self.position, self.processed_offset
            hand.stale = True
            list(hand.remaining)  # which ends the iteration over it
            if self.delivered is not None:
                self.delivered.take_back(self._offset)
        self.revision += 1
        self.error = None
        self._fetched.clear()
        self._returned, self._batch, self._batch_bytes = [], None, 0
        self.fetch_offset = self._offset
        self.fetch_epoch = self.leader_epoch
        self.buffer.release_bytes(self, self.buffered_bytes)

    # -- what comes

    def add(self, fetched: CompletedFetch) -> None:
        """A reply had this, from :attr:`fetch_offset` on."""
        self.fetch_offset = fetched.end_offset
        self.fetch_epoch = fetched.leader_epoch
        if fetched:
            self._fetched.append(fetched)
            self.buffer.add_bytes(self, fetched.remaining_bytes)

    def fail(self, error: KafkaTXError) -> None:
        """There is an error where the next record should be."""
        self.error = error
        self.buffer.enqueue(self)

    # -- what goes

    def take(self, limit: int) -> list[Record]:
        """The next records, at most *limit*, of one batch; none where :attr:`error` comes next.

        The application has them then: :attr:`position` is behind them.
        """
        while not self._returned and self._batch is None:
            if not self._fetched or not self._decode():
                break
        if self._returned:
            records, self._returned = self._returned[:limit], self._returned[limit:]
            if self.delivered is not None:
                self.delivered.add([each.offset for each in records], [each.timestamp_ms for each in records])
            self._offset = self._returned[0].offset if self._returned else self._returned_end
        elif self._batch is not None:
            records = self._cut(self._batch, limit)
        else:
            return []
        self.leader_epoch = records[-1].leader_epoch
        return records

    def _cut(self, batch: DecodedBatch, limit: int) -> list[Record]:
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
        """The next records, to be handed out one by one; None where :attr:`error` comes next."""
        start = self._offset
        records = self.take(limit)
        if not records:
            return None
        self.delivery = Delivery(self, records, start)
        return self.delivery

    def finish_delivery(self, hand: Delivery) -> None:
        """What was given out of a hand is done."""
        if self.delivery is hand:
            self.mark_processed()

    def mark_processed(self) -> None:
        """All that was given out is done."""
        self.interrupt_delivery()
        if self.delivered is not None:
            self.delivered.done()
        self.delivery = None
        self._done = self._offset
        self.buffer.enqueue(self)

    def interrupt_delivery(self) -> None:
        """Give out nothing more of what is in hand: it is the next again, once the hand is finished."""
        hand = self.delivery
        if hand is None or hand.stale:
            return
        rest = list(hand.remaining)
        if rest:
            if not self._returned:
                self._returned_end = self._offset
            self._returned = rest + self._returned
            self._offset = rest[0].offset
            if self.delivered is not None:
                self.delivered.take_back(self._offset)
            hand.on_interrupted()

    def _decode(self) -> bool:
        """Decode the next batch; false if there is an error in its place."""
        fetched = self._fetched[0]
        before = fetched.remaining_bytes
        try:
            batch = fetched.decode_next()
        except KafkaTXError as error:
            self._fail_at(error)
            return False
        if not fetched:
            self._fetched.popleft()
        self._taken = 0
        self._batch_end = fetched.next_offset
        self._batch_bytes = before - fetched.remaining_bytes
        if batch:
            self._batch = batch
        else:  # control records, or all of it was compacted away
            self._offset = self._batch_end
            self._release()
        return True

    def _fail_at(self, error: KafkaTXError) -> None:
        """Nothing behind a batch that cannot be read is handed out, but what it has before its bad record."""
        self.revision += 1
        self.error = error
        self._fetched.clear()
        end = self._offset
        if isinstance(error, Undecodable):
            self._returned, end = list(error.records), error.offset
            self._returned_end = end
        self.fetch_offset = end
        self.fetch_epoch = self.leader_epoch
        self.buffer.release_bytes(self, self.buffered_bytes)

    def _release(self) -> None:
        """The batch decoded last is gone."""
        if self._batch_bytes:
            freed, self._batch_bytes = self._batch_bytes, 0
            self.buffer.release_bytes(self, freed)
