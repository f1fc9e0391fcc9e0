"""Read one partition: raw batches, records, or columns for Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.consumer.fetcher import MAX_BYTES, Fetcher
from kafkatx.clientcore.consumer.columns import MAX_COLUMN_BYTES, MAX_ROWS, Columns, decode_columns
from kafkatx.records.batch import Record
from kafkatx.records.conversion import batches


class Reader:
    """One partition from ``start_offset`` to ``end_offset`` (exclusive; None: follow it for ever).

    A context manager. Each of :meth:`chunks`, :meth:`read_columns` and iteration starts at
    ``start_offset``. Offsets that compaction has removed are passed over. Transactions: with
    ``isolation_level`` 1 nothing beyond the last stable offset is read; control batches never show.

    :param max_bytes: of one fetch reply; about twice as much is held, as the next is read ahead.
    :param check_crcs: check the CRC of each batch that is decoded.
    :param retry_timeout_s: how long errors in a row are borne; the cluster's ``timeout_s`` if None.
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
        )
        self._fetchers: list[Fetcher] = []

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of whatever iteration was not finished."""
        for fetcher in self._fetchers:
            fetcher.close()
        self._fetchers.clear()

    def chunks(self) -> Iterator[memoryview]:
        """Yield runs of whole batches as they are stored.

        The first batch may begin before ``start_offset`` and the last may end beyond ``end_offset``.

        :raises OffsetOutOfRange: the log does not have the next offset; tells what it has.
        :raises RequestError: the leader refuses, or the end was not reached within ``retry_timeout_s``.
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
        """Yield the records column by column, never without rows.

        A yield ends with a batch once it has *max_rows* rows or *max_bytes* of keys and values, so that
        memory is bounded by these, one batch more, and the fetch replies.

        :param with_headers: false leaves the column of headers empty, and is faster.
        :raises CorruptRecords: a batch is not what it should be.
        """
        for chunk in self.chunks():
            stored = (chunk[span.position : span.position + span.size] for span in batches(chunk))
            start, end = self.start_offset, self.end_offset
            # What was fetched is handed out before more is waited for.
            yield from decode_columns(stored, start, end, self._check_crcs, with_headers, max_rows, max_bytes)
