"""In a worker: a task's batches of rows into their topics, with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa

from kafkatx.blocking import Cluster
from kafkatx.blocking.producer.encoded_writer import EncodedWriter
from kafkatx.blocking.producer.sender import WriteTotals
from kafkatx.blocking.security import dial_for
from kafkatx.clientcore.audit.server_header import stamp_of
from kafkatx.clientcore.errors import ProduceFailed
from kafkatx.clientcore.producer.config import limits_of
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.spark.arrow.columns import pieces
from kafkatx.spark.sink.columns import by_topic
from kafkatx.spark.sink.options import SinkOptions
from kafkatx.spark.sink.partitions import RoundRobin, encoded, highest, largest
from kafkatx.spark.sink.schema import SinkColumns
from kafkatx.spark.sink.schemas.message_columns import NO_ENCODINGS, Encodings, MessageColumns
from kafkatx.types import TopicPartition

GATHER_BYTES = 8 << 20
"""Bytes that are gathered before they are sent, so that each of many partitions gets large batches."""


def write(
    options: SinkOptions,
    columns: SinkColumns,
    batches: Iterable[pa.RecordBatch],
    encodings: Encodings = NO_ENCODINGS,
) -> WriteTotals:
    """Write all rows and wait until they are acknowledged; without rows, connect to no broker.

    :param batches: ``pyarrow.RecordBatch`` objects.
    :param encodings: of columns that are no messages yet.
    :return: what was written.
    :raises ProduceFailed: rows were refused, or not delivered in time; others may have been written.
    :raises BadRow: a row cannot be a record.
    :raises ConnectionFailed: no broker answers.
    """
    some = (batch for batch in batches if batch.num_rows)
    first = next(some, None)
    if first is None:
        return WriteTotals()
    settings = options.settings()
    with connect(settings) as cluster, EncodedWriter(cluster, settings) as writer:
        write_rows(writer, settings, options, columns, chain([first], some), encodings)
    return writer.totals


def write_rows(
    writer: EncodedWriter,
    settings: ClientSettings,
    options: SinkOptions,
    columns: SinkColumns,
    batches: Iterable[pa.RecordBatch],
    encodings: Encodings,
) -> None:
    """Send all rows; the last ones may not be acknowledged yet. Raises as :func:`write`."""
    stamp = stamp_of(settings)
    messages = MessageColumns(encodings, columns, options.topic, settings)
    task = Task(writer, settings)
    for batch in _bounded(batches):
        for topic, rows in by_topic(messages.encode(batch), columns, options.topic, stamp):
            task.add(topic, rows)
    task.send()


def connect(settings: ClientSettings) -> Cluster:
    """Return a cluster to talk to; the caller closes it."""
    return Cluster(
        settings[common.BOOTSTRAP_SERVERS],
        client_id=settings[common.CLIENT_ID],
        timeout_s=settings[common.REQUEST_TIMEOUT_MS] / 1000,
        connect_timeout_s=settings[common.CONNECTION_SETUP_TIMEOUT_MS] / 1000,
        retry_backoff_ms=settings[common.RETRY_BACKOFF_MS],
        dial=dial_for(settings),
    )


def _bounded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Split batches, which can be of any size, as sorting and encoding take several times as much memory."""
    for batch in batches:
        yield from pieces(batch, batch.num_rows, GATHER_BYTES)


class Task:
    """Gathers rows by topic and sends them when there are enough."""

    def __init__(
        self, writer: EncodedWriter, settings: ClientSettings, round_robin: RoundRobin | None = None
    ) -> None:
        limits = limits_of(settings)
        self._writer = writer
        self._round_robin = round_robin or RoundRobin()
        self._ignore_keys = settings[producer.PARTITIONER_IGNORE_KEYS]
        self._most_bytes = limits.max_bytes
        self._gather_bytes = min(GATHER_BYTES, limits.buffer_bytes)
        self._gathered: dict[str, list[pa.RecordBatch]] = {}
        self._bytes = 0

    def add(self, topic: str, rows: pa.RecordBatch) -> None:
        """Take a topic's rows; raises as :func:`write`."""
        self._gathered.setdefault(topic, []).append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= self._gather_bytes:
            self.send()

    def send(self) -> None:
        """Send what is gathered; raises as :func:`write`."""
        gathered, self._gathered, self._bytes = self._gathered, {}, 0
        for topic, parts in gathered.items():
            table = pa.Table.from_batches(parts).combine_chunks()
            for rows in table.to_batches():
                self._send(topic, rows)

    def _send(self, topic: str, rows: pa.RecordBatch) -> None:
        partitions = self._checked(topic, rows)
        batch_bytes = self._writer.max_bytes()
        for batch in encoded(rows, partitions, batch_bytes, self._round_robin, self._ignore_keys):
            to = TopicPartition(topic, batch.partition)
            self._writer.send(to, batch.records, batch.rows, batch.payload_bytes)

    def _checked(self, topic: str, rows: pa.RecordBatch) -> int:
        """Return the number of the topic's partitions, if all rows can be written to it."""
        wanted = highest(rows)
        partitions = self._writer.partitions(topic, at_least=wanted + 1)
        if wanted >= partitions:
            message = f"the column 'partition' names it, and the topic has 0 to {partitions - 1}"
            raise ProduceFailed(ErrorCode.INVALID_PARTITIONS, topic, wanted, message)
        size = largest(rows)
        if size > self._most_bytes:
            raise RequestError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{topic}: a record of up to {size} bytes is above kafka.max.request.size, which leaves "
                f"{self._most_bytes}",
            )
        return partitions
