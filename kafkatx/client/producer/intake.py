"""Intake: callbacks, encoders and checks of a record, before it goes to its queue or waits for memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from kafkatx.client.hooks import call_after_enqueue
from kafkatx.client.producer.buffer_pool import BufferPool, OnEnqueued
from kafkatx.client.producer.preparation import PreparationLine, RecordEncoder
from kafkatx.client.producer.receipts import AnyReceipt, CallbackReceipt, ListReceipt
from kafkatx.client.producer.topic_queues import Headers, TopicQueues
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.arguments import (
    check_partition,
    check_timestamp,
    check_topic,
    checked_bytes,
    checked_headers,
    checked_values,
)
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES, record_bytes
from kafkatx.clientcore.producer.values import ProducerRecord, RecordMetadata
from kafkatx.errors import ErrorCode, NotPrepared, RequestError
from kafkatx.interfaces import IProducerCallbacks


class Intake:
    """Accepts the records of one producer.

    :param line: of records whose encoder needs something first.
    :param block_s: seconds for which a record may wait for memory and for metadata, together.
    :ivar plain: True if a value of bytes needs no more treatment: no callbacks, encoder or added header.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        topic_queues: TopicQueues,
        pool: BufferPool,
        seconds: Callable[[], float],
        *,
        callbacks: IProducerCallbacks | None,
        key_encoder: RecordEncoder,
        value_encoder: RecordEncoder,
        line: PreparationLine,
        block_s: float,
    ) -> None:
        self.plain = callbacks is None and value_encoder.encode is None and not accumulator.stamp_bytes
        self._accumulator = accumulator
        self._topic_queues = topic_queues
        self._pool = pool
        self._seconds = seconds
        self._callbacks = callbacks
        self._encode_key = key_encoder.encode
        self._encode_value = value_encoder.encode
        self._key_with_headers = key_encoder.encode_record
        self._value_with_headers = value_encoder.encode_record
        self._line = line
        self._may_line_up = line.needed
        self._block_s = block_s
        self._largest = accumulator.limits.max_bytes - accumulator.stamp_bytes

    def send(
        self,
        topic: str,
        value: object,
        key: object,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        receipt: Deferred[RecordMetadata] | CallbackReceipt | None,
        may_wait: bool = True,
    ) -> None:
        """Call the callbacks; check, encode and enqueue a record.

        :param may_wait: False: raise BufferExhausted if no memory is free.
        :raises Exception: the error for the caller; nothing was enqueued.
        """
        enqueue = self._line_up if self._may_line_up else self._enqueue
        if self._callbacks is None:
            enqueue(topic, value, key, partition, headers, timestamp_ms, receipt, may_wait, None)
            return
        given = ProducerRecord(topic, value, key, partition, headers, timestamp_ms)
        record = self._callbacks.before_enqueue(given)
        self._with_callbacks([record], enqueue, *record, receipt, may_wait)

    def _line_up(
        self,
        topic: str,
        value: object,
        key: object,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        receipt: Deferred[RecordMetadata] | CallbackReceipt | None,
        may_wait: bool,
        on_enqueued: OnEnqueued | None,
    ) -> bool:
        """Enqueue a record, or let it wait until it can be encoded; otherwise as :meth:`_enqueue`."""
        line = self._line
        if not line.waiting:
            try:
                return self._enqueue(
                    topic, value, key, partition, headers, timestamp_ms, receipt, may_wait, on_enqueued
                )
            except NotPrepared:
                pass
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        arguments = (topic, value, key, partition, headers, timestamp_ms, receipt, True, on_enqueued)
        line.add(topic, key, (value,), self._enqueue, arguments, receipt, on_enqueued)
        return False

    def _enqueue(
        self,
        topic: str,
        value: object,
        key: object,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        receipt: AnyReceipt,
        may_wait: bool,
        on_enqueued: OnEnqueued | None,
    ) -> bool:
        """Check, encode and enqueue a record.

        :return: True: it is enqueued. False: it waits for memory, and *on_enqueued* will be called.
        """
        check_topic(topic)
        if self._value_with_headers is not None:
            value, added = self._value_with_headers(topic, value)
            headers = (*headers, *added)
        elif self._encode_value is not None:
            value = self._encode_value(topic, value)
        if key is not None and self._encode_key is not None:
            if self._key_with_headers is not None:
                key, added = self._key_with_headers(topic, key)
                headers = (*headers, *added)
            else:
                key = self._encode_key(topic, key)
        if value is not None:
            value = checked_bytes("value", value)
        if key is not None:
            key = checked_bytes("key", key)
        if headers:
            headers = checked_headers(headers)
        if partition is not None:
            check_partition(partition)
        now_s = self._seconds()
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        else:
            check_timestamp(timestamp_ms)
        size = record_bytes(key, value, headers)
        if size > self._largest:
            raise RequestError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a record of up to {size} bytes is larger than max.request.size allows: {self._largest}",
            )
        record = (topic, key, value, partition, headers, timestamp_ms, size, receipt)
        if self._accumulator.used_bytes < self._accumulator.open_below_bytes:
            self._topic_queues.put(*record)
            return True
        if not may_wait:
            self._pool.check()
            raise self._pool.exhausted_error("wait for Producer.ready() before you send more")
        self._pool.reserve(
            size, receipt, self._topic_queues.put, (*record, now_s + self._block_s), on_enqueued
        )
        return False

    def send_values(
        self,
        topic: str,
        values: Sequence[object],
        key: object,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
    ) -> None:
        """Enqueue a list for one partition; otherwise as :meth:`send`."""
        if self._key_with_headers is not None or self._value_with_headers is not None:
            raise ValueError("a list of values cannot have headers, and the encoder adds one: use send()")
        enqueue = self._line_up_values if self._may_line_up else self._enqueue_values
        if self._callbacks is None:
            enqueue(topic, values, key, partition, timestamp_ms, receipt, None)
            return
        given = [ProducerRecord(topic, value, key, partition, (), timestamp_ms) for value in values]
        records = [self._callbacks.before_enqueue(record) for record in given]
        values = [record.value for record in records]
        self._with_callbacks(records, enqueue, topic, values, key, partition, timestamp_ms, receipt)

    def _line_up_values(
        self,
        topic: str,
        values: Sequence[object],
        key: object,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
        on_enqueued: OnEnqueued | None,
    ) -> bool:
        """Enqueue a list, or let it wait until it can be encoded; otherwise as :meth:`_line_up`."""
        line = self._line
        if not line.waiting:
            try:
                return self._enqueue_values(topic, values, key, partition, timestamp_ms, receipt, on_enqueued)
            except NotPrepared:
                pass
        values = list(values)  # the caller may change its list while it waits
        arguments = (topic, values, key, partition, timestamp_ms, receipt, on_enqueued)
        line.add(topic, key, values, self._enqueue_values, arguments, receipt, on_enqueued)
        return False

    def _enqueue_values(
        self,
        topic: str,
        values: Sequence[object],
        key: object,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
        on_enqueued: OnEnqueued | None,
    ) -> bool:
        """Check, encode and enqueue a list; otherwise as :meth:`_enqueue`."""
        check_topic(topic)
        encode = self._encode_value
        if encode is not None:
            values = [encode(topic, value) for value in values]
        checked = checked_values(values)
        if key is not None and self._encode_key is not None:
            key = self._encode_key(topic, key)
        if key is not None:
            key = checked_bytes("key", key)
        if partition is not None:
            check_partition(partition)
        now_s = self._seconds()
        if timestamp_ms is None:
            timestamp_ms = int(time.time() * 1000)
        else:
            check_timestamp(timestamp_ms)
        records = (topic, key, checked, partition, timestamp_ms, receipt)
        if self._accumulator.used_bytes < self._accumulator.open_below_bytes:
            self._topic_queues.put_values(*records)
            return True
        checked = list(checked)  # the caller may change its list while it waits
        size = sum(map(len, checked)) + RECORD_OVERHEAD_BYTES * len(checked)
        records = (topic, key, checked, partition, timestamp_ms, receipt)
        arguments = (*records, now_s + self._block_s)
        self._pool.reserve(size, receipt, self._topic_queues.put_values, arguments, on_enqueued)
        return False

    def _with_callbacks(
        self, records: list[ProducerRecord], enqueue: Callable[..., bool], *arguments: object
    ) -> None:
        """Enqueue records; call ``after_enqueue`` for each when it is known whether they are enqueued."""
        callbacks = self._callbacks
        assert callbacks is not None

        def on_enqueued(added: bool) -> None:
            call_after_enqueue(callbacks, records, added)

        try:
            enqueued = enqueue(*arguments, on_enqueued)
        except Exception:
            on_enqueued(False)
            raise
        if enqueued:
            on_enqueued(True)
