"""The aborted transactions of one log, and the format of their indexes. Pure.

Consumers with ``isolation.level=read_committed`` get a list of aborted transactions with the records, and
skip the records of these. Each segment has an index of the transactions whose ABORT marker is in it
(``.txnindex``, big-endian, as Apache Kafka's ``AbortedTxn``), with 34 bytes for each::

    version i16 = 0 | producer_id i64 | first_offset i64 | last_offset i64 | last_stable_offset i64

``last_offset`` is the marker's. All transactions that end later begin at ``last_stable_offset`` or beyond: it
is the first offset of the oldest other transaction that was open, or else the offset after the marker. A
transaction without records in the log is not in an index.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from kafkatx.log.segment.index import IndexDamaged

ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """One aborted transaction; see the module."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions:
    """All aborted transactions of a log, in the order of their markers; 32 bytes of memory for each."""

    __slots__ = ("_columns",)

    def __init__(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        self._columns = array("q"), array("q"), array("q"), array("q")
        for entry in entries:
            self.add(entry)

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return map(AbortedTransaction, *self._columns)

    def add(self, entry: AbortedTransaction) -> None:
        """Add a transaction, whose marker follows those of all others."""
        for column, value in zip(self._columns, entry, strict=True):
            column.append(value)

    def number_of(self, offset: int) -> int:
        """Return how many transactions have their marker below *offset*."""
        return bisect_left(self._columns[2], offset)

    def part(self, first: int, end: int) -> list[AbortedTransaction]:
        """Return the transactions from number *first* to number *end*, exclusive."""
        return list(map(AbortedTransaction, *(column[first:end] for column in self._columns)))

    def replace(self, start: int, end: int, entries: Iterable[AbortedTransaction]) -> None:
        """Put others in the place of those whose markers are in the range; *end* is exclusive."""
        part = slice(self.number_of(start), self.number_of(end))
        new = AbortedTransactions(entries)
        for column, values in zip(self._columns, new._columns, strict=True):
            column[part] = values

    def cut_from(self, offset: int) -> None:
        """Forget the transactions whose markers are at *offset* or beyond."""
        number = self.number_of(offset)
        for column in self._columns:
            del column[number:]

    def cut_before(self, offset: int) -> None:
        """Forget the transactions whose markers are below *offset*."""
        number = self.number_of(offset)
        for column in self._columns:
            del column[:number]

    def among(self, offset: int, end_offset: int, most: int) -> tuple[int, list[tuple[int, int]]]:
        """Return the aborted transactions that a reader of a range of offsets must know.

        If there are more than *most* the range is made shorter, but never empty: those that have records
        both before and after its first offset are all returned, of which each producer has one at most.

        :param end_offset: exclusive.
        :return: the end of the range, and (producer id, first offset) of each, by first offset.
        """
        producer_ids, firsts, lasts, stables = self._columns
        found: list[tuple[int, int]] = []
        many = 2 * most
        for number in range(bisect_left(lasts, offset), len(lasts)):
            if firsts[number] < end_offset:
                found.append((firsts[number], producer_ids[number]))
                if len(found) > many:
                    found.sort()
                    end_offset = self._shortened(found, offset, end_offset, most)
                    many = 2 * max(most, len(found))
            if stables[number] >= end_offset:
                break
        found.sort()
        end_offset = self._shortened(found, offset, end_offset, most)
        return end_offset, [(producer_id, first) for first, producer_id in found]

    @staticmethod
    def _shortened(found: list[tuple[int, int]], offset: int, end_offset: int, most: int) -> int:
        """Remove the last of the sorted transactions, as many as are too many; return the new end."""
        first_within = bisect_left(found, (offset + 1, -1))
        keep = max(most, first_within)
        if keep >= len(found):
            return end_offset
        end_offset = found[keep][0]
        del found[bisect_left(found, (end_offset, -1)) :]
        return end_offset


def encode_aborted(entries: Iterable[AbortedTransaction]) -> bytes:
    """Return entries as they are in a ``.txnindex``."""
    return b"".join([ENTRY.pack(_VERSION, *entry) for entry in entries])


def decode_aborted(data: bytes) -> list[AbortedTransaction]:
    """Return the entries of a ``.txnindex``.

    :raises IndexDamaged: it ends within an entry, has another version, or offsets that cannot be.
    """
    if len(data) % ENTRY.size:
        raise IndexDamaged(f"it ends {len(data) % ENTRY.size} bytes into an entry")
    entries: list[AbortedTransaction] = []
    last_marker = -1
    for version, *fields in ENTRY.iter_unpack(data):
        entry = AbortedTransaction(*fields)
        if version != _VERSION:
            raise IndexDamaged(f"entry {len(entries)} has version {version}")
        if not (0 <= entry.first_offset < entry.last_offset and last_marker < entry.last_offset):
            raise IndexDamaged(
                f"entry {len(entries)} has offsets {entry.first_offset} to {entry.last_offset}"
            )
        last_marker = entry.last_offset
        entries.append(entry)
    return entries
