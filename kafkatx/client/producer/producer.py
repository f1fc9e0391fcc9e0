"""The producer: records in, Deferreds out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.logger import Logger

from kafkatx.client.deferreds import client_cluster
from kafkatx.client.hooks import records_before_close
from kafkatx.client.plugins import configured_instance, encoder
from kafkatx.client.producer.audit import make_announcer
from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.flush import Flusher
from kafkatx.client.producer.intake import Intake
from kafkatx.client.producer.receipts import (
    CallbackReceipt,
    ListReceipt,
    LostRecords,
    OnDelivery,
    all_settled,
    fail_batch,
)
from kafkatx.client.producer.sender import Sender, SenderConfig
from kafkatx.client.producer.topic_queues import Headers, TopicQueues
from kafkatx.clientcore.audit.server_header import make_accumulator, stamp_of
from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.errors import ClientClosed, RecordsLost
from kafkatx.clientcore.producer.batch import (
    NOT_IDEMPOTENT,
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    record_bytes,
)
from kafkatx.clientcore.producer.config import acks_of, is_idempotent, limits_of
from kafkatx.clientcore.producer.values import (
    NO_OFFSET,
    BatchMetadata,
    ProducerData,
    ProducerRecord,
    RecordMetadata,
)
from kafkatx.clientcore.tables import common, producer
from kafkatx.interfaces import IEventHandler, IPartitioner, IProducerCallbacks
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.waiters import Waiters
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

    Calls that return a Deferred never raise: what is wrong is in the Deferred. Each fires within
    ``max.block.ms`` and ``delivery.timeout.ms`` together from the call, whatever was passed in and whatever
    brokers do, and before :meth:`close` ends. Cancelling one drops the answer, not the record, unless that
    waits for room yet. :meth:`produce` has no Deferred, and is faster. Used from the reactor thread only.
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
        partitioner = configured_instance(chosen, producer.PARTITIONER_CLASS, IPartitioner)
        self._callbacks = configured_instance(chosen, producer.CALLBACK_HANDLER, IProducerCallbacks)
        self._handler = configured_instance(chosen, producer.EVENT_HANDLER, IEventHandler)
        self._owns_cluster = cluster is None
        self._reactor = self.cluster.reactor
        self._seconds: Callable[[], float] = self._reactor.seconds
        block_s = (chosen[producer.MAX_BLOCK_MS] or chosen[common.DEFAULT_API_TIMEOUT_MS]) / 1000
        self._lost_records = LostRecords()
        self._accumulator = make_accumulator(
            stamp_of(chosen),
            limits_of(chosen),
            codec_named(chosen[producer.COMPRESSION_TYPE]),
            backoff=Backoff(1, chosen[common.RETRY_BACKOFF_MS], chosen[common.RETRY_BACKOFF_MAX_MS], JITTER),
        )
        config = SenderConfig(
            acks_of(chosen),
            chosen[common.REQUEST_TIMEOUT_MS],
            chosen[producer.MAX_REQUEST_SIZE],
            chosen[producer.MAX_IN_FLIGHT],
        )
        self._announcer = make_announcer(chosen, self._reactor, self._send_announcement)
        self._sender = Sender(
            self.cluster,
            self._accumulator,
            config,
            self._lost_records,
            callbacks=self._callbacks,
            handler=self._handler,
            announcer=self._announcer,
        )
        self._topic_queues = TopicQueues(
            self.cluster,
            self._accumulator,
            self._sender,
            partitioner,
            self._lost_records,
            block_s=block_s,
            ignore_keys=chosen[producer.PARTITIONER_IGNORE_KEYS],
            sync=chosen[producer.PRODUCER_TYPE] == "sync",
        )
        longest_s = chosen[producer.MAX_BLOCK_MS] / 1000
        self._pool = BufferPool(
            self._reactor, self._accumulator, longest_s, self._lost_records, self._sender.set_waiting
        )
        self._sender.settled = self._pool.admit
        self._flusher = Flusher(
            self._pool, self._topic_queues, self._accumulator, self._sender, self._lost_records
        )
        self._intake = Intake(
            self._accumulator,
            self._topic_queues,
            self._pool,
            self._seconds,
            callbacks=self._callbacks,
            encode_key=encoder(chosen, producer.KEY_SERIALIZER),
            encode_value=encoder(chosen, producer.VALUE_SERIALIZER),
            block_s=block_s,
        )
        self._open_batches: dict[str, ProducerBatch] = (
            self._topic_queues.open_batches if self._intake.plain else {}
        )
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
            await self._sender.producer_ids.set_producer_id()
        else:
            self._accumulator.set_producer_id(NOT_IDEMPOTENT)
        self._started = True
        self._sender.wake()
        if self._announcer is not None:
            self._announcer.start()
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
        :param timestamp_ms: milliseconds since the epoch, an int from 0 to 2^63 - 1; None: now.
        :return: fires with where it is when it is there as ``acks`` says. Fails with ProduceFailed: it was
            refused, or not delivered within ``delivery.timeout.ms``. UnknownTopic, RequestError: it cannot be
            sent there. BufferExhausted: there was no room within ``max.block.ms``. ClientClosed. TypeError,
            ValueError: an argument is wrong. What the encoder raised.
        """
        waiting: Deferred[RecordMetadata] = Deferred()
        try:
            if (
                value.__class__ is bytes
                and key is None
                and partition is None
                and timestamp_ms is None
                and not headers
                and self._append(topic, value, waiting)
            ):
                return waiting
            self._intake.send(topic, value, key, partition, headers, timestamp_ms, waiting)
        except Exception:
            return fail()
        return waiting

    def produce(
        self,
        topic: str,
        value: Any,
        key: Any = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Send one record without a Deferred.

        With ``buffer.memory`` full it raises BufferExhausted: ``await producer.ready()``, and call it again.

        :param on_delivery: called once with (None, RecordMetadata) when the record is there as ``acks`` says,
            or with (error, None) when it is given up; the errors are those of :meth:`send`. What it raises is
            logged. Without it the next :meth:`flush`, or :meth:`close`, fails with RecordsLost if any record
            was given up.
        :raises BufferExhausted: there is no room, or other callers wait for it.
        :raises Exception: it cannot be sent, as in :meth:`send`.
        """
        if (
            value.__class__ is bytes
            and key is None
            and partition is None
            and timestamp_ms is None
            and on_delivery is None
            and not headers
            and self._append(topic, value, None)
        ):
            return
        receipt = None if on_delivery is None else CallbackReceipt(on_delivery)
        self._intake.send(topic, value, key, partition, headers, timestamp_ms, receipt, False)

    def _append(self, topic: str, value: bytes, waiting: Deferred[RecordMetadata] | None) -> bool:
        """Append a value to the open batch of its topic, if there is one and both have room."""
        batch = self._open_batches.get(topic)
        if batch is None:
            return False
        size = len(value) + RECORD_OVERHEAD_BYTES
        total = batch.size_bytes + size
        accumulator = self._accumulator
        if total >= batch.max_bytes or accumulator.used_bytes >= accumulator.open_below_bytes:
            return False
        rows = batch.rows
        values = rows.values
        now_ms = int(time.time() * 1000)
        if now_ms != rows.last_ms:
            rows.times += (len(values), now_ms)
            rows.last_ms = now_ms
        if waiting is not None:
            batch.entries += (waiting, len(values), 1, now_ms)
        values.append(value)
        batch.size_bytes = total
        accumulator.used_bytes += size
        return True

    def send_batch(
        self,
        topic: str,
        values: Sequence[Any],
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Deferred[BatchMetadata]:
        """Send a list of values at once.

        All go to one partition, in order: the partitioner is asked once. Without a key they are one batch,
        whatever ``batch.size`` says, unless they are more than ``max.request.size``.

        :param values: none of them None.
        :param key: of all of them.
        :return: fires with where they are when all of them are there; fails as :meth:`send` if one is not.
        """
        try:
            if not len(values):
                return succeed(BatchMetadata(topic, NO_OFFSET, NO_OFFSET, NO_OFFSET, 0))
            receipt = ListReceipt(len(values))
            self._intake.send_values(topic, values, key, partition, timestamp_ms, receipt)
        except Exception:
            return fail()
        return receipt.deferred

    def send_all(self, data: Iterable[ProducerData]) -> Deferred[list[BatchMetadata]]:
        """Send lists of values for any topics and keys at once: Kafka 0.7's ``send(List<ProducerData>)``.

        Those of one broker leave in one request, also with ``producer.type=sync``.

        :return: fires with where each list is, in order, when all of them are there. Fails when all are
            settled, as :meth:`send_batch`, with the error of the first list that failed.
        """
        try:
            lists = [ProducerData(*each) for each in data]
        except Exception:
            return fail()
        self._topic_queues.hold()
        sent = [self.send_batch(topic, values, key) for topic, values, key in lists]
        self._topic_queues.release()
        return all_settled(sent)

    def ready(self) -> Deferred[None]:
        """Wait for room: fires when less than ``buffer.memory`` is on its way, at once if that is so.

        The next call then finds room, whatever its size. Fails with BufferExhausted after ``max.block.ms``,
        or with ClientClosed.
        """
        return self._pool.wait()

    # -- the end

    def flush(self) -> Deferred[None]:
        """Send what is gathered without lingering, and wait for it.

        Fires when all that was sent before is in the log or has failed; the callers of :meth:`send` hear
        which. Fails with RecordsLost, at that time, if records without a receipt were given up since the last
        flush: those of :meth:`produce` without ``on_delivery``.
        """
        return Deferred.fromCoroutine(self._flusher.flush())

    async def _drain_all(self) -> None:
        await self._flusher.run()
        if self._announcer is not None:
            self._announcer.announce()
            await self._flusher.run()

    def _send_announcement(self, topic: str, key: bytes, value: bytes) -> Deferred[Any]:
        """Send a record for the audit: it is encoded, and small, and sent though the producer is closing."""
        waiting: Deferred[Any] = Deferred()
        now_ms = int(time.time() * 1000)
        self._topic_queues.put(topic, key, value, None, (), now_ms, record_bytes(key, value), waiting)
        return waiting

    def close(self, timeout_s: float | None = None) -> Deferred[None]:
        """Send what is gathered, then let go of everything.

        :param timeout_s: how long that may take; what is not done then fails with ClientClosed. None: as long
            as ``delivery.timeout.ms`` lets it.
        :return: fires when it is closed; fails with RecordsLost, when it is closed, as :meth:`flush`.
            Cancelling it does not stop the closing.
        """
        if self._pool.fork is not None:
            return fail(self._pool.fork)
        if self._closed:
            return succeed(None)
        waiting = self._ends.wait()
        if not self._closing:
            Deferred.fromCoroutine(self._close(timeout_s)).addErrback(self._log_bug).addCallbacks(
                self._ends.fire, self._ends.fail
            )
        return waiting

    async def _close(self, timeout_s: float | None) -> None:
        if self._callbacks is not None and self._started:
            for record in records_before_close(self._callbacks):
                self._send_last(record)
        self._closing = True
        self._pool.reject_new(ClientClosed("the producer is closed"))
        if self._started and timeout_s != 0:
            flushing = Deferred.fromCoroutine(self._drain_all())
            if timeout_s is not None:
                flushing.addTimeout(timeout_s, self._reactor)
            try:
                await flushing
            except TimedOut:
                self._log.warn("a producer is closed before all was sent, after {s:g} s", s=timeout_s)
            except Exception:
                self._log.failure("a producer that is closed could not be flushed")
        if self._announcer is not None:
            self._announcer.stop()
        self._sender.stop()
        self._pool.close(ClientClosed("the producer is closed"))
        error = ClientClosed("the producer was closed before this was delivered")
        self._topic_queues.close(error)
        for batch in self._accumulator.abandon():
            fail_batch(batch, error, self._lost_records)
        if self._handler is not None:
            self._handler.close()
        if self._owns_cluster:
            await self.cluster.close()
        self._closed = True
        self._flusher.check()

    def _send_last(self, record: ProducerRecord) -> None:
        """Send what the callbacks want to be sent before the end."""

        told = "a callback's last record was not sent"
        try:
            self.send(*record).addErrback(lambda failure: self._log.failure(told, failure))
        except Exception:
            self._log.failure("a producer's callback failed")

    def _log_bug(self, failure: Any) -> Any:
        self._closed = True
        if failure.check(RecordsLost):
            return failure
        self._log.failure("a producer could not be closed", failure)
        return None
