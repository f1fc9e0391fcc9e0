"""Write records to one topic: partitions, batches, compression, idempotence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from kafkatx.blocking.batch import NO_SEQUENCE, Batch, sequence_after
from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.delivery import Delivery, Written
from kafkatx.blocking.errors import check
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.records.builder import BatchBuilder, build_values
from kafkatx.records.compression import codec_named
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest

BATCH_BYTES = 1_000_000
"""Below Kafka's default ``max.message.bytes`` of 1 MiB and 12 bytes, by more than a header."""

RECORD_OVERHEAD_BYTES = 24
"""More than the varints of a record without headers take."""


class Partitioner(Protocol):
    """:class:`kafkatx.interfaces.IPartitioner`, which this floor cannot import: it needs Twisted."""

    def partition(self, topic: str, key: bytes | None, partitions: int) -> int:
        """The partition of a record with this key."""

    def batch_sent(self, topic: str) -> None:
        """A batch of the topic was closed."""


class Writer:
    """Batches records per partition and sends them, several requests at a time.

    A batch leaves when it is full; :meth:`flush` sends the rest and waits. Nothing is sent by time:
    there is no thread. The topic is created if the broker creates topics. A context manager; leaving it
    flushes, unless an error is on its way.

    :param partitioner: None is the Java client's: murmur2 of the key, else one partition per batch.
    :param acks: -1 all in-sync replicas, 1 the leader, 0 nobody (no reply; errors go unseen).
    :param compression: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``.
    :param batch_bytes: records of a batch, before compression; a larger record has a batch of its own.
        Where the topic takes less, batches are cut.
    :param idempotent: let the broker drop what a retry would double. Only with acks -1, and if the broker
        knows it (Kafka 0.11); otherwise one request is under way at a time, so that order is kept.
    :param delivery_timeout_s: how long failures in a row are borne.
    :raises RequestError: the topic does not exist and is not created; or its name is not allowed.
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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.topic = topic
        self._codec = codec_named(compression)
        self._batch_bytes = batch_bytes
        self._clock = clock
        self._by_record = partitioner is not None
        self._partitioner: Partitioner = partitioner or DefaultPartitioner()
        self._partitions = len(cluster.topic(topic, allow_auto_create=True).partitions)
        self._producer_id, self._producer_epoch = (
            _producer_id(cluster) if idempotent and acks == -1 else (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        )
        self._sequences: dict[int, int] = {}
        self._builders: dict[int, BatchBuilder] = {}
        self._payload_bytes: dict[int, int] = {}
        self._delivery = Delivery(
            cluster,
            topic,
            acks=acks,
            max_in_flight=max_in_flight if self._producer_id != NO_PRODUCER_ID or acks == 0 else 1,
            request_timeout_s=request_timeout_s,
            delivery_timeout_s=delivery_timeout_s,
        )
        self._failure: KafkaTXError | None = None

    @property
    def written(self) -> Written:
        """What has been acknowledged so far."""
        return self._delivery.written

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self._delivery.close()

    def send(
        self,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Add one record; a full batch is sent, which may wait for earlier ones.

        :param timestamp_ms: the time of the call if None.
        :raises ProduceFailed: a batch was refused or not delivered in time; nothing can be sent any more.
        """
        if partition is None:
            alone = self._partitions == 1 and not self._by_record
            partition = 0 if alone else self._partitioner.partition(self.topic, key, self._partitions)
        payload = len(value or b"") + len(key or b"")
        size = payload + RECORD_OVERHEAD_BYTES
        for name, data in headers:
            size += len(name) * 4 + len(data or b"") + RECORD_OVERHEAD_BYTES
        builder = self._builders.get(partition)
        if builder is not None and builder.size_bytes + size > self._limit_bytes():
            self._close_batch(partition)
            builder = None
        if builder is None:
            builder = self._builders[partition] = BatchBuilder(self._codec)
            self._payload_bytes[partition] = 0
        builder.append(
            key, value, int(self._clock() * 1000) if timestamp_ms is None else timestamp_ms, headers
        )
        self._payload_bytes[partition] += payload

    def send_values(
        self, values: Sequence[bytes], partition: int | None = None, timestamp_ms: int | None = None
    ) -> None:
        """Send records that have a value and nothing else, at once, in as few batches as they fit in.

        Much faster than :meth:`send`. What :meth:`send` gathered before leaves first. With a partitioner
        of the caller's each record is given to it.

        :param timestamp_ms: of all of them; the time of the call if None.
        :raises ProduceFailed: as :meth:`send`.
        """
        if self._by_record and partition is None:
            for value in values:
                self.send(value, timestamp_ms=timestamp_ms)
            return
        self._close_batches()
        now_ms = int(self._clock() * 1000) if timestamp_ms is None else timestamp_ms
        for piece, size in _pieces(values, self._limit_bytes()):
            target = partition
            if target is None:
                target = self._partitioner.partition(self.topic, None, self._partitions)
                self._partitioner.batch_sent(self.topic)
            data = build_values(
                piece,
                now_ms,
                self._codec,
                self._producer_id,
                self._producer_epoch,
                self._take_sequences(target, len(piece)),
            )
            self._put(Batch(target, data, len(piece), size))

    def send_lines(self, lines: Iterable[bytes], partition: int | None = None) -> None:
        """Send each item as a record's value, in large groups; raises as :meth:`send`."""
        lines = iter(lines)
        count = 1000
        while group := list(islice(lines, count)):
            size = sum(map(len, group)) + RECORD_OVERHEAD_BYTES * len(group)
            self.send_values(group, partition)
            # The next group should fill one batch.
            count = max(1, min(self._limit_bytes() * len(group) // size, 1 << 17))

    def flush(self) -> None:
        """Send what is gathered and wait until all is acknowledged; raises as :meth:`send`."""
        self._close_batches()
        self._guarded(self._delivery.drain)

    def close(self) -> None:
        """Flush, then close the connections; raises as :meth:`send`."""
        try:
            self.flush()
        finally:
            self._delivery.close()

    def _limit_bytes(self) -> int:
        """How large a batch may be: less than was asked for once the broker has refused that."""
        return min(self._batch_bytes, self._delivery.batch_bytes)

    def _close_batches(self) -> None:
        for partition in list(self._builders):
            self._close_batch(partition)

    def _close_batch(self, partition: int) -> None:
        builder = self._builders.pop(partition)
        builder.producer_id = self._producer_id
        builder.producer_epoch = self._producer_epoch
        builder.base_sequence = self._take_sequences(partition, builder.count)
        self._partitioner.batch_sent(self.topic)
        self._put(Batch(partition, builder.build(), builder.count, self._payload_bytes.pop(partition)))

    def _take_sequences(self, partition: int, count: int) -> int:
        """Reserve sequence numbers for a batch and return the first; -1 without idempotence."""
        if self._producer_id == NO_PRODUCER_ID:
            return NO_SEQUENCE
        first = self._sequences.get(partition, 0)
        self._sequences[partition] = sequence_after(first, count)
        return first

    def _put(self, batch: Batch) -> None:
        self._guarded(lambda: self._delivery.put(batch))

    def _guarded(self, call: Callable[[], None]) -> None:
        """After a failure nothing more may be sent: what follows would not be in order."""
        if self._failure is not None:
            raise self._failure
        try:
            call()
        except KafkaTXError as error:
            self._failure = error
            raise


def _producer_id(cluster: Cluster) -> tuple[int, int]:
    """Ask for a producer id and epoch; -1 and -1 from a broker that has none to give."""

    def attempt() -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        response = cluster.any().request(request)
        check(response.error_code, "producer id")
        return response.producer_id, response.producer_epoch

    try:
        return cluster.retrying(attempt)
    except RequestError as error:
        if error.code is not ErrorCode.UNSUPPORTED_VERSION:
            raise
        return NO_PRODUCER_ID, NO_PRODUCER_EPOCH


def _pieces(values: Sequence[bytes], limit: int) -> Iterator[tuple[Sequence[bytes], int]]:
    """Halve until each piece fits in a batch; with each piece the sum of its values' sizes."""
    size = sum(map(len, values))
    if len(values) <= 1 or size + RECORD_OVERHEAD_BYTES * len(values) <= limit:
        if values:
            yield values, size
        return
    half = len(values) // 2
    yield from _pieces(values[:half], limit)
    yield from _pieces(values[half:], limit)
