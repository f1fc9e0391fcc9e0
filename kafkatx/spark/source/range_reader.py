"""In a worker: read one range of offsets as Arrow batches, with bounded memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkatx.blocking import Cluster, OffsetOutOfRange, Reader, UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.source.plan import DataLoss, connect

if TYPE_CHECKING:
    from pyarrow import RecordBatch

log = logging.getLogger(__name__)


def read_range(
    client: ClientSettings, wanted: OffsetRange, include_headers: bool, fail_on_data_loss: bool
) -> Iterator[RecordBatch]:
    """Yield ``pyarrow.RecordBatch`` objects of at most 64 Ki rows and about 32 MiB.

    Two fetch replies and the records of one batch are held at a time, however large the range is.

    :raises DataLoss: offsets are gone since the query was planned, and ``fail_on_data_loss`` is true.
    :raises KafkaTXError: the brokers could not be reached or refused.
    """
    with connect(client) as cluster:
        yield from surviving(cluster, client, wanted, include_headers, fail_on_data_loss)


def surviving(
    cluster: Cluster,
    client: ClientSettings,
    wanted: OffsetRange,
    include_headers: bool,
    fail_on_data_loss: bool,
) -> Iterator[RecordBatch]:
    """Yield the records of a range; go on behind offsets that are gone, or fail.

    :raises DataLoss: some are gone, and that is a failure.
    """
    left = wanted
    while left.size > 0:
        try:
            for batch in _batches(cluster, client, left, include_headers):
                left = left._replace(start=batch.column("offset")[-1].as_py() + 1)
                yield batch
            return
        except (RequestError, UnknownTopic) as error:
            if not _says_that_data_are_gone(error):
                raise
            if fail_on_data_loss:
                raise DataLoss(f"{left} cannot be read: {error}") from error
            log.warning("%s cannot be read: %s. Some data may have been lost", left, error)
            left = _behind_the_gap(left, error)


def _batches(
    cluster: Cluster, client: ClientSettings, wanted: OffsetRange, include_headers: bool
) -> Iterator[RecordBatch]:
    # pyarrow and numpy take 0.2 s to import; the driver's planning does without.
    from kafkatx.spark.arrow.record_batches import Decoder

    decoder = Decoder(wanted, include_headers, client.check_crcs)
    with Reader(
        cluster,
        wanted.topic,
        wanted.partition,
        start_offset=wanted.start,
        end_offset=wanted.end,
        max_bytes=client.fetch_bytes,
        max_wait_ms=client.fetch_wait_ms,
        min_bytes=client.fetch_min_bytes,
        isolation_level=client.isolation_level,
        rack=client.rack,
        max_age_s=client.max_age_s,
    ) as reader:
        for chunk in reader.chunks():
            yield from decoder.decode(chunk)


def _says_that_data_are_gone(error: RequestError) -> bool:
    return error.code in (
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_PARTITIONS,
    )


def _behind_the_gap(left: OffsetRange, error: RequestError) -> OffsetRange:
    """Return the part of a range that may still exist: from the log's start, if retention moved that into the
    range.
    """
    if isinstance(error, OffsetOutOfRange) and left.start < error.earliest < left.end:
        return left._replace(start=error.earliest)
    return left._replace(start=left.end)
