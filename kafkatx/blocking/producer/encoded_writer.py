"""Writer of batches whose records are encoded already, as a sink of tables makes them from columns."""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.producer.audit import announcer
from kafkatx.blocking.producer.sender import Sender, WriteTotals
from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.blocking.producer.writer import identity_from
from kafkatx.blocking.retry import retry_until_deadline
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT
from kafkatx.clientcore.producer.config import acks_of, is_idempotent, limits_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import KafkaTXError
from kafkatx.records.compression import codec_named
from kafkatx.types import TopicPartition


class EncodedWriter:
    """Sends batches to partitions of any topics, several requests at a time, in order per partition.

    The caller chooses partitions and batch sizes. Topics are created if the broker creates topics. A context
    manager; it flushes at exit, unless there is an exception.

    :param settings: a producer's. ``max.block.ms`` limits how long the producer id and a topic's partitions
        are requested from brokers that do not answer; ``delivery.timeout.ms`` limits failures in a row
        afterwards.
    :param transaction: that all batches are a part of; the caller begins and ends it.
    :raises ConnectionFailed: no broker answered in time.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: ClientSettings,
        clock: Callable[[], float] = time.time,
        transaction: Transaction | None = None,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._block_s = settings[producer.MAX_BLOCK_MS] / 1000
        idempotent = is_idempotent(settings)
        id_and_epoch = NOT_IDEMPOTENT
        if transaction is not None:
            id_and_epoch = transaction.identity
        elif idempotent:
            id_and_epoch = retry_until_deadline(cluster, self._block_s, lambda: identity_from(cluster))
        limits = limits_of(settings)
        if idempotent and id_and_epoch == NOT_IDEMPOTENT:
            limits = attrs.evolve(limits, in_flight=1)
        self._accumulator = RecordAccumulator(
            limits, codec_named(settings[producer.COMPRESSION_TYPE]), id_and_epoch=id_and_epoch
        )
        self._accumulator.transactional = transaction is not None
        self._sender = Sender(
            cluster,
            self._accumulator,
            acks=acks_of(settings),
            request_timeout_s=settings[common.REQUEST_TIMEOUT_MS] / 1000,
            delivery_timeout_s=settings[producer.DELIVERY_TIMEOUT_MS] / 1000,
            auditor=announcer(cluster, settings),
            transaction=transaction,
        )
        self._failure: KafkaTXError | None = None

    @property
    def totals(self) -> WriteTotals:
        """Totals of acknowledged records."""
        return self._sender.totals

    def __enter__(self) -> EncodedWriter:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self._sender.close()

    def partitions(self, topic: str, at_least: int = 1) -> int:
        """Return the number of a topic's partitions.

        :param at_least: request it again if the cached number is less: the topic may have grown.
        :raises RequestError: the topic does not exist and is not created, or its name is invalid.
        :raises ConnectionFailed: no broker answers.
        """
        count = self._partition_count(topic)
        if count < at_least:
            self._cluster.forget_metadata()
            count = self._partition_count(topic)
        return count

    def _partition_count(self, topic: str) -> int:
        return retry_until_deadline(
            self._cluster,
            self._block_s,
            lambda: len(self._cluster.topic(topic, allow_auto_create=True).partitions),
        )

    def max_bytes(self) -> int:
        """Return the maximum batch size: less than configured once a broker has rejected that size."""
        return self._accumulator.max_bytes()

    def send(self, to: TopicPartition, records: bytes | memoryview, count: int, payload_bytes: int) -> None:
        """Send one batch, after earlier ones if necessary; its timestamp is the time of the call.

        :param records: as for :meth:`kafkatx.records.builder.BatchBuilder.append_encoded`.
        :param payload_bytes: the size of their keys and values.
        :raises ProduceFailed: a batch was rejected or not delivered in time; nothing more can be sent.
        """
        queue = self._accumulator.queue(*to)
        now_ms = int(self._clock() * 1000)
        self._accumulator.append_encoded(queue, records, count, payload_bytes, now_ms)
        self._call_unless_failed(self._sender.send)

    def flush(self) -> None:
        """Wait until all batches are acknowledged; raises as :meth:`send`."""
        self._call_unless_failed(self._sender.drain)

    def close(self) -> None:
        """Flush, then close the connections; raises as :meth:`send`."""
        try:
            self.flush()
        finally:
            self._sender.close()

    def _call_unless_failed(self, call: Callable[[], None]) -> None:
        """Raise the first failure again instead of sending more, which would break the order."""
        if self._failure is not None:
            raise self._failure
        try:
            call()
        except KafkaTXError as error:
            self._failure = error
            raise
