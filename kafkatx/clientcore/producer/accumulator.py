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
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES, Batch, Identity, pieces, record_bytes
from kafkatx.clientcore.producer.partition_queue import Outbox
from kafkatx.clientcore.producer.requests import code_of, may_be_cut
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec

BATCH_BYTES = 1_000_000
"""Below Kafka's default ``max.message.bytes`` of 1 MiB and 12 bytes, by more than a header."""

NO_PAUSE = Backoff(first_ms=0, longest_ms=0)


@attrs.frozen
class Limits:
    """When a batch is closed and when it is sent.

    :ivar batch_bytes: a batch has at most so much, unless one record or one list has more; it is closed when
        the next record does not fit, and sent at once.
    :ivar most_bytes: a list that is sent at once is cut into batches of at most so much.
    :ivar linger_s: how long an open batch waits for more.
    :ivar buffer_bytes: how much may be gathered and under way.
    :ivar delivery_s: how long a record may be on its way.
    :ivar in_flight: how many batches of one partition may be under way.
    :ivar retries: how often a batch is sent again.
    """

    batch_bytes: int = BATCH_BYTES
    most_bytes: int = BATCH_BYTES
    linger_s: float = math.inf
    buffer_bytes: int = 1 << 62
    delivery_s: float = math.inf
    in_flight: int = 5
    retries: int = 1 << 31


class Outcome(enum.Enum):
    """What an answer means for a batch: it is settled, or will be sent again."""

    DELIVERED = "it is in the log"
    AGAIN = "it is sent again, perhaps in two halves"
    REFUSED = "it is given up"


