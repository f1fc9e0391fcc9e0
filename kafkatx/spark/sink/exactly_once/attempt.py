"""In a worker: one attempt of a task writes its rows in a transaction, and leaves it open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain

import attrs
import pyarrow as pa

from kafkatx.blocking.producer.encoded_writer import EncodedWriter
from kafkatx.blocking.producer.sender import WriteTotals
from kafkatx.blocking.producer.transaction import Transaction
from kafkatx.blocking.retry import retry_until_deadline
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.tables import producer
from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink import task
from kafkatx.spark.sink.exactly_once.batch_start import BatchStart
from kafkatx.spark.sink.exactly_once.decision import Part, task_id
from kafkatx.spark.sink.options import SinkOptions
from kafkatx.spark.sink.schema import SinkColumns
from kafkatx.spark.sink.schemas.message_columns import Encodings
from kafkatx.types import TopicPartition

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
"""The properties by which Spark tells tasks what they run for."""


@attrs.frozen
class Place:
    """The micro-batch that a task runs for."""

    query_id: str
    batch_id: int


@attrs.frozen
class Attempt:
    """The result of one attempt of a task; picklable.

    :ivar part: its open transaction; None: it had no rows, or the batch was decided before.
    :ivar topic: one that it has written to.
    """

    start: BatchStart
    place: Place
    part: Part | None = None
    topic: str = ""
    totals: WriteTotals = attrs.Factory(WriteTotals)


def running() -> tuple[Place, int, int]:
    """Return what Spark runs at this moment in this process, with the numbers of the task and its attempt.

    :raises KafkaTXError: it is no micro-batch.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    query_id = context and context.getLocalProperty(QUERY_ID)
    batch_id = context and context.getLocalProperty(BATCH_ID)
    if not query_id or not batch_id:
        raise KafkaTXError("exactlyOnce=true: Spark does not tell which micro-batch this task is of")
    return Place(query_id, int(batch_id)), context.partitionId(), context.attemptNumber()


def write_attempt(
    options: SinkOptions,
    columns: SinkColumns,
    start: BatchStart,
    batches: Iterable[pa.RecordBatch],
    task_of: tuple[Place, int, int],
    encodings: Encodings,
) -> Attempt:
    """Write all rows in a transaction that stays open, unless the batch was decided before.

    :param batches: ``pyarrow.RecordBatch`` objects; read to the end in any case, as stateful queries need it.
    :param task_of: as :func:`running` gives it.
    :raises KafkaTXError: as :func:`kafkatx.spark.sink.task.write`; the transaction is aborted.
    """
    place, number, attempt = task_of
    some = (batch for batch in batches if batch.num_rows)
    if _was_decided(start, place):
        for _ in some:
            pass
        return Attempt(start, place)
    first = next(some, None)
    if first is None:
        return Attempt(start, place)
    settings = options.settings()
    name = task_id(start.transactional_id, number, attempt)
    timeout_ms = settings[producer.TRANSACTION_TIMEOUT_MS]
    with ExitStack() as stack:
        cluster = stack.enter_context(task.connect(settings))
        transaction = retry_until_deadline(
            cluster,
            settings[producer.MAX_BLOCK_MS] / 1000,
            lambda: Transaction.begun(cluster, name, timeout_ms),
        )
        stack.enter_context(_aborted_after_errors(transaction))
        with EncodedWriter(cluster, settings, transaction=transaction) as writer:
            task.write_rows(writer, settings, options, columns, chain([first], some), encodings)
        topic = transaction.topics[0]
        offset = OffsetAndMetadata(place.batch_id, place.query_id)
        transaction.send_offset(name, TopicPartition(topic, 0), offset)
        handle = transaction.handle
    part = Part(number, attempt, handle.producer_id, handle.epoch, handle.implicit)
    return Attempt(start, place, part, topic, writer.totals)


def _was_decided(start: BatchStart, place: Place) -> bool:
    """Return True if the batch is in the topics.

    :raises KafkaTXError: a later batch of the query is.
    """
    last = None if start.last is None else start.last.decision
    if last is None or last.query_id != place.query_id or last.batch_id < place.batch_id:
        return False
    if last.batch_id == place.batch_id:
        return True
    raise KafkaTXError(
        f"batch {place.batch_id} of query {place.query_id} cannot be written: batch {last.batch_id} is in the"
        " topics already. Is the checkpoint a copy of an older state? With a new checkpoint, or another"
        " kafka.transactional.id, rows are written twice"
    )


@contextmanager
def _aborted_after_errors(transaction: Transaction) -> Iterator[None]:
    """Abort after any error: readers of committed records would wait for the time-out."""
    try:
        yield
    except BaseException:
        with suppress(KafkaTXError):  # then the next start of a batch, or the time-out, does it
            transaction.end(False)
        raise
