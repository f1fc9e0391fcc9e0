"""The producer of Twisted programs. Its parts are made in :mod:`kafkatx.client.producer.assembly`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.deferreds import client_cluster
from kafkatx.client.hooks import records_before_close
from kafkatx.client.producer.assembly import ProducerParts
from kafkatx.client.producer.receipts import (
    CallbackReceipt,
    ListReceipt,
    OnDelivery,
    all_settled,
    fail_batch,
)
from kafkatx.client.producer.topic_queues import Headers
from kafkatx.client.producer.transactions.calls import TransactionCalls
from kafkatx.clientcore.errors import ClientClosed, NotStarted, RecordsLost
from kafkatx.clientcore.producer.arguments import check_value_list
from kafkatx.clientcore.producer.batch import (
    NOT_IDEMPOTENT,
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    record_bytes,
)
from kafkatx.clientcore.producer.values import (
    NO_OFFSET,
    BatchMetadata,
    ProducerData,
    ProducerRecord,
    RecordMetadata,
)
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.waiters import Waiters


class Producer(TransactionCalls):
    """Sends records to topics, in batches::

        producer = Producer(bootstrap_servers="127.0.0.1:9092")
        await producer.start()
        await producer.send("events", b"value", key=b"key")
        await producer.close()

    Records of one partition keep their order whatever fails on the way. By default (idempotence, acks=all)
    retries write no duplicates.

    While ``buffer.memory`` is used up a call waits, in the order of the calls, for ``max.block.ms`` at most;
    with ``max.block.ms=0`` it fails at once. Waiting calls take memory, too, and their number is not limited:
    an application that sends faster than the brokers accept should ``await producer.ready()`` now and then.

    Calls that return a Deferred never raise; errors are in the Deferred. Each Deferred fires within
    ``max.block.ms`` and ``delivery.timeout.ms`` together, whatever happens, and before :meth:`close` ends.
    Cancelling it drops the result, not the record, unless the record still waits for memory. :meth:`produce`
    has no Deferred, and is faster. To be used in the reactor thread only.
    """

    _log = Logger()

    def __init__(
        self,
        settings: Mapping[str, object] = MappingProxyType({}),
        *,
        reactor: IReactorTime | None = None,
        cluster: Cluster | None = None,
        **more: object,
    ) -> None:
        """Make a producer; :meth:`start` connects.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the installed one.
        :param cluster: a cluster to share; it is not closed with the producer.
        :raises SettingError: a setting is unknown, has a bad value, or contradicts another.
        """
        self.settings, self.cluster = client_cluster("producer", settings, more, reactor, cluster)
        parts = ProducerParts(self.settings, self.cluster, self._send_announcement)
        self._idempotent = parts.idempotent
        self._callbacks = parts.callbacks
        self._handler = parts.handler
        self._announcer = parts.announcer
        self._lost_records = parts.lost_records
        self._accumulator = parts.accumulator
        self._sender = parts.sender
        self._topic_queues = parts.topic_queues
        self._pool = parts.pool
        self._flusher = parts.flusher
        self._intake = parts.intake
        self._line = parts.line
        self._registry = parts.registry
        self._owns_cluster = cluster is None
        self._reactor = self.cluster.reactor
        self._transactions = parts.transactions
        self._plain = self._intake.plain
        direct = self._plain and self._transactions is None
        self._open_batches: dict[str, ProducerBatch] = self._topic_queues.open_batches if direct else {}
        self._started = self._closing = self._closed = False
        self._close_waiters: Waiters[None] = Waiters()
        self._reject_new(NotStarted("producer"))

    # -- start

    def start(self) -> Deferred[Producer]:
        """Connect, and request a producer id if idempotence is on.

        With ``transactional.id`` this ends the open transaction of the producer before, and fences it.

        Records may be sent before it fires, and wait; before it is called, they fail with NotStarted. Fires
        with the producer; fails with ConnectionFailed if no broker answers, or with RequestError. After a
        failure :meth:`close` it.
        """
        if not self._closing:
            self._reject_new(None)
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> Producer:
        await self.cluster.start()
        if self._transactions is not None:
            await self._transactions.start()
        elif self._idempotent:
            await self._sender.producer_ids.set_producer_id()
        else:
            self._accumulator.set_producer_id(NOT_IDEMPOTENT)
        self._started = True
        self._sender.wake()
        if self._announcer is not None:
            self._announcer.start()
        return self

    def _reject_new(self, error: KafkaTXError | None) -> None:
        """Reject records from now on with *error*, or with None accept them again."""
        self._line.reject_new(error)
        self._pool.reject_new(error)

    # -- sending

    def send(
        self,
        topic: str,
        value: object,
        key: object = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> Deferred[RecordMetadata]:
        """Send one record.

        :param value: bytes, or an object for the encoder that ``value.serializer`` names; None for a
            tombstone.
        :param key: likewise for ``key.serializer``; None: no key.
        :param partition: None: the partitioner chooses.
        :param headers: pairs of a name and bytes or None.
        :param timestamp_ms: milliseconds since the epoch, an int from 0 to 2^63 - 1; None: now.
        :return: fires with the record's place when it is acknowledged as ``acks`` says. Fails with
            ProduceFailed: it was refused, or not delivered within ``delivery.timeout.ms``. UnknownTopic,
            RequestError: the topic or the partition does not exist. BufferExhausted: no memory became free
            within ``max.block.ms``. NotStarted. ClientClosed. TypeError, ValueError: an argument is wrong. Or
            with the encoder's exception.
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
        value: object,
        key: object = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Send one record without a Deferred.

        :param on_delivery: called once, with (None, RecordMetadata) when the record is acknowledged, or with
            (error, None) when it has failed; the errors are those of :meth:`send`. Its exceptions are logged.
            Without it the next :meth:`flush` or :meth:`close` fails with RecordsLost if any record has
            failed.
        :raises BufferExhausted: ``buffer.memory`` is used up, or other callers wait for it:
            ``await producer.ready()``, and call it again.
        :raises Exception: an argument is wrong, as in :meth:`send`.
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
        """Append a value to its topic's open batch; return False if there is none, or it has no room."""
        try:
            batch = self._open_batches.get(topic)
        except TypeError:  # it is not hashable, and so no str: the intake says so
            return False
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
        values: Sequence[object],
        key: object = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Deferred[BatchMetadata]:
        """Send a list of values at once.

        All go to one partition, in order. Without a key they are one batch, whatever ``batch.size`` says,
        unless they are larger than ``max.request.size``.

        :param values: none of them may be None.
        :param key: the key of all values.
        :return: fires with their place when all of them are acknowledged; fails as :meth:`send` if one has
            failed.
        """
        try:
            check_value_list(values)
            if not len(values):
                return succeed(BatchMetadata(topic, NO_OFFSET, NO_OFFSET, NO_OFFSET, 0))
            receipt = ListReceipt(len(values))
            self._intake.send_values(topic, values, key, partition, timestamp_ms, receipt)
        except Exception:
            return fail()
        return receipt.deferred

    def send_all(self, data: Iterable[ProducerData]) -> Deferred[list[BatchMetadata]]:
        """Send lists of values for any topics and keys at once: Kafka 0.7's ``send(List<ProducerData>)``.

        Lists for one broker share a request, also with ``producer.type=sync``.

        :return: fires with the place of each list, in order, when all of them are acknowledged. Fails when
            all are settled, as :meth:`send_batch`, with the error of the first list that has failed.
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
        """Wait for free memory: fires when less than ``buffer.memory`` is used, at once if that is so.

        The next call then succeeds, whatever its size. Fails with BufferExhausted after ``max.block.ms``, or
        with ClientClosed.
        """
        return self._pool.wait()

    # -- flush and close

    def flush(self) -> Deferred[None]:
        """Send all records of earlier calls without lingering.

        Fires when all of them are in the log or have failed. Fails with RecordsLost, at that time, if records
        of
        :meth:`produce` without ``on_delivery`` have failed since the last flush.
        """
        return Deferred.fromCoroutine(self._flusher.flush())

    async def _drain_all(self) -> None:
        await self._flusher.drain()
        if self._announcer is not None:
            self._announcer.announce()
            await self._flusher.drain()

    def _send_announcement(self, topic: str, key: bytes, value: bytes) -> Deferred[RecordMetadata]:
        """Send a record of the audit, past ``buffer.memory`` and also while the producer is closing."""
        waiting: Deferred[RecordMetadata] = Deferred()
        now_ms = int(time.time() * 1000)
        self._topic_queues.put(topic, key, value, None, (), now_ms, record_bytes(key, value), waiting)
        return waiting

    def close(self, timeout_s: float | None = None) -> Deferred[None]:
        """Send all records of earlier calls, then close connections and timers.

        :param timeout_s: seconds after which records that are not settled fail with ClientClosed. None:
            ``delivery.timeout.ms`` is the limit.
        :return: fires when it is closed; fails with RecordsLost, when it is closed, as :meth:`flush`.
            Cancelling it does not stop the close.
        """
        if self._pool.fork is not None:
            return fail(self._pool.fork)
        if self._closed:
            return succeed(None)
        waiting = self._close_waiters.wait()
        if not self._closing:
            Deferred.fromCoroutine(self._close(timeout_s)).addErrback(self._log_bug).addCallbacks(
                self._close_waiters.fire, self._close_waiters.fail
            )
        return waiting

    async def _close(self, timeout_s: float | None) -> None:
        if self._callbacks is not None and self._started:
            for record in records_before_close(self._callbacks):
                self._send_last(record)
        if self._started and timeout_s != 0:
            await self._abort_open()
        self._closing = True
        closed = ClientClosed("the producer is closed")
        if self._line.waiting and self._started and timeout_s != 0:
            self._line.reject_new(closed)
            await self._line.wait_until_empty()  # each call in it waits for max.block.ms at most
        self._line.close(closed)
        self._pool.reject_new(closed)
        if self._started and timeout_s != 0:
            flushing = Deferred.fromCoroutine(self._drain_all())
            if timeout_s is not None:
                flushing.addTimeout(timeout_s, self._reactor)
            try:
                await flushing
            except TimedOut:
                self._log.warn(
                    "a producer was closed before all records were sent, after {s:g} s", s=timeout_s
                )
            except Exception:
                self._log.failure("a producer could not be flushed before it was closed")
        if self._announcer is not None:
            self._announcer.stop()
        self._sender.stop()
        if self._transactions is not None:
            self._transactions.close()
        self._pool.close(ClientClosed("the producer is closed"))
        error = ClientClosed("the producer was closed before this was delivered")
        self._topic_queues.close(error)
        for batch in self._accumulator.abandon():
            fail_batch(batch, error, self._lost_records)
        if self._handler is not None:
            self._handler.close()
        await self._registry.close()
        if self._owns_cluster:
            await self.cluster.close()
        self._closed = True
        self._flusher.check()

    def _send_last(self, record: ProducerRecord) -> None:
        """Send a record of ``IProducerCallbacks.before_close``."""
        message = "a record of before_close was not sent"
        try:
            self.send(*record).addErrback(lambda failure: self._log.failure(message, failure))
        except Exception:
            self._log.failure("a producer's callback failed")

    def _log_bug(self, failure: Failure) -> Failure | None:
        self._closed = True
        if failure.check(RecordsLost):
            return failure
        self._log.failure("a producer could not be closed", failure)
        return None
