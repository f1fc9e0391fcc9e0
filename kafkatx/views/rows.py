"""The records in the bytes of a log, with what their batches tell of them. Pure.

A damaged batch is a row by itself, so that it is seen, and the walk goes on behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from kafkatx.errors import RequestError
from kafkatx.records import batch as v2
from kafkatx.records import conversion
from kafkatx.records.batch import Headers
from kafkatx.records.control import read_marker
from kafkatx.records.legacy import message_sets

CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE = "create", "append", "none"
COMMITTED, ABORTED, OPEN = "committed", "aborted", "open"
COMMIT, ABORT, OTHER = "commit", "abort", "other"


@attrs.define
class Row:
    """A record, a marker, or a damaged batch.

    :ivar timestamp_type: ``create``, ``append``, or ``none`` for magic 0.
    :ivar transaction: the state of the transaction that it is part of; None for other records.
    :ivar control: ``commit`` or ``abort`` for a marker that ends a transaction, ``other`` for other control
        records; None for records.
    :ivar fault: why a batch cannot be read; or empty.
    """

    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = attrs.Factory(list)
    transaction: str | None = None
    control: str | None = None
    fault: str = ""


@attrs.define
class Transactions:
    """The transactions in a part of a log.

    :ivar stable: the last stable offset: those from there on may be open.
    :ivar aborted: producer id and first offset of each aborted one, by first offset.
    """

    stable: int
    aborted: Sequence[tuple[int, int]] = ()
    _begun: int = 0
    _producers: set[int] = attrs.Factory(set)

    def state_of(self, header: v2.BatchHeader) -> str | None:
        """Return the state of a batch's transaction; batches come in the order of the log."""
        while self._begun < len(self.aborted) and self.aborted[self._begun][1] <= header.last_offset:
            self._producers.add(self.aborted[self._begun][0])
            self._begun += 1
        if header.control:
            self._producers.discard(header.producer_id)  # its marker
            return None
        if not header.transactional:
            return None
        if header.base_offset >= self.stable:
            return OPEN
        return ABORTED if header.producer_id in self._producers else COMMITTED


def read_rows(
    data: bytes | memoryview, position: int, until: int, transactions: Transactions, limit_bytes: int
) -> Iterator[Row]:
    """Yield the rows from one offset to another (exclusive), in order.

    :param data: whole batches, and perhaps a part of one more.
    :param limit_bytes: the most that the records of a batch may have when they are decompressed.
    :raises CorruptRecords: the end of a batch cannot be found.
    """
    view = memoryview(data)
    for span in conversion.batches(view):
        part = view[span.position : span.position + span.size]
        try:
            yield from _rows(part, span, position, until, transactions, limit_bytes)
        except RequestError as error:  # the batch, or a codec that is not installed
            if span.last_offset >= position:
                yield Row(
                    max(span.base_offset, position), span.max_timestamp, NO_TIMESTAMP_TYPE, fault=str(error)
                )


def _rows(
    part: memoryview,
    span: conversion.Span,
    position: int,
    until: int,
    transactions: Transactions,
    limit_bytes: int,
) -> Iterator[Row]:
    """Read a whole batch before its first row is yielded."""
    if span.magic < v2.MAGIC:
        for record in list(message_sets.iter_records(part, True, limit_bytes)):
            if position <= record.offset < until:
                kind = CREATE_TIME if span.magic else NO_TIMESTAMP_TYPE
                yield Row(record.offset, record.timestamp, kind, record.key, record.value)
        return
    header = v2.parse_header(part)
    state = transactions.state_of(header)
    if span.last_offset < position or span.base_offset >= until:
        return
    v2.check(part, 0, header)
    kind = LOG_APPEND_TIME if header.log_append_time else CREATE_TIME
    if header.control:
        marker = read_marker(part)
        control = OTHER if marker is None else COMMIT if marker.committed else ABORT
        if position <= header.base_offset < until:
            yield Row(header.base_offset, header.max_timestamp, kind, control=control)
        return
    for record in list(v2.iter_records(part, limit_bytes)):
        if position <= record.offset < until:
            yield Row(record.offset, record.timestamp, kind, record.key, record.value, record.headers, state)


def end_of(data: bytes | memoryview, position: int) -> int:
    """Return the offset after the last whole batch; *position* if there is none.

    :raises CorruptRecords: the end of a batch cannot be found.
    """
    end = position
    for span in conversion.batches(data):
        end = max(end, span.last_offset + 1)
    return end
