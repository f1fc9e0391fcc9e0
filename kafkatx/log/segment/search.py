"""The search for a batch in a segment. It trusts neither the index nor a base offset alone.

No checksum covers an index, nor the base offset in a batch's header. So each is checked against the others:

*   An index entry must point to a batch, and name the last offset of that batch or of a later one (Apache
    Kafka's followers index several batches at once). If it does not, the search begins one entry earlier. If
    the batches from there on follow each other, the index is wrong and a worker rebuilds it; otherwise the
    log is.
*   Batches must follow each other (:func:`kafkatx.log.segment.scan.follows`), and the first one must have the
    segment's base offset. If a batch does not follow, but the next one does by the number of offsets in
    between, the first one's base offset is wrong: it is never returned; the next one is.
*   If a reader's position was known without a search, the batches from there on are checked once before they
    are sent (:meth:`SearchedSegment.follow`), unless this process has written them.

Where compaction has left gaps, a base offset that is too high by less than the gap cannot be detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from twisted.logger import Logger

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files, Reads
from kafkatx.log.segment.files import SegmentFiles
from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.segment.scan import ALWAYS_SPARSE, Shallow, checksum_right, follows, walk

MAX_RELATIVE_OFFSET = 2**31 - 1
_AT_ONCE = 4096
"""The most headers that are checked before a read is answered."""


class Entry(NamedTuple):
    """An index entry: the batch at *position*, or a later one, ends with *last_offset*."""

    number: int
    last_offset: int
    position: int


class Followed(NamedTuple):
    """A part of a segment whose batches follow each other.

    :ivar position: of the first batch.
    :ivar end: the position of its end; a batch there must begin with *next_offset*.
    :ivar problem: what is wrong with the batch at its end; empty if that was not checked yet.
    """

    position: int = 0
    end: int = 0
    next_offset: int = -1
    problem: str = ""


class SearchedSegment(SegmentFiles):
    """The part of a segment that finds batches.

    :ivar size: the bytes of the log.
    :ivar sparse_below: up to this offset compaction may have left gaps.
    :ivar followed: the part that was checked last.
    :ivar incomplete: the log is damaged; neither index has what follows the damage.
    :ivar damage_logged: True if the damage was logged already.
    :ivar written_from: this process has written everything from this position on.
    """

    __slots__ = ("_ready", "damage_logged", "followed", "incomplete", "size", "sparse_below", "written_from")

    log = Logger()

    def __init__(self, files: Files, directory: str, base_offset: int) -> None:
        super().__init__(files, directory, base_offset)
        self._ready = False
        self.size = self.written_from = 0
        self.sparse_below = ALWAYS_SPARSE
        self.followed = Followed()
        self.damage_logged = self.incomplete = False

    def reindex(self, index_interval_bytes: int = 4096) -> None:
        """Build both indexes from the log."""
        raise NotImplementedError

    # --- walking

    def walk(self, position: int = 0) -> Iterator[Shallow]:
        """Yield the headers of the batches from *position* on.

        :raises CorruptRecords: what is there is no batch.
        """
        return walk(self._files, self.file, position, self.size)

    def chained(self, batches: Iterable[Shallow], expected: int) -> Iterator[tuple[Shallow, bool]]:
        """Yield each batch, and True if it follows the one before; *expected* is the first offset.

        :raises CorruptRecords: two in a row do not.
        """
        wrong = False
        for batch in batches:
            far = batch.last_offset - self.base_offset > MAX_RELATIVE_OFFSET
            if not far and follows(batch, expected, self.sparse_below):
                expected, wrong = batch.last_offset + 1, False
            elif wrong:
                raise CorruptRecords(self._misplaced(batch, expected))
            else:
                expected, wrong = expected + batch.last_offset - batch.base_offset + 1, True
            yield batch, not wrong

    def _misplaced(self, batch: Shallow, expected: int) -> str:
        return (
            f"{self.path('.log')}: the batch at {batch.position} begins with offset {batch.base_offset},"
            f" expected {expected}"
        )

    # --- searching

    def find(self, offset: int, rebuild: bool = True) -> Shallow | None:
        """Return the first batch that ends at or beyond *offset*; None if the segment has none.

        :param rebuild: a wrong index may be rebuilt here, which takes time.
        :raises CorruptRecords: the batch, or one on the way to it, is damaged.
        """
        try:
            entry = self.entry_before(offset, self._files)
            if entry is None:
                return self._search(None, offset, self._files)[0]
            try:
                return self._search(entry, offset, self._files)[0]
            except IndexDamaged:
                earlier = self.entry(entry.number - 1, self._files) if entry.number else None
                batch, chained = self._search(earlier, offset, self._files)
        except IndexDamaged as error:
            if not rebuild:
                return self._search(None, offset, self._files)[0]
            rebuilt = self._rebuild(error)
            entry = self.entry_before(offset, self._files) if rebuilt else None
            return self._search(entry, offset, self._files)[0]
        if rebuild and chained:
            self._rebuild(IndexDamaged(self.index.path))
        return batch

    def _rebuild(self, error: IndexDamaged) -> bool:
        """Rebuild the index; return False for a twin, whose indexes are the reactor thread's."""
        try:
            self.reindex()
        except CorruptRecords:
            return False
        self.log.warn("{path} was wrong and is rebuilt", path=str(error))
        return True

    def find_in_cache(self, offset: int) -> Shallow | None:
        """Find the same as :meth:`find` without waiting for the disk.

        :raises BlockingIOError: something is not in the page cache.
        :raises IndexDamaged: the index is wrong.
        """
        reads = self._files.cached
        return self._search(self.entry_before(offset, reads), offset, reads)[0]

    def entry_before(self, offset: int, reads: Reads) -> Entry | None:
        """Return the last index entry that is not beyond *offset*; None if there is none.

        :raises IndexDamaged: there is no index.
        """
        return self.entry(self.index.number_before(offset, None if self._ready else reads), reads)

    def entry(self, number: int, reads: Reads) -> Entry | None:
        """Return an index entry; None for -1.

        :raises IndexDamaged: there is no index.
        """
        if number < 0:
            return None
        if self._ready:
            relative, position = self.index.keys[number], self.index.values[number]
        else:
            relative, position = self.index.entry_in_file(number, reads)
        return Entry(number, self.base_offset + relative, position)

    def _search(self, entry: Entry | None, offset: int, reads: Reads) -> tuple[Shallow | None, bool]:
        """Search from an index entry on; the second value: every batch on the way follows the one before.

        :raises IndexDamaged: the entry is wrong.
        :raises CorruptRecords: the log is.
        """
        batches = walk(reads, self.file, entry.position if entry else 0, self.size)
        named, expected = -1, self.base_offset
        if entry is not None:
            first = self._first(entry, batches)
            if first.last_offset >= offset:
                return first, True
            named, expected = entry.last_offset, first.last_offset + 1
            if first.last_offset == named:
                named = -1
        chained = True
        for batch, right in self.chained(batches, expected):
            if not right:
                chained = False
                expected += batch.last_offset - batch.base_offset + 1
                if offset < expected:
                    raise CorruptRecords(self._misplaced(batch, offset))
                continue
            expected = batch.last_offset + 1
            if batch.last_offset == named:
                named = -1
            if batch.last_offset >= offset:
                if 0 <= named < batch.last_offset:
                    raise IndexDamaged(self.index.path)
                if batch.base_offset < self.sparse_below:
                    self._check_next(batch, batches)
                return batch, chained
        return None, chained

    def _check_next(self, batch: Shallow, following: Iterator[Shallow]) -> None:
        """Check a batch's base offset by the batch after it, on a log that may have gaps.

        :raises CorruptRecords: it is too high.
        """
        try:
            behind = next(following, None)
        except CorruptRecords:
            return
        if behind is not None and behind.last_offset <= batch.last_offset:
            raise CorruptRecords(self._misplaced(behind, batch.last_offset + 1))

    def _first(self, entry: Entry, batches: Iterator[Shallow]) -> Shallow:
        """Return the batch that an index entry points to.

        :raises IndexDamaged: there is none.
        """
        try:
            first = next(batches, None)
        except CorruptRecords:
            first = None
        if (
            first is None
            or not entry.position
            or not self.base_offset <= first.base_offset <= first.last_offset <= entry.last_offset
        ):
            raise IndexDamaged(self.index.path)
        return first

    # --- batches that may be sent

    def is_followed(self, position: int) -> bool:
        """Return True if it is known how far batches follow each other from *position* on."""
        return position >= self.written_from or self.followed.position <= position < self.followed.end

    def follow(self, offset: int, position: int, size: int) -> int:
        """Return how far from *position*, where the batch with *offset* begins, batches follow each other.

        If that is not known yet, the batches that begin in the next *size* bytes are checked, and the result
        is remembered.

        :raises CorruptRecords: the batch there does not follow.
        """
        followed = self.followed
        if self.is_followed(position):
            whole = not followed.problem and followed.end >= self.written_from
            return self.size if whole or position >= self.written_from else followed.end
        if not followed.position <= position <= followed.end or followed.next_offset < 0:
            batch = self.find(offset, rebuild=False)
            if batch is None or batch.position != position:
                raise CorruptRecords(f"{self.path('.log')}: offset {offset} is not at {position}")
            followed = Followed(position, position, batch.base_offset)
        elif followed.problem and position == followed.end:
            raise CorruptRecords(followed.problem)
        self.followed = followed = self._go_on(followed, min(position + size, self.size))
        if followed.end <= position:
            raise CorruptRecords(followed.problem)
        return followed.end

    def _go_on(self, followed: Followed, until: int) -> Followed:
        """Check the batches that begin before *until* and one more header, at most ``_AT_ONCE`` of them."""
        _, end, expected, _ = followed
        last: Shallow | None = None
        problem = ""
        try:
            for batch in islice(self.walk(end), _AT_ONCE):
                if not follows(batch, expected, self.sparse_below):
                    problem = self._misplaced(batch, expected)
                    break
                if batch.position >= until:
                    break
                last, end, expected = batch, batch.position + batch.size, batch.last_offset + 1
        except CorruptRecords as error:
            problem = str(error)
        if problem and last is not None and not checksum_right(last, self.read_batch(last)):
            # its length is wrong
            end, expected = last.position, last.base_offset
        return Followed(followed.position, end, expected, problem)

    def read_batch(self, batch: Shallow) -> memoryview:
        """Return the bytes of a batch."""
        return memoryview(self._files.pread(self.file, batch.size, batch.position))