class Accumulator:
    """The outboxes of all partitions.

    :ivar busy: the outboxes that hold anything, in the order in which they got it.
    :ivar used_bytes: what all records that are not settled take.
    :ivar closed: called with the topic whenever a batch is closed; it must not raise.
    :ivar stamp_bytes: what is added to each record; see :mod:`kafkatx.clientcore.audit.server_header`.
    :ivar open_below: the owner may append without further ado while less than this is used; it is the owner's
        to change.
    """

    stamp_bytes = 0

    def __init__(
        self,
        limits: Limits,
        codec: Codec = Codec.NONE,
        closed: Callable[[str], None] = lambda topic: None,
        identity: Identity | None = None,
        backoff: Backoff = NO_PAUSE,
    ) -> None:
        """Begin with nothing.

        :param closed: called with the topic whenever a batch is closed (a sticky partitioner's moment).
        :param identity: None where it is not known yet: see :meth:`identify`.
        :param backoff: how long a partition rests after a failure.
        """
        self.limits = limits
        self.backoff = backoff
        self.busy: dict[Outbox, None] = {}
        self.used_bytes = 0
        self.open_below = limits.buffer_bytes
        self._codec = codec
        self.closed = closed
        self._identity = identity
        self._outboxes: dict[tuple[str, int], Outbox] = {}

    def outbox(self, topic: str, partition: int) -> Outbox:
        """The outbox of a partition."""
        found = self._outboxes.get((topic, partition))
        if found is None:
            found = Outbox(topic, partition, self._identity)
            self._outboxes[topic, partition] = found
        return found

    def identify(self, identity: Identity) -> None:
        """Take the producer's identity: for new outboxes, and for those that lack one."""
        self._identity = identity
        for outbox in self._outboxes.values():
            if outbox.identity is None:
                outbox.identify(identity)

    @property
    def full(self) -> bool:
        """Whether nothing more should be appended for now."""
        return self.used_bytes >= self.limits.buffer_bytes

    def most_bytes(self) -> int:
        """How large a batch is likely to be taken everywhere."""
        return min([self.limits.batch_bytes, *(outbox.most_bytes for outbox in self._outboxes.values())])

    # -- in

    def fits(self, outbox: Outbox, size: int) -> bool:
        """Whether records of *size* bytes do not make a full batch of what is open, if anything is."""
        batch = outbox.open
        return batch is None or batch.size_bytes + size <= batch.most_bytes

    def append(
        self,
        outbox: Outbox,
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
        batch = outbox.open
        if batch is None or batch.size_bytes + size > batch.most_bytes:
            batch = self._begin(outbox, now_s)
        index = batch.rows.append(key, value, timestamp_ms, headers)
        if receipt is not None:
            batch.entries += (receipt, index, 1, timestamp_ms)
        batch.size_bytes += size
        self.used_bytes += size
        return index == 0 or batch.size_bytes >= batch.most_bytes

    def append_values(
        self, outbox: Outbox, values: Sequence[bytes], timestamp_ms: int, receipt: Any, now_s: float
    ) -> int:
        """Add records that have a value and nothing else, in as few batches as they fit in.

        A list that does not fit in the open batch has one of its own, as large as it must be: what was
        handed over at once leaves at once.

        :return: in how many batches they are; the receipt hears of each.
        :raises TypeError: a value is not bytes; nothing was added.
        """
        check_timestamp(timestamp_ms)
        values = checked_values(values)
        parts = list(pieces(values, min(self.limits.most_bytes, outbox.most_bytes)))
        for piece, payload in parts:
            size = payload + RECORD_OVERHEAD_BYTES * len(piece)
            batch = outbox.open
            if batch is None or batch.size_bytes + size > batch.most_bytes:
                batch = self._begin(outbox, now_s)
            index = batch.rows.extend(piece, timestamp_ms)
            batch.entries += (receipt, index, len(piece), timestamp_ms)
            batch.size_bytes += size
            self.used_bytes += size
        return len(parts)

    def append_encoded(
        self,
        outbox: Outbox,
        records: bytes | memoryview,
        count: int,
        payload_bytes: int,
        timestamp_ms: int,
    ) -> None:
        """Add a closed batch of records that are encoded already.

        :param records: as :meth:`kafkatx.records.builder.BatchBuilder.append_encoded` wants them.
        """
        self.close(outbox)
        batch = self._begin(outbox, 0.0)
        assert batch.builder is not None
        batch.builder.append_encoded(records, count, timestamp_ms)
        batch.rows.times += (0, timestamp_ms)
        batch.records = count
        batch.payload_bytes = payload_bytes
        batch.size_bytes = len(records)
        self.used_bytes += batch.size_bytes
        self.close(outbox)

    def _begin(self, outbox: Outbox, now_s: float) -> Batch:
        """Close what is open and open the next batch."""
        self.close(outbox)
        limits = self.limits
        batch = outbox.open = Batch(
            outbox.topic,
            outbox.partition,
            BatchBuilder(self._codec),
            now_s + limits.linger_s,
            now_s + limits.delivery_s,
            most_bytes=min(limits.batch_bytes, outbox.most_bytes),
        )
        self.busy[outbox] = None
        return batch

    def close(self, outbox: Outbox) -> None:
        """Nothing more is added to what is open."""
        batch = outbox.open
        if batch is not None:
            batch.close()
            outbox.waiting.append(batch)
            outbox.open = None
            self.closed(outbox.topic)

    def close_all(self) -> None:
        """Nothing more is added to whatever is open."""
        for outbox in self.busy:
            self.close(outbox)

    # -- out

    def due(self, now_s: float, hurry: bool = False) -> tuple[list[Outbox], float]:
        """Which outboxes may send, oldest need first, and when to look again if nothing happens before.

        Open batches that have waited for long enough are closed, with *hurry* all of them, if they can be
        sent at once; those that can not go on filling.
        """
        ready = []
        again_s = math.inf
        limit = self.limits.in_flight
        for outbox in self.busy:
            again_s = min(again_s, outbox.deadline_s())
            if outbox.not_before_s > now_s:
                again_s = min(again_s, outbox.not_before_s)
            elif outbox.sendable(limit):
                batch = None if outbox.waiting or hurry else outbox.open
                if batch is None or batch.due_s <= now_s or batch.size_bytes >= batch.most_bytes:
                    ready.append(outbox)
                else:
                    again_s = min(again_s, batch.due_s)
        return ready, again_s

    def take(self, outbox: Outbox) -> Batch:
        """The batch that an outbox of :meth:`due` sends now; others have their turn before its next one.

        :raises Exception: it cannot be sealed: :meth:`drop` it.
        """
        if not outbox.waiting:
            self.close(outbox)
        if len(self.busy) > 1:
            del self.busy[outbox]
            self.busy[outbox] = None
        return outbox.take()

    def drop(self, outbox: Outbox) -> Batch:
        """Give up the batch that :meth:`take` could not seal; its memory is free."""
        return self._released([outbox.drop()])[0]

    def answered(self, batch: Batch, error: Exception | None, now_s: float) -> Outcome:
        """Act upon the answer to a batch that was taken.

        :param error: why it is not in the log; None if it is.
        """
        outbox = self._outboxes[batch.topic, batch.partition]
        outcome = Outcome.DELIVERED if error is None else self._judge(outbox, batch, error, now_s)
        if outcome is Outcome.DELIVERED:
            outbox.delivered(batch)
        elif outcome is Outcome.REFUSED:
            outbox.refused(batch)
        if outcome is not Outcome.AGAIN and not batch.abandoned:
            self.used_bytes -= batch.size_bytes
        if outbox.idle:
            self.busy.pop(outbox, None)
        return outcome

    def _judge(self, outbox: Outbox, batch: Batch, error: Exception, now_s: float) -> Outcome:
        """What becomes of a batch that is not in the log; one that is sent again is turned back at once."""
        batch.error = error
        code = code_of(error)
        if may_be_cut(batch, code) and not batch.abandoned:
            outbox.cut(batch)
            return Outcome.AGAIN
        if not outbox.misplaced(batch, code):
            if not retriable(error) or batch.attempts > self.limits.retries:
                return Outcome.REFUSED
            if now_s >= outbox.not_before_s:  # of several that fail together the first makes the pause
                outbox.not_before_s = now_s + self.backoff.pause_s(outbox.failures)
                outbox.failures += 1
        outbox.failed(batch)
        return Outcome.AGAIN

    def expire(self, now_s: float) -> list[Batch]:
        """Give up what is past its deadline and return it; its memory is free."""
        late = [outbox for outbox in self.busy if outbox.deadline_s() <= now_s]
        return self._released(batch for outbox in late for batch in outbox.expire(now_s))

    def abandon(self) -> list[Batch]:
        """Give up everything and return it: the producer is closed."""
        batches = self._released(batch for outbox in list(self.busy) for batch in outbox.abandon())
        self.busy.clear()
        return batches

    def _released(self, batches: Iterable[Batch]) -> list[Batch]:
        given_up = list(batches)
        for batch in given_up:
            self.used_bytes -= batch.size_bytes
            outbox = self._outboxes[batch.topic, batch.partition]
            if outbox.idle:
                self.busy.pop(outbox, None)
        return given_up

    def wants_identity(self) -> bool:
        """Whether an outbox has used up its identity and needs :meth:`identify`."""
        return any(outbox.identity is None for outbox in self.busy)

    def unsettled(self) -> Iterator[Batch]:
        """Every batch that somebody waits for."""
        for outbox in self.busy:
            for batch in (*outbox.in_flight, *outbox.waiting):
                if not batch.abandoned:
                    yield batch
            if outbox.open is not None:
                yield outbox.open
