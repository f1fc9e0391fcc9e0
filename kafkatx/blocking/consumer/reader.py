"""Reader of one partition: raw batches, records, or columns for Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.consumer.fetcher import MAX_BYTES, Fetcher
from kafkatx.blocking.consumer.read_replicas import MAX_AGE_S
from kafkatx.clientcore.consumer.columns import MAX_COLUMN_BYTES, MAX_ROWS, Columns, decode_columns
from kafkatx.records.batch import Record
from kafkatx.records.conversion import batches


class Reader:
    """Reads one partition from ``start_offset`` to ``end_offset`` (exclusive; None: follow it without end).

    A context manager. Each call of :meth:`chunks` and :meth:`read_columns` and each iteration starts at
    ``start_offset``. Offsets that compaction has removed are skipped. With ``isolation_level`` 1
    (read_committed) the records of open and of aborted transactions are not read. The records of control
    batches are never returned.

    :param max_bytes: limit of one fetch response; about twice as much is held, as the next one is read ahead.
    :param check_crcs: check the CRC of each decoded batch.
    :param retry_timeout_s: time limit for errors in a row; the cluster's ``timeout_s`` if None.
    :param rack: ``client.rack``: the leader may name a follower in that rack, which is read then (KIP-392).
    :param max_age_s: time after which the leader is asked again.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        *,
        start_offset: int,
        end_offset: int | None = None,
        max_bytes: int = MAX_BYTES,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        check_crcs: bool = True,
        isolation_level: int = 0,
        retry_timeout_s: float | None = None,
        rack: str = "",
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.start_offset = start_offset
        self.end_offset = end_offset
        self._check_crcs = check_crcs
        self._fetcher = partial(
            Fetcher,
            cluster,
            topic,
            {partition: (start_offset, end_offset)},
            max_bytes=max_bytes,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            isolation_level=isolation_level,
            retry_timeout_s=retry_timeout_s,
            rack=rack,
            max_age_s=max_age_s,
        )
        self._fetchers: list[Fetcher] = []

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of unfinished iterations."""
        for fetcher in self._fetchers:
            fetcher.close()
        self._fetchers.clear()

    def chunks(self) -> Iterator[memoryview]:
        """Yield whole stored batches.

        The first batch may begin before ``start_offset`` and the last may end after ``end_offset``.

        :raises OffsetOutOfRange: the log does not have the next offset; the error has the log's range.
        :raises RequestError: the leader answered with an error, or the end was not reached within
            ``retry_timeout_s``.
        :raises ConnectionFailed: no broker could be reached for ``retry_timeout_s``.
        """
        fetcher = self._fetcher()
        self._fetchers.append(fetcher)
        for chunk in fetcher.chunks():
            yield chunk.data

    def __iter__(self) -> Iterator[Record]:
        """Yield the records; raises as :meth:`chunks` and :meth:`read_columns`."""
        for columns in self.read_columns():
            yield from map(
                Record, columns.offsets, columns.timestamps, columns.keys, columns.values, columns.headers
            )

    def read_columns(
        self, max_rows: int = MAX_ROWS, max_bytes: int = MAX_COLUMN_BYTES, with_headers: bool = True
    ) -> Iterator[Columns]:
        """Yield the records column by column; never yield empty columns.

        Columns are yielded at the end of the batch that brings them to *max_rows* rows or *max_bytes* of keys
        and values. So memory is bounded by these, one more batch, and the fetch responses.

        :param with_headers: false leaves the column of headers empty, and is faster.
        :raises CorruptRecords: a batch is corrupt.
        """
        for chunk in self.chunks():
            stored = (chunk[span.position : span.position + span.size] for span in batches(chunk))
            start, end = self.start_offset, self.end_offset
            # Yield all fetched records before waiting for more.
            yield from decode_columns(stored, start, end, self._check_crcs, with_headers, max_rows, max_bytes)
