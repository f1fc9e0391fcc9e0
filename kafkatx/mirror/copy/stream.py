"""A stream: copies one partition of a source, batch by batch, and knows how far it is.

A batch is sent when the one before it is in the log, never two at once. Its sequence numbers follow those
that the log has, so a broker takes it only if nothing else of this stream was appended meanwhile: not by a
former process whose last request comes late, nor by a second mirror. Otherwise (:class:`Conflict`) the stream
reads from the log where it is, and goes on from there. The first batch after that is read back, because a
broker also answers "written" to a batch of another process that has the same sequence numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed, retriable
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.mirror.copy.appender import Conflict, TooLarge
from kafkatx.mirror.copy.ports import SourcePort, TargetPort
from kafkatx.mirror.core.encoder import BatchEncoder
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.provenance import HeaderStamp, StreamId, passed_through, producer_id
from kafkatx.mirror.core.record_queue import RecordQueue
from kafkatx.mirror.core.status import State, StreamStatus
from kafkatx.mirror.core.tail import SEQUENCES
from kafkatx.records.compression import Codec
from kafkatx.types import TopicPartition

RETRY_S = 10.0
"""Pause after an error that a person has to mend."""

RECREATED = (
    "the topic {topic} was deleted at the source and made anew: its offsets mean other records now. To copy "
    "the new one delete {target} in the target, or set another name with rename; then restart the mirror"
)
"""Why a stream is given up; :data:`TARGET_DELETED` likewise."""

TARGET_DELETED = (
    "the topic {target} was deleted in the target while it was copied. Restart the mirror to copy it again, "
    "from the source's first record"
)


@attrs.frozen(eq=False)
class StreamOptions:
    """Settings of all streams."""

    batch_bytes: int
    batch_records: int
    codec: Codec


class Stream:
    """Copies the records of one source partition.

    :ivar position: how far the target's log has the source, and the producer's next numbers.
    :ivar status: the same for people.
    """

    _log = Logger()

    def __init__(
        self,
        stream: StreamId,
        topic_id: str,
        source: SourcePort,
        target: TargetPort,
        keep: Callable[[Record], bool] | None,
        options: StreamOptions,
    ) -> None:
        self.id = stream
        self.topic_id = topic_id
        self.place = TopicPartition(stream.topic, stream.partition)
        self.target_place = TopicPartition(stream.target, stream.partition)
        self.producer_id = producer_id(stream.cluster_id, stream.topic)
        self.position = Position(-1, producer_id=self.producer_id, topic_id=topic_id)
        self.status = StreamStatus(stream)
        self._source = source
        self._target = target
        self._reactor = target.reactor
        self._keep = keep
        self._encoder = BatchEncoder(
            HeaderStamp(stream.cluster_id, stream.topic, stream.partition), options.codec
        )
        self._queue = RecordQueue(options.batch_bytes, options.batch_records)
        self._paused = True
        self._skip = 0
        self._counted_to = -1
        self._unverified = True
        self._forgotten = False
        self._accepts = False
        self._unreadable: KafkaTXError | None = None
        self._stopping = False
        self._wake_up: Deferred[None] | None = None
        self._running: Deferred[None] | None = None
        self._backoff = Backoff()

    @property
    def idle(self) -> bool:
        """True if everything that the source has passed is copied."""
        return self._wake_up is not None and not self._queue

    # -- start and stop

    def start(self) -> None:
        """Find out where to go on, and copy until :meth:`stop`."""
        running: Deferred[None] = Deferred.fromCoroutine(self._run())
        running.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
        running.addErrback(lambda failure: self._log.failure("a stream has ended", failure))
        self._running = running

    async def stop(self, timeout_s: float) -> None:
        """Copy nothing more; wait for a batch in flight, at most *timeout_s*."""
        self._stopping = True
        self._reject()
        running = self._running
        if running is None or running.called:
            return
        if self._wake_up is not None or self.status.state is not State.COPYING:
            running.cancel()
        timer = self._reactor.callLater(timeout_s, running.cancel)
        try:
            await running
        finally:
            if timer.active():
                timer.cancel()

    async def _run(self) -> None:
        failures = 0
        while not self._stopping:
            copied = self.status.records
            try:
                await self._recover()
                await self._copy()
                continue
            except (CancelledError, ClientClosed):
                raise
            except Conflict as error:
                pause_s = self._conflict(error)
            except KafkaTXError as error:
                failures = 0 if self.status.records > copied else failures + 1
                pause_s = self._backoff.pause_s(failures) if retriable(error) else RETRY_S
                self._fail(str(error))
            except Exception as error:
                self._log.failure("{stream}: copying", stream=self.id)
                pause_s = RETRY_S
                self._fail(f"{type(error).__name__}: {error}")
            self._reject()
            if not self._stopping:
                await deferLater(self._reactor, pause_s)

    def _conflict(self, error: Conflict) -> float:
        self.status.conflicts += 1
        if self.status.conflicts in (3, 30, 300):
            self._log.warn(
                "{place}: {count} times something else was appended for {stream}: is a second mirror "
                "running? ({error})",
                place=self.target_place,
                count=self.status.conflicts,
                stream=self.id,
                error=error,
            )
        return self._backoff.pause_s(min(self.status.conflicts, 4))

    def _fail(self, why: str) -> None:
        if self.status.state is not State.FAILED or self.status.failure != why:
            self._log.error("{stream} is not copied: {why}", stream=self.id, why=why)
        self.status.state, self.status.failure = State.FAILED, why

    def fail_source(self, error: KafkaTXError) -> None:
        """Fail with an error that stands in the place of the source's next record, after those before it."""
        self._unreadable = error
        self._pause()
        self._wake()

    def recreated(self) -> None:
        """Stop for good: the source's topic was made anew."""
        if not self._stopping:
            self.give_up(RECREATED.format(topic=self.id.topic, target=self.id.target))

    def target_deleted(self) -> None:
        """Stop for good: the copies are gone, and what would follow them must not begin another topic."""
        if not self._stopping:
            self.give_up(TARGET_DELETED.format(target=self.id.target))

    def give_up(self, why: str) -> None:
        """Stop for good: a person has to decide."""
        self._fail(why)
        self.discard()

    def discard(self) -> None:
        """Stop at once; the result of a batch in flight is not waited for."""
        self._stopping = True
        self._reject()
        if self._running is not None and not self._running.called:
            self._running.cancel()

    # -- where to go on

    async def _recover(self) -> None:
        if self.status.state is not State.FAILED:
            self.status.state = State.STARTING
        found = await self._target.recover(self)
        if found.topic_id and self.topic_id and found.topic_id != self.topic_id:
            self.recreated()
            return
        resumption = found.resumption
        position = resumption.position
        if found.lost:
            self._log.warn(
                "{place}: the target has lost copies of {stream}; they are copied again",
                place=self.target_place,
                stream=self.id,
            )
        if position.source < 0:
            again = found.lost or resumption.skip > 0
            offset = await self._source.first_offset(self.place, again)
            position = attrs.evolve(position, source=offset)
            if position.target < 0:
                position = attrs.evolve(position, target=found.end)
            await self._target.note(self, position)
        for copied in found.copied:
            self._target.copied(self, copied.sources, copied.target)
        if self._forgotten:
            # Brokers before Kafka 2.5 forget a producer whose batches are deleted, and want sequence 0 then.
            self._forgotten = False
            position = attrs.evolve(position, sequence=0, producer_epoch=position.producer_epoch + 1)
        self.position = position
        self._skip = resumption.skip
        self._counted_to = position.source
        self._unverified = True
        self.status.source_next, self.status.target_next = position.source, position.target
        if self._stopping:
            return
        self.status.state, self.status.failure = State.COPYING, ""
        self._accepts, self._paused = True, False
        self._source.begin(self.place, position.source)

    # -- records in

    def feed(self, records: list[Record]) -> int:
        """Take records of the source, in order; return the number of bytes that count as queued."""
        if not self._accepts:
            return 0  # they are read again, from where the log ends
        size = self._queue.add(records)
        if self._queue.full:
            self._pause()
        self._wake()
        return size

    def _wake(self) -> None:
        waiter, self._wake_up = self._wake_up, None
        if waiter is not None:
            waiter.callback(None)

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self._source.pause(self.place)

    def _reject(self) -> None:
        """Drop what is queued, and what comes before the next recovery."""
        self._accepts = False
        self._unreadable = None
        self._pause()
        self._source.done(self._queue.clear())

    def _take(self) -> list[Record]:
        """Return the records of the next batch, and let the source pass more."""
        taken, size = self._queue.take()
        self._source.done(size)
        stays = self._unreadable is not None or self._stopping
        if self._paused and self._queue.low and not stays:
            self._paused = False
            self._source.resume(self.place)
        return taken

    # -- copying

    async def _copy(self) -> None:
        while not self._stopping:
            if not self._queue:
                unreadable, self._unreadable = self._unreadable, None
                if unreadable is not None:
                    raise unreadable
                self._wake_up = Deferred()
                try:
                    await self._wake_up
                finally:
                    self._wake_up = None
                continue
            taken = self._take()
            kept = self._select(taken)
            if kept:
                await self._write(kept)
            next_offset = taken[-1].offset + 1
            self._count(next_offset, ())
            self.position = attrs.evolve(self.position, source=next_offset)
            self.status.source_next = next_offset

    def _select(self, records: list[Record]) -> list[Record]:
        """Return the records to copy."""
        target_id = self._target.cluster_id
        kept = [
            record
            for record in records
            if not record.encoded_headers or not passed_through(record.encoded_headers, target_id)
        ]
        self.status.cycled += len(records) - len(kept)
        if self._keep is not None:
            passed = [record for record in kept if self._keep(record)]
            self.status.filtered += len(kept) - len(passed)
            kept = passed
        if self._skip:
            skipped = min(self._skip, len(kept))
            self._skip -= skipped
            self._count(kept[skipped - 1].offset + 1, kept[:skipped])
            kept = kept[skipped:]
        return kept

    async def _write(self, records: list[Record]) -> None:
        position = self.position
        batch = self._encoder.encode(
            records, position.producer_id, position.producer_epoch, position.sequence
        )
        await self._target.admit(len(batch))
        try:
            base = await self._target.append(self.target_place, batch)
        except TooLarge as error:
            if len(records) == 1:
                raise TooLarge(
                    error.code,
                    f"the record at offset {records[0].offset} is {len(batch)} bytes with its provenance, "
                    "above "
                    f"max.message.bytes of {self.target_place.topic} in the target: increase that config",
                ) from error
            half = len(records) // 2
            await self._write(records[:half])
            await self._write(records[half:])
            return
        except Conflict as error:
            if error.code is ErrorCode.UNKNOWN_PRODUCER_ID:
                self._forgotten = True
            raise
        sources = [record.offset for record in records]
        if self._unverified:
            await self._verify(sources, base)
        self.position = attrs.evolve(
            position,
            source=sources[-1] + 1,
            target=base + len(records),
            sequence=(position.sequence + len(records)) % SEQUENCES,
        )
        self._target.copied(self, sources, base)
        self._count(sources[-1] + 1, records)
        status = self.status
        status.records += len(records)
        status.bytes += len(batch)
        status.target_next = self.position.target
        status.time_ms = records[-1].timestamp_ms

    def _count(self, end: int, records: Sequence[Record]) -> None:
        """Count for the audit what is copied up to a source offset, exclusive."""
        if end > self._counted_to:
            self._target.counted(self, self._counted_to, end, records)
            self._counted_to = end

    async def _verify(self, sources: list[int], base: int) -> None:
        """Check that the log has these records where the broker says that it has written them.

        :raises Conflict: it has others.
        """
        found = await self._target.read_back(self, base) if base >= 0 else []
        if not any(copied.target == base and copied.sources[: len(sources)] == sources for copied in found):
            raise Conflict(
                ErrorCode.DUPLICATE_SEQUENCE_NUMBER, f"{self.target_place}: offset {base} has another batch"
            )
        self._unverified = False
