"""Recovery of a log's aborted transactions: the indexes of its segments compared with their batches. Blocks.

An index is used as it is if it has the checksum that was noted of it (``kafkatx-transaction-checksums``), and
nothing of its segment had to be scanned. Otherwise it is compared with the markers in the log, after a replay
of the batches from the latest producer snapshot below the segment, and written again if it differs. So a
damaged index, a missing one and one that is too long or too short are found. The log is never at fault.

A segment that has neither an index nor a checksum has no aborted transactions, but for those that the replay
of the producers has met.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from twisted.logger import Logger

from kafkatx.log.checkpoint import TRANSACTION_CHECKSUMS, CheckpointDamaged, decode_checksums
from kafkatx.log.files import Files
from kafkatx.log.recovery.producer_snapshots import LoadedProducers, load_earlier_producers
from kafkatx.log.segment.files import TRANSACTION_INDEX, file_name
from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.transactions.aborted import ENTRY, AbortedTransaction, decode_aborted, encode_aborted
from kafkatx.log.transactions.ended import EndedTransaction
from kafkatx.records.checksum import crc32c

_log = Logger()
_NAME = re.compile(r"(\d{20})\.txnindex")


class AbortedRecovery:
    """Recovers the aborted transactions of one log.

    :param scanned_from: the offset of the first batch that was scanned; None if none was.
    :param loaded: the producers' state at the end of the log.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        segments: Sequence[LogSegment],
        end_offset: int,
        scanned_from: int | None,
        loaded: LoadedProducers,
        now_ms: int,
    ) -> None:
        self._files = files
        self._directory = directory
        self._segments = segments
        self._end_offset = end_offset
        self._scanned_from = end_offset if scanned_from is None else scanned_from
        self._scanned = scanned_from is not None
        self._loaded = loaded
        self._now_ms = now_ms

    def aborted(self) -> list[AbortedTransaction]:
        """Return the aborted transactions, by their markers; write the indexes that differ.

        :raises OSError: a file cannot be read or written.
        """
        names = self._files.names(self._directory)
        indexed = {int(match[1]) for match in map(_NAME.fullmatch, names) if match}
        bases = [segment.base_offset for segment in self._segments]
        for base_offset in indexed.difference(bases):
            self._files.unlink(self._path(base_offset))
        checksums = self._checksums() if TRANSACTION_CHECKSUMS in names else {}
        ends = [*bases[1:], self._end_offset]
        contents = {base: self._files.read(self._path(base)) or b"" for base in indexed.intersection(bases)}
        doubtful = [
            (base, end)
            for base, end in zip(bases, ends, strict=True)
            if (contents.get(base) or base in checksums)
            and not (self._is_sound(contents.get(base, b""), checksums.get(base)) and self._is_unscanned(end))
        ]
        ended = self._replayed(doubtful[0][0]) if doubtful else self._loaded.ended
        found: list[AbortedTransaction] = []
        for base, end in zip(bases, ends, strict=True):
            data = contents.get(base, b"")
            if data and (base, end) not in doubtful:
                found += decode_aborted(data)
                continue
            entries = _of_segment(ended, base, end)
            found += entries
            if encode_aborted(entries) != data:
                self._write(base, entries, self._is_unscanned(end))
        if doubtful:  # the next start compares nothing again
            self._files.unlink(os.path.join(self._directory, TRANSACTION_CHECKSUMS))
        return found

    def _is_unscanned(self, end_offset: int) -> bool:
        """Return True if no batch of a segment that ends there had to be scanned."""
        return not self._scanned or end_offset <= self._scanned_from

    @staticmethod
    def _is_sound(data: bytes, noted: tuple[int, int] | None) -> bool:
        if noted != (len(data) // ENTRY.size, crc32c(data)):
            return False
        try:
            decode_aborted(data)
        except IndexDamaged:
            return False
        return True

    def _replayed(self, base_offset: int) -> Sequence[EndedTransaction]:
        """Return the transactions that ended at *base_offset* or later, at least."""
        if self._loaded.start_offset <= base_offset:
            return self._loaded.ended
        return load_earlier_producers(
            self._files, self._directory, self._segments, base_offset, self._end_offset, self._now_ms
        ).ended

    def _checksums(self) -> dict[int, tuple[int, int]]:
        path = os.path.join(self._directory, TRANSACTION_CHECKSUMS)
        try:
            return decode_checksums(self._files.read(path) or b"")
        except CheckpointDamaged as error:
            _log.warn(
                "{path} cannot be read: {error}; the indexes of transactions are compared with the batches",
                path=path,
                error=error,
            )
            return {}

    def _write(self, base_offset: int, entries: Iterable[AbortedTransaction], warns: bool) -> None:
        path = self._path(base_offset)
        if warns:
            _log.warn("{path}: it differs from the batches and is rebuilt from them", path=path)
        self._files.replace(path, encode_aborted(entries), sync=False)

    def _path(self, base_offset: int) -> str:
        return os.path.join(self._directory, file_name(base_offset, TRANSACTION_INDEX))


def _of_segment(ended: Iterable[EndedTransaction], base: int, end: int) -> list[AbortedTransaction]:
    """Return the aborted transactions whose markers are in a segment."""
    return [
        AbortedTransaction(*one[:4]) for one in ended if not one.committed and base <= one.last_offset < end
    ]
