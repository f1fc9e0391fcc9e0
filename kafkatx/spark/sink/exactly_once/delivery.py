"""``exactlyOnce=true`` as Spark's writers call it: on the driver and in the workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkatx.clientcore.tables import producer
from kafkatx.spark.sink.options import SinkOptions
from kafkatx.spark.sink.schema import SinkColumns
from kafkatx.spark.sink.shipped import Shipped

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkatx.spark.sink.exactly_once.attempt import Attempt
    from kafkatx.spark.sink.exactly_once.batch_start import BatchStart
    from kafkatx.spark.sink.schemas.message_columns import Encodings


class ExactlyOnce:
    """The writing of micro-batches; one begins when this is shipped to its tasks."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._start = Shipped(lambda: start(options))

    def write(self, columns: SinkColumns, batches: Iterable[pa.RecordBatch], encodings: Encodings) -> Attempt:
        """Write the rows of a task in a worker.

        :raises KafkaTXError: as :func:`kafkatx.spark.sink.exactly_once.attempt.write_attempt`.
        """
        from kafkatx.spark.sink.exactly_once.attempt import running, write_attempt

        begun = self._start.get()
        return write_attempt(self._options, columns, begun, batches, running(), encodings)

    def commit(self, attempts: Sequence[Attempt], batch_id: int) -> None:
        """Commit, on the driver.

        :raises KafkaTXError: as :func:`kafkatx.spark.sink.exactly_once.batch_commit.commit_batch`.
        """
        from kafkatx.spark.sink import task
        from kafkatx.spark.sink.exactly_once.batch_commit import commit_batch

        settings = self._options.settings()
        with task.connect(settings) as cluster:
            commit_batch(cluster, attempts, batch_id, settings[producer.TRANSACTION_TIMEOUT_MS])

    def abort(self, attempts: Sequence[Attempt], batch_id: int) -> None:
        """Abort, on the driver, unless the batch is decided."""
        from kafkatx.spark.sink import task
        from kafkatx.spark.sink.exactly_once.batch_commit import abort_batch

        with task.connect(self._options.settings()) as cluster:
            abort_batch(cluster, attempts, batch_id)


def start(options: SinkOptions) -> BatchStart:
    """Begin a micro-batch, on the driver; waits for brokers that are away as long as tasks do.

    :raises KafkaTXError: as :func:`kafkatx.spark.sink.exactly_once.batch_start.start_batch`.
    """
    from kafkatx.blocking.retry import retry_until_deadline
    from kafkatx.spark.sink import task
    from kafkatx.spark.sink.exactly_once.batch_start import start_batch

    settings = options.settings()
    name, timeout_ms = settings[producer.TRANSACTIONAL_ID], settings[producer.TRANSACTION_TIMEOUT_MS]
    with task.connect(settings) as cluster:
        block_s = settings[producer.MAX_BLOCK_MS] / 1000
        return retry_until_deadline(cluster, block_s, lambda: start_batch(cluster, name, timeout_ms))
