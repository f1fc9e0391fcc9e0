"""In a worker: read one range of offsets as Arrow batches, with bounded memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from kafkatx.blocking import Cluster, Columns, OffsetOutOfRange, Reader, UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.spark.client_options import ClientSettings
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.planning import DataLoss, connect

log = logging.getLogger(__name__)


def read_range(
    client: ClientSettings, wanted: OffsetRange, include_headers: bool, fail_on_data_loss: bool
) -> Iterator[Any]:
    """Yield ``pyarrow.RecordBatch`` objects of at most 64 Ki rows and about 32 MiB.

    Two fetch replies and the records of one batch are held at a time, however large the range is.

    :raises DataLoss: offsets are gone since the query was planned, and ``fail_on_data_loss`` is true.
    :raises KafkaTXError: the brokers could not be reached or refused.
    """
    # pyarrow takes 0.1 s to import; the driver's planning does without.
    from kafkatx.spark.arrow import arrow_schema, pieces, record_batch

    schema = arrow_schema(include_headers)
    with connect(client) as cluster:
        for columns in surviving(cluster, client, wanted, fail_on_data_loss):
            yield from pieces(record_batch(wanted.topic, wanted.partition, columns, schema))


def surviving(
    cluster: Cluster, client: ClientSettings, wanted: OffsetRange, fail_on_data_loss: bool
) -> Iterator[Columns]:
    """Yield the records of a range; go on behind offsets that are gone, or fail.

    :raises DataLoss: some are gone, and that is a failure.
    """
    left = wanted
    while left.size > 0:
        try:
            for columns in _columns(cluster, client, left):
                left = left._replace(start=columns.offsets[-1] + 1)
                yield columns
            return
        except (RequestError, UnknownTopic) as error:
            if not _says_that_data_are_gone(error):
                raise
            if fail_on_data_loss:
                raise DataLoss(f"{left} cannot be read: {error}") from error
            log.warning("%s cannot be read: %s. Some data may have been lost", left, error)
            left = _behind_the_gap(left, error)


def _columns(cluster: Cluster, client: ClientSettings, wanted: OffsetRange) -> Iterator[Columns]:
    with Reader(
        cluster,
        wanted.topic,
        wanted.partition,
        start_offset=wanted.start,
        end_offset=wanted.end,
        max_bytes=client.fetch_bytes,
        max_wait_ms=client.fetch_wait_ms,
        min_bytes=client.fetch_min_bytes,
        check_crcs=client.check_crcs,
    ) as reader:
        yield from reader.read_columns()


def _says_that_data_are_gone(error: RequestError) -> bool:
    return error.code in (
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_PARTITIONS,
    )


def _behind_the_gap(left: OffsetRange, error: RequestError) -> OffsetRange:
    """What there may still be of a range: that from the log's start, if retention moved it into the range."""
    if isinstance(error, OffsetOutOfRange) and left.start < error.earliest < left.end:
        return left._replace(start=error.earliest)
    return left._replace(start=left.end)
