"""Comparison of two copies of a partition, batch by batch. Pure: batches of both sides in, differences out.

The copy of a link has the source's batches as they are. So two batches with the same offsets are equal if
their headers are: checksum, leader epoch, producer id, epoch and sequence. The checksum is of all that the
header has after it, and of the records; each side's own bytes are checked against it.

Source and copy of a compacted topic are compacted each by itself. In such a topic a record that only the copy
has is therefore no difference, one that only the source has is none if the copy has a later one with its key
(:mod:`~kafkatx.clientcore.admin.mirror_check.superseded`), and records that both have must be equal. Beside
those records' keys, nothing but the batch of each side that is compared is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import attrs

from kafkatx.clientcore.admin.mirror_check.superseded import MOST_KEYS, Superseded
from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records import header as v2
from kafkatx.records.conversion import batches, iter_any

MOST_KEPT = 20
"""Differences of a partition that are told in full; all are counted."""


class Batch(NamedTuple):
    """A batch, or an outer message of an old format.

    ``mark`` is what must be equal in both copies, beside the offsets; ``intact`` is False if the bytes do not
    fit the checksum.
    """

    base_offset: int
    last_offset: int
    mark: tuple[int, ...]
    intact: bool
    data: memoryview


@attrs.frozen
class Difference:
    """A place where the copies differ; offsets are inclusive."""

    first_offset: int
    last_offset: int
    what: str


@attrs.define
class Tally:
    """The result of a comparison, as far as it is done.

    :ivar start: the first offset that is compared, *end* the one after the last.
    :ivar position: the offset after the last that was compared.
    :ivar batches: pairs of batches with the same offsets; *size_bytes* of the copy.
    :ivar compacted: batches that differ as compaction at either side explains.
    :ivar different: the number of differences; *differences* are the first of them.
    """

    start: int
    end: int
    position: int
    batches: int = 0
    size_bytes: int = 0
    compacted: int = 0
    different: int = 0
    differences: list[Difference] = attrs.Factory(list)

    def add(self, first_offset: int, last_offset: int, what: str) -> None:
        """Count a difference."""
        self.different += 1
        if len(self.differences) < MOST_KEPT:
            self.differences.append(Difference(first_offset, last_offset, what))


def batches_of(chunks: Iterable[memoryview], start: int, end: int) -> Iterator[Batch]:
    """Yield the batches with offsets from *start* to before *end*.

    :raises CorruptRecords: the bytes are no batches.
    """
    for chunk in chunks:
        for span in batches(chunk):
            if span.base_offset >= end:
                return
            if span.last_offset < start:
                continue
            data = chunk[span.position : span.position + span.size]
            if span.magic != v2.MAGIC:
                mark: tuple[int, ...] = (span.magic, zlib.crc32(data[v2.LOG_OVERHEAD :]))
                yield Batch(span.base_offset, span.last_offset, mark, True, data)
                continue
            header = v2.parse_header(data)
            mark = (
                header.magic,
                header.crc,
                header.partition_leader_epoch,
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
            )
            yield Batch(span.base_offset, span.last_offset, mark, _is_intact(data, header), data)


def _is_intact(data: memoryview, header: v2.BatchHeader) -> bool:
    try:
        v2.check(data, 0, header)
    except CorruptRecords:
        return False
    return True


def compare(
    tally: Tally,
    source: Iterator[Batch],
    copy: Iterator[Batch],
    compacted: bool,
    later: Callable[[], Iterable[Batch]] = tuple,
) -> Iterator[None]:
    """Compare all batches of both sides; yield after each step, so that the caller can show progress.

    :param compacted: the topic is compacted.
    :param later: returns the batches that the copy has got since: they may be why it was compacted.
    """
    missing = Superseded() if compacted else None
    theirs, ours = next(source, None), next(copy, None)
    while theirs is not None or ours is not None:
        if theirs is None or (ours is not None and ours.last_offset < theirs.base_offset):
            assert ours is not None
            _only_ours(tally, ours, missing)
            tally.position, ours = ours.last_offset + 1, next(copy, None)
        elif ours is None or theirs.last_offset < ours.base_offset:
            _only_theirs(tally, theirs, missing)
            tally.position, theirs = theirs.last_offset + 1, next(source, None)
        else:
            _both(tally, theirs, ours, missing)
            last = min(theirs.last_offset, ours.last_offset)
            tally.position = last + 1
            done_theirs, done_ours = theirs.last_offset == last, ours.last_offset == last
            theirs = next(source, None) if done_theirs else theirs
            ours = next(copy, None) if done_ours else ours
        yield
    if missing is not None:
        for batch in later() if missing else ():
            _see(tally, batch, missing)
            yield
        _end(tally, missing)
    tally.position = tally.end


def _end(tally: Tally, missing: Superseded) -> None:
    for offset in missing.offsets():
        tally.add(offset, offset, "the copy lacks this record, and has no later one with its key")
    if missing.too_many:
        tally.add(
            tally.start,
            tally.end - 1,
            f"the copy lacks {missing.too_many} records beyond those of {MOST_KEYS} keys, not followed",
        )


def _only_ours(tally: Tally, ours: Batch, missing: Superseded | None) -> None:
    if not ours.intact:
        tally.add(ours.base_offset, ours.last_offset, "the copy's batch is damaged: its checksum is wrong")
    elif missing is None:
        tally.add(ours.base_offset, ours.last_offset, "the source does not have this batch")
    else:
        tally.compacted += 1
        _see(tally, ours, missing)


def _only_theirs(tally: Tally, theirs: Batch, missing: Superseded | None) -> None:
    if not theirs.intact:
        tally.add(
            theirs.base_offset, theirs.last_offset, "the source's batch is damaged: its checksum is wrong"
        )
    elif missing is None:
        tally.add(theirs.base_offset, theirs.last_offset, "the copy lacks this batch")
    else:
        tally.compacted += 1
        _compare_records(tally, theirs, None, missing, theirs.last_offset)


def _both(tally: Tally, theirs: Batch, ours: Batch, missing: Superseded | None) -> None:
    """Compare two batches that have offsets in common."""
    tally.batches += 1
    tally.size_bytes += len(ours.data)
    for batch, whose in ((theirs, "the source's"), (ours, "the copy's")):
        if not batch.intact:
            tally.add(
                batch.base_offset, batch.last_offset, f"{whose} batch is damaged: its checksum is wrong"
            )
            return
    if theirs[:3] == ours[:3]:
        if missing:
            _see(tally, ours, missing)
        return
    first = max(theirs.base_offset, ours.base_offset)
    last = min(theirs.last_offset, ours.last_offset)
    if missing is None:
        tally.add(first, last, _what(theirs, ours))
    elif _compare_records(tally, theirs, ours, missing, last):
        tally.compacted += 1


def _compare_records(
    tally: Tally, theirs: Batch, ours: Batch | None, missing: Superseded, last_offset: int
) -> bool:
    """Compare the records up to an offset; return False if records that both have differ.

    Records of the source that the copy lacks are followed, but for those of transactions.
    """
    try:
        known = {} if ours is None else {record.offset: record for record in iter_any(ours.data, check=False)}
        for record in iter_any(theirs.data, check=False):
            if not tally.position <= record.offset <= last_offset:
                continue
            same = known.get(record.offset)
            if same is None:
                if not _is_transactional(theirs):
                    missing.lacks(record)
            elif same != record:
                tally.add(record.offset, last_offset, "records that both have differ")
                return False
        missing.sees(known.values())
    except (CorruptRecords, UnsupportedCompression) as error:
        tally.add(tally.position, last_offset, f"records cannot be read: {error}")
        return False
    return True


def _see(tally: Tally, ours: Batch, missing: Superseded) -> None:
    """Take the records of a batch of the copy, if records of the source are missing."""
    if not missing:
        return
    try:
        missing.sees(iter_any(ours.data, check=False))
    except (CorruptRecords, UnsupportedCompression) as error:
        tally.add(ours.base_offset, ours.last_offset, f"records cannot be read: {error}")


def _is_transactional(batch: Batch) -> bool:
    return batch.mark[0] == v2.MAGIC and v2.parse_header(batch.data).transactional


def _what(theirs: Batch, ours: Batch) -> str:
    if theirs[:2] != ours[:2]:
        return (
            f"the source's batch has the offsets {theirs.base_offset} to {theirs.last_offset},"
            f" the copy's {ours.base_offset} to {ours.last_offset}"
        )
    if theirs.mark[:2] != ours.mark[:2]:
        return "the records differ (other checksums)"
    return "leader epoch or producer differ"
