"""Writer of records to one topic: partitioning, batches, compression, idempotence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.producer.sender import Auditor, Sender, WriteTotals
from kafkatx.clientcore.audit.server_header import Stamp, make_accumulator
from kafkatx.clientcore.producer.accumulator import BATCH_BYTES, AccumulatorLimits
from kafkatx.clientcore.producer.arguments import check_value_list, checked_bytes, checked_values
from kafkatx.clientcore.producer.batch import (
    NOT_IDEMPOTENT,
    RECORD_OVERHEAD_BYTES,
    ProducerIdAndEpoch,
    split_to_fit,
)
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.producer.requests import init_producer_id_request, read_producer_id
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.records.compression import codec_named


class Partitioner(Protocol):
    """:class:`kafkatx.interfaces.IPartitioner`, which needs Twisted and cannot be imported here."""

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """Return the partition of a record with this key."""

    def batch_sent(self, topic: str) -> None:
        """Handle a closed batch of the topic."""


class Writer:
    """Batches records per partition and sends them, several requests at a time.

    A batch is sent when it is full; :meth:`flush` sends the rest and waits. There is no thread, so nothing is
    sent by time. The topic is created if the broker creates topics. A context manager; it flushes at exit,
    unless there is an exception.

    :param partitioner: None: as the Java client, murmur2 of the key, else one partition per batch.
    :param acks: -1 all in-sync replicas, 1 the leader, 0 none (no response; errors go unseen).
    :param compression: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``.
    :param batch_bytes: size of a batch's records before compression; a larger record gets a batch of its own.
        Batches are split if the topic's limit is lower.
    :param idempotent: let the broker drop duplicates of retries. Only with acks -1, and if the broker
        supports it (Kafka 0.11); otherwise one request is in flight at a time, to keep the order.
    :param delivery_timeout_s: time limit for failures in a row.
    :param auditor: counts written records: a :class:`kafkatx.blocking.producer.audit.Announcer`.
    :param stamp: name and value of a header that is added to records without a header of this name; made by
        :func:`kafkatx.clientcore.audit.server_header.make_stamp`.
    :raises RequestError: the topic does not exist and is not created, or its name is invalid.
    :raises ConnectionFailed: no broker answers.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        *,
        partitioner: Partitioner | None = None,
        acks: int = -1,
        compression: str = "none",
        batch_bytes: int = BATCH_BYTES,
        idempotent: bool = True,
        max_in_flight: int = 5,
        request_timeout_s: float = 30.0,
        delivery_timeout_s: float = 120.0,
        auditor: Auditor | None = None,
        stamp: Stamp | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.topic = topic
        self._clock = clock
        self._custom_partitioner = partitioner is not None
        self._partitioner: Partitioner = partitioner or DefaultPartitioner()
        self._partitions = len(cluster.topic(topic, allow_auto_create=True).partitions)
        id_and_epoch = identity_from(cluster) if idempotent and acks == -1 else NOT_IDEMPOTENT
        pipelined = id_and_epoch != NOT_IDEMPOTENT or acks == 0
        self._accumulator = make_accumulator(
            stamp,
            AccumulatorLimits(batch_bytes, batch_bytes, in_flight=max_in_flight if pipelined else 1),
            codec_named(compression),
            self._partitioner.batch_sent,
            id_and_epoch,
        )
        self._sender = Sender(
            cluster,
            self._accumulator,
            acks=acks,
            request_timeout_s=request_timeout_s,
            delivery_timeout_s=delivery_timeout_s,
            auditor=auditor,
        )
        self._failure: KafkaTXError | None = None

    @property
    def totals(self) -> WriteTotals:
        """Totals of acknowledged records."""
        return self._sender.totals

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self._sender.close()

    def send(
        self,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Add one record; send its batch if full, after earlier ones if necessary.

        :param timestamp_ms: the time of the call if None.
        :raises TypeError: the key or value is not bytes.
        :raises ProduceFailed: a batch was rejected or not delivered in time; nothing more can be sent.
        """
        if key is not None and key.__class__ is not bytes:
            key = checked_bytes("key", key)  # the partitioner needs bytes
        if partition is None:
            alone = self._partitions == 1 and not self._custom_partitioner
            partition = 0 if alone else self._partitioner.partition(self.topic, key, self._partitions)
        now_ms = int(self._clock() * 1000) if timestamp_ms is None else timestamp_ms
        queue = self._queue(partition)
        self._accumulator.append(queue, key, value, now_ms, headers, None, 0.0)
        if queue.waiting:
            self._call_unless_failed(self._sender.send)

    def send_values(
        self, values: Sequence[bytes], partition: int | None = None, timestamp_ms: int | None = None
    ) -> None:
        """Send records that have only a value, in as few batches as possible.

        Much faster than :meth:`send`. Records of earlier calls of :meth:`send` are sent first. A custom
        partitioner is called for each record.

        :param timestamp_ms: of all of them; the time of the call if None.
        :raises ProduceFailed: as :meth:`send`.
        """
        if self._custom_partitioner and partition is None:
            for value in values:
                self.send(value, timestamp_ms=timestamp_ms)
            return
        check_value_list(values)
        self._accumulator.close_all()
        self._call_unless_failed(self._sender.send)
        now_ms = int(self._clock() * 1000) if timestamp_ms is None else timestamp_ms
        try:
            pieces = list(split_to_fit(values, self._max_batch_bytes()))
        except TypeError:
            checked_values(values)  # raises an error that names the wrong value
            raise
        for piece, _ in pieces:
            target = partition
            if target is None:
                target = self._partitioner.partition(self.topic, None, self._partitions)
            queue = self._queue(target)
            self._accumulator.append_values(queue, piece, now_ms, None, 0.0)
            self._accumulator.close(queue)
            self._call_unless_failed(self._sender.send)

    def send_lines(self, lines: Iterable[bytes], partition: int | None = None) -> None:
        """Send each item as a record's value, in large groups; raises as :meth:`send`."""
        lines = iter(lines)
        count = 1000
        while group := list(islice(lines, count)):
            size = sum(map(len, group)) + RECORD_OVERHEAD_BYTES * len(group)
            self.send_values(group, partition)
            # The next group should fill one batch.
            count = max(1, min(self._max_batch_bytes() * len(group) // size, 1 << 17))

    def flush(self) -> None:
        """Send all batches and wait until they are acknowledged; raises as :meth:`send`."""
        self._accumulator.close_all()
        self._call_unless_failed(self._sender.drain)

    def close(self) -> None:
        """Flush, then close the connections; raises as :meth:`send`."""
        try:
            self.flush()
        finally:
            self._sender.close()

    def _queue(self, partition: int) -> PartitionQueue:
        return self._accumulator.queue(self.topic, partition)

    def _max_batch_bytes(self) -> int:
        """Return the maximum batch size: less than configured once the broker has rejected that size."""
        return self._accumulator.max_bytes()

    def _call_unless_failed(self, call: Callable[[], None]) -> None:
        """Raise the first failure again instead of sending more, which would break the order."""
        if self._failure is not None:
            raise self._failure
        try:
            call()
        except KafkaTXError as error:
            self._failure = error
            raise


def identity_from(cluster: Cluster) -> ProducerIdAndEpoch:
    """Request a producer id and epoch; :data:`NOT_IDEMPOTENT` if the broker has no such API."""

    def attempt() -> ProducerIdAndEpoch:
        return read_producer_id(cluster.any_broker().request(init_producer_id_request()))

    try:
        return cluster.retrying(attempt)
    except RequestError as error:
        if error.code is not ErrorCode.UNSUPPORTED_VERSION:
            raise
        return NOT_IDEMPOTENT
