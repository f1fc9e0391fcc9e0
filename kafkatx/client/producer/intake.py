"""What happens to a record between the call and its batch: hooks, encoders, checks, room."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.hooks import call_after_enqueue
from kafkatx.client.producer.buffer_pool import BufferPool, OnEnqueued
from kafkatx.client.producer.receipts import CallbackReceipt, ListReceipt
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
from kafkatx.errors import ErrorCode, RequestError

Encode = Callable[[str, Any], Any]


class Intake:
    """Takes records of one producer.

    :param callbacks: an ``IProducerCallbacks``, or None.
    :param encode_key: None: keys are bytes; *encode_value* likewise.
    :param block_s: how long a record may wait for room and for its topic, together.
    :ivar plain: True if records without a key are put into batches as they are given.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        topic_queues: TopicQueues,
        pool: BufferPool,
        seconds: Callable[[], float],
        *,
        callbacks: Any,
        encode_key: Encode | None,
        encode_value: Encode | None,
        block_s: float,
    ) -> None:
        self.plain = callbacks is None and encode_value is None and not accumulator.stamp_bytes
        self._accumulator = accumulator
        self._topic_queues = topic_queues
        self._pool = pool
        self._seconds = seconds
        self._callbacks = callbacks
        self._encode_key = encode_key
        self._encode_value = encode_value
        self._block_s = block_s
        self._largest = accumulator.limits.max_bytes - accumulator.stamp_bytes

    def send(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        receipt: Deferred[RecordMetadata] | CallbackReceipt | None,
        may_wait: bool = True,
    ) -> None:
        """Tell the callbacks, check, encode and enqueue a record.

        :param may_wait: False: raise BufferExhausted if there is no room.
        :raises Exception: what the caller shall fail with; nothing was enqueued.
        """
        if self._callbacks is None:
            self._enqueue(topic, value, key, partition, headers, timestamp_ms, receipt, may_wait, None)
            return
        given = ProducerRecord(topic, value, key, partition, headers, timestamp_ms)
        record = self._callbacks.before_enqueue(given)
        self._notify([record], self._enqueue, *record, receipt, may_wait)

    def _enqueue(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int | None,
        receipt: Any,
        may_wait: bool,
        told: OnEnqueued | None,
    ) -> bool:
        """Check, encode and enqueue a record.

        :return: True: it is enqueued. False: it waits for room, and *told* hears what becomes of it.
        """
        check_topic(topic)
        if self._encode_value is not None:
            value = self._encode_value(topic, value)
        if key is not None and self._encode_key is not None:
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
                f"a record of up to {size} bytes is above max.request.size, which leaves {self._largest}",
            )
        record = (topic, key, value, partition, headers, timestamp_ms, size, receipt)
        if self._accumulator.used_bytes < self._accumulator.open_below_bytes:
            self._topic_queues.put(*record)
            return True
        if not may_wait:
            self._pool.check()
            raise self._pool.exhausted_error("wait for Producer.ready() before you send more")
        self._pool.reserve(size, receipt, self._topic_queues.put, (*record, now_s + self._block_s), told)
        return False

    def send_values(
        self,
        topic: str,
        values: Sequence[Any],
        key: Any,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
    ) -> None:
        """Enqueue a list for one partition; as :meth:`send`."""
        if self._callbacks is None:
            self._enqueue_values(topic, values, key, partition, timestamp_ms, receipt, None)
            return
        given = [ProducerRecord(topic, value, key, partition, (), timestamp_ms) for value in values]
        records = [self._callbacks.before_enqueue(record) for record in given]
        values = [record.value for record in records]
        self._notify(records, self._enqueue_values, topic, values, key, partition, timestamp_ms, receipt)

    def _enqueue_values(
        self,
        topic: str,
        values: Sequence[Any],
        key: Any,
        partition: int | None,
        timestamp_ms: int | None,
        receipt: ListReceipt,
        told: OnEnqueued | None,
    ) -> bool:
        """Check, encode and enqueue a list; as :meth:`_enqueue`."""
        check_topic(topic)
        encode = self._encode_value
        if encode is not None:
            values = [encode(topic, value) for value in values]
        values = checked_values(values)
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
        records = (topic, key, values, partition, timestamp_ms, receipt)
        if self._accumulator.used_bytes < self._accumulator.open_below_bytes:
            self._topic_queues.put_values(*records)
            return True
        values = list(values)  # the caller may change it meanwhile
        size = sum(map(len, values)) + RECORD_OVERHEAD_BYTES * len(values)
        records = (topic, key, values, partition, timestamp_ms, receipt)
        self._pool.reserve(
            size, receipt, self._topic_queues.put_values, (*records, now_s + self._block_s), told
        )
        return False

    def _notify(self, records: list[ProducerRecord], enqueue: Callable[..., bool], *arguments: Any) -> None:
        """Enqueue, and tell the callbacks of each record whether that was done, once it is known."""
        callbacks = self._callbacks

        def told(added: bool) -> None:
            call_after_enqueue(callbacks, records, added)

        try:
            enqueued = enqueue(*arguments, told)
        except Exception:
            told(False)
            raise
        if enqueued:
            told(True)
