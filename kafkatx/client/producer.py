"""The producer: records in, Deferreds out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.logger import Logger

from kafkatx.client.auditing import auditor
from kafkatx.client.border import client_cluster
from kafkatx.client.cluster import Cluster
from kafkatx.client.gathering import Gathering, Headers
from kafkatx.client.parts import encoder, part
from kafkatx.client.receipts import FlushReceipt, ListReceipt, disappoint
from kafkatx.client.room import Room
from kafkatx.client.sending import Manner, Sender
from kafkatx.client.waiting import Waiters
from kafkatx.clientside.accumulator import Accumulator
from kafkatx.clientside.backoff import JITTER, Backoff
from kafkatx.clientside.batches import NOT_IDEMPOTENT, RECORD_OVERHEAD_BYTES, record_bytes
from kafkatx.clientside.errors import ClientClosed
from kafkatx.clientside.outgoing import NO_OFFSET, BatchMetadata, ProducerRecord, RecordMetadata
from kafkatx.clientside.producing import acks_of, is_idempotent, limits_of
from kafkatx.clientside.tables import common, producer
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IEventHandler, IPartitioner, IProducerCallbacks
from kafkatx.records.compression import codec_named


class Producer:
    """Sends records to topics, in batches that are made by themselves::

        producer = Producer(bootstrap_servers="127.0.0.1:9092")
        await producer.start()
        await producer.send("events", b"value", key=b"key")
        await producer.close()

    Records of one partition keep their order whatever fails on the way, and by default (idempotence,
    acks=all) none is there twice.

    With ``buffer.memory`` full a call waits for room, in the order of the calls, for ``max.block.ms`` at the
    most; with ``max.block.ms=0`` it fails at once. What waits there takes memory, too, and how many calls
    wait is the application's affair: whoever sends faster than the brokers take does
    ``await producer.ready()`` now and then.

    Calls never raise: what is wrong is in the Deferred they return. Cancelling that drops the answer, not the
    record, unless that waits for room yet. Used from the reactor thread only.
    """

    _log = Logger()

    def __init__(
        self,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        reactor: Any = None,
        cluster: Cluster | None = None,
        **more: Any,
    ) -> None:
        """Make it; :meth:`start` connects.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the one that is installed.
        :param cluster: one to share; it is not closed with the producer.
        :raises SettingError: a setting is unknown or has a bad value, or two cannot be together.
        """
        self.settings, self.cluster = client_cluster("producer", {**settings, **more}, reactor, cluster)
        chosen = self.settings
        self._idempotent = is_idempotent(chosen)
        limits = limits_of(chosen)
        partitioner = part(chosen, producer.PARTITIONER_CLASS, IPartitioner)
        self._encode_key = encoder(chosen, producer.KEY_SERIALIZER)
        self._encode_value = encoder(chosen, producer.VALUE_SERIALIZER)
        self._callbacks = part(chosen, producer.CALLBACK_HANDLER, IProducerCallbacks)
        self._handler = part(chosen, producer.EVENT_HANDLER, IEventHandler)
        self._owns_cluster = cluster is None
        self._reactor = self.cluster.reactor
        self._seconds: Callable[[], float] = self._reactor.seconds
        self._largest = limits.most_bytes
        self._accumulator = Accumulator(
            limits,
            codec_named(chosen[producer.COMPRESSION_TYPE]),
            partitioner.batch_sent,
            backoff=Backoff(1, chosen[common.RETRY_BACKOFF_MS], chosen[common.RETRY_BACKOFF_MAX_MS], JITTER),
        )
        manner = Manner(
            acks_of(chosen),
            chosen[common.REQUEST_TIMEOUT_MS],
            chosen[producer.MAX_REQUEST_SIZE],
            chosen[producer.MAX_IN_FLIGHT],
        )
        self._auditor = auditor(chosen, self._reactor, self._put_announcement)
        self._sender = Sender(
            self.cluster,
            self._accumulator,
            manner,
            callbacks=self._callbacks,
            handler=self._handler,
            auditor=self._auditor,
        )
        self._gathering = Gathering(
            self.cluster,
            self._accumulator,
            self._sender,
            partitioner,
            ignore_keys=chosen[producer.PARTITIONER_IGNORE_KEYS],
            sync=chosen[producer.PRODUCER_TYPE] == "sync",
        )
        longest_s = chosen[producer.MAX_BLOCK_MS] / 1000
        self._room = Room(self._reactor, self._accumulator, longest_s, self._sender.press)
        self._sender.settled = self._room.relieve
        self._started = self._closing = self._closed = False
        self._ends: Waiters[None] = Waiters()

    # -- beginning

    def start(self) -> Deferred[Producer]:
        """Connect, and get what idempotence needs.

        What was sent before waits for it. Fires with the producer; fails with ConnectionFailed if no broker
        answers, or with RequestError: then :meth:`close` it.
        """
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> Producer:
        await self.cluster.start()
        if self._idempotent:
            await self._sender.identify()
        else:
            self._accumulator.identify(NOT_IDEMPOTENT)
        self._started = True
        self._sender.wake()
        if self._auditor is not None:
            self._auditor.start()
        return self

    # -- sending

    def send(
        self,
        topic: str,
        value: Any,
        key: Any = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> Deferred[RecordMetadata]:
        """Send one record.

        :param value: what the value's encoder takes: bytes, unless ``value.serializer`` says otherwise.
        :param partition: None: the partitioner chooses.
        :param headers: pairs of a name and bytes or None.
        :param timestamp_ms: None: now.
        :return: fires with where it is when it is there as ``acks`` says. Fails with ProduceFailed: it was
            refused, or not delivered within ``delivery.timeout.ms``. UnknownTopic, RequestError: it cannot be
            sent there. BufferExhausted: there was no room within ``max.block.ms``. ClientClosed. What the
            encoder raised.
        """
        waiting: Deferred[RecordMetadata] = Deferred()
        try:
            if self._callbacks is None:
                self._send(topic, value, key, partition, headers, timestamp_ms, waiting)
            else:
                given = ProducerRecord(topic, value, key, partition, headers, timestamp_ms)
                record = self._callbacks.before_enqueue(given)
                self._told([record], self._send, *record, waiting)
        except Exception:
            return fail()
        return waiting

    def _send(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        waiting: Deferred[RecordMetadata],
    ) -> Deferred[bool] | None:
        """Encode and enqueue; raises what the Deferred shall fail with.

        :return: None: it is enqueued. Else it waits for room, and this fires with whether it came to be.
        """
        if self._encode_value is not None:
            value = self._encode_value(topic, value)
        if key is not None and self._encode_key is not None:
            key = self._encode_key(topic, key)
        now_s = self._seconds()
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        if headers or key is not None or value is None:
            size = record_bytes(key, value, headers)
        else:
            size = len(value) + RECORD_OVERHEAD_BYTES
        if size > self._largest:
            raise RequestError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of up to {size} bytes is above max.request.size, which leaves {self._largest}",
            )
        accumulator = self._accumulator
        if accumulator.used_bytes >= accumulator.open_below:
            record = (topic, key, value, partition, headers, timestamp_ms, size, waiting)
            return self._room.enter(size, waiting, self._put, *record)
        self._gathering.put(topic, key, value, partition, headers, timestamp_ms, size, waiting, now_s)
        return None

    def send_batch(
        self,
        topic: str,
        values: Sequence[Any],
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Deferred[BatchMetadata]:
        """Send a list of values at once.

        With lists of 50 a record of 200 bytes takes 0.52 us of the client's processor time, with :meth:`send`
        4.8 us (``benchmarks.clients_twisted``).

        All go to one partition, in order: the partitioner is asked once. Without a key they are one batch,
        whatever ``batch.size`` says, unless they are more than ``max.request.size``.

        :param values: none of them None.
        :param key: of all of them.
        :return: fires with where they are when all of them are there; fails as :meth:`send` if one is not.
        """
        receipt = ListReceipt(len(values))
        try:
            if not values:
                return succeed(BatchMetadata(topic, NO_OFFSET, NO_OFFSET, NO_OFFSET, 0))
            if self._callbacks is None:
                self._send_batch(topic, values, key, partition, timestamp_ms, receipt)
            else:
                given = [ProducerRecord(topic, value, key, partition, (), timestamp_ms) for value in values]
                records = [self._callbacks.before_enqueue(record) for record in given]
                values = [record.value for record in records]
                self._told(records, self._send_batch, topic, values, key, partition, timestamp_ms, receipt)
        except Exception:
            return fail()
        return receipt.deferred

    def _send_batch(
        self,
        topic: str,
        values: Sequence[Any],
        key: Any,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
    ) -> Deferred[bool] | None:
        """Encode and enqueue; as :meth:`_send`."""
        encode = self._encode_value
        if encode is not None:
            values = [encode(topic, value) for value in values]
        if key is not None and self._encode_key is not None:
            key = self._encode_key(topic, key)
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        accumulator = self._accumulator
        if accumulator.used_bytes >= accumulator.open_below:
            values = list(values)  # the caller may change it meanwhile
            size = sum(map(len, values)) + RECORD_OVERHEAD_BYTES * len(values)
            records = (topic, key, values, partition, timestamp_ms, receipt)
            return self._room.enter(size, receipt.deferred, self._gathering.put_values, *records)
        self._gathering.put_values(topic, key, values, partition, timestamp_ms, receipt)
        return None

    def _told(self, records: list[ProducerRecord], enqueue: Any, *arguments: Any) -> None:
        """Enqueue, and tell the callbacks of each record whether that was done, once it is known."""

        def tell(added: bool) -> None:
            for record in records:
                try:
                    self._callbacks.after_enqueue(record, added)
                except Exception:
                    self._log.failure("a producer's callback failed")

        try:
            entering = enqueue(*arguments)
        except Exception:
            tell(False)
            raise
        if entering is None:
            tell(True)
        else:
            entering.addCallback(tell)

    def _put(self, *record: Any) -> None:
        """Enqueue a record that has waited for room."""
        topic, key, value, partition, headers, timestamp_ms, size, waiting = record
        now_s = self._seconds()
        self._gathering.put(topic, key, value, partition, headers, timestamp_ms, size, waiting, now_s)

    def ready(self) -> Deferred[None]:
        """Wait for room: fires when less than ``buffer.memory`` is on its way, at once if that is so.

        The next call then finds room, whatever its size. Fails with BufferExhausted after ``max.block.ms``,
        or with ClientClosed.
        """
        return self._room.wait()

    # -- the end

    def flush(self) -> Deferred[None]:
        """Send what is gathered without lingering, and wait for it.

        Fires when all that was sent before is in the log or has failed; who sent it hears which.
        """
        return Deferred.fromCoroutine(self._flush())

    async def _flush(self) -> None:
        self._sender.hurry += 1
        try:
            await self._room.entered()
            await self._gathering.learned()
            await self._settled()
        finally:
            self._sender.hurry -= 1

    async def _settled(self) -> None:
        """Wait for all that is gathered now."""
        receipt = FlushReceipt()
        for batch in self._accumulator.unsettled():
            count = batch.records if batch.builder is None else batch.builder.count
            batch.entries += (receipt, 0, count, 0)
            receipt.cut()
        receipt.delivered()
        self._sender.turn()
        await receipt.deferred

    async def _flush_all(self) -> None:
        """Flush, and then the announcement of that."""
        await self._flush()
        if self._auditor is not None:
            self._auditor.announce()
            await self._flush()

    def _put_announcement(self, topic: str, key: bytes, value: bytes) -> Deferred[Any]:
        """Send a record for the audit: it is encoded, and small, and sent though the producer is closing."""
        waiting: Deferred[Any] = Deferred()
        now_s = self._seconds()
        size = record_bytes(key, value)
        self._gathering.put(topic, key, value, None, (), int(now_s * 1000), size, waiting, now_s)
        return waiting

    def close(self, timeout_s: float | None = None) -> Deferred[None]:
        """Send what is gathered, then let go of everything.

        :param timeout_s: how long that may take; what is not done then fails with ClientClosed. None: as long
            as ``delivery.timeout.ms`` lets it.
        :return: fires when it is closed. Cancelling it does not stop the closing.
        """
        if self._closed:
            return succeed(None)
        waiting = self._ends.wait()
        if not self._closing:
            Deferred.fromCoroutine(self._close(timeout_s)).addErrback(self._bug).addCallback(self._ends.fire)
        return waiting

    async def _close(self, timeout_s: float | None) -> None:
        if self._callbacks is not None and self._started:
            self._send_last()
        self._closing = True
        self._room.shut(ClientClosed("the producer is closed"))
        if self._started and timeout_s != 0:
            flushing = Deferred.fromCoroutine(self._flush_all())
            if timeout_s is not None:
                flushing.addTimeout(timeout_s, self._reactor)
            try:
                await flushing
            except TimedOut:
                self._log.warn("a producer is closed before all was sent, after {s:g} s", s=timeout_s)
            except Exception:
                self._log.failure("a producer that is closed could not be flushed")
        if self._auditor is not None:
            self._auditor.stop()
        self._sender.stop()
        self._room.close(ClientClosed("the producer is closed"))
        error = ClientClosed("the producer was closed before this was delivered")
        self._gathering.close(error)
        for batch in self._accumulator.abandon():
            disappoint(batch, error)
        if self._handler is not None:
            self._handler.close()
        if self._owns_cluster:
            await self.cluster.close()
        self._closed = True

    def _send_last(self) -> None:
        """What the callbacks want to be sent before the end."""
        try:
            for record in self._callbacks.before_close():
                self.send(*record).addErrback(
                    lambda failure: self._log.failure("a callback's last record was not sent", failure)
                )
        except Exception:
            self._log.failure("a producer's callback failed")

    def _bug(self, failure: Any) -> None:
        self._log.failure("a producer could not be closed", failure)
        self._closed = True
