"""The transactions in the batches of a log, found without kafkatx.log; and a reader."""

from __future__ import annotations

import struct
from typing import Any

import attrs

from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.records.batch import BatchHeader, iter_records, parse_header
from kafkatx.records.conversion import batches
from kafkatx.testing.contracts.partition_log import bytes_of
from kafkatx.wire.messages.fetch import AbortedTransaction

COMMIT = 1
ALL = 1 << 30


@attrs.define
class Outcomes:
    """The transactions of a list of batches.

    :ivar open: producer id -> first offset.
    :ivar ended: (producer id, first offset, marker, True if committed), by marker.
    """

    open: dict[int, int] = attrs.field(factory=dict)
    ended: list[tuple[int, int, int, bool]] = attrs.field(factory=list)

    @property
    def aborted(self) -> list[tuple[int, int, int]]:
        """Producer id, first offset and marker of the aborted transactions."""
        return [one[:3] for one in self.ended if not one[3]]

    def last_stable_offset(self, high_watermark: int, log_start_offset: int = 0, known_from: int = 0) -> int:
        """Return the end for readers of committed records.

        :param known_from: markers below it count as committed.
        """
        committed = max(high_watermark, known_from)
        firsts = [*self.open.values(), *(one[1] for one in self.ended if one[2] >= committed)]
        return min(max(min(firsts, default=high_watermark), log_start_offset), high_watermark)

    def take(self, data: bytes) -> None:
        """Add a batch."""
        header = parse_header(data)
        if not header.attributes & 0x10 or header.producer_id < 0:
            return
        if not header.attributes & 0x20:
            self.open.setdefault(header.producer_id, header.base_offset)
            return
        for record in iter_records(memoryview(data)):
            (kind,) = struct.unpack_from(">h", record.key or b"", 2)
            first = self.open.pop(header.producer_id, -1)
            if first >= 0:
                self.ended.append((header.producer_id, first, header.base_offset, kind == COMMIT))


def outcomes(data: bytes) -> Outcomes:
    """Return the transactions of the batches of a log."""
    found = Outcomes()
    for one in batches(data):
        found.take(data[one.position : one.position + one.size])
    return found


def open_transactions(log: Any) -> dict[int, int]:
    """Return producer id -> first offset, as DescribeProducers tells."""
    known = {one.producer_id: one.txn_start_offset for one in log.active_producers()}
    return {key: first for key, first in known.items() if first >= 0}


def aborted_of(log: Any) -> list[tuple[int, int]]:
    """Return all aborted transactions that a log knows."""
    return sorted(log.aborted_transactions(0, NO_LIMIT, NO_LIMIT)[1])


def read_committed(
    log: Any, high_watermark: int, most: int = 2, max_bytes: int = 300
) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of the records that a read_committed consumer gets."""
    found = []
    at, stable = log.log_start_offset, log.last_stable_offset(high_watermark)
    while at < stable:
        end, aborted = log.aborted_transactions(at, stable, most)
        assert end > at
        data = bytes_of(log.read(at, max_bytes, end, True))
        if not data and end < stable:
            _, aborted = log.aborted_transactions(at, stable, NO_LIMIT)
            data = bytes_of(log.read(at, max_bytes, stable, True))
        if not data:
            break
        assert aborted == sorted(aborted, key=lambda one: one[1])
        known = AbortedTransactions([AbortedTransaction(*one) for one in aborted])
        for one in batches(data):
            raw = memoryview(data)[one.position : one.position + one.size]
            header: BatchHeader = parse_header(raw)
            if header.control:
                known.end_transaction(header, raw)
            elif not known.is_aborted(header):
                found += [(r.offset, r.key, r.value) for r in iter_records(raw) if r.offset >= at]
            last = header.last_offset
        at = last + 1
    return found
