"""The indexes of aborted transactions of a log in files, one ``.txnindex`` for each segment that has some.

The aborted transactions are in memory (:mod:`kafkatx.log.transactions.aborted`); nothing reads the files
before the log is opened again. An entry is written when its marker is. If that fails, the flush that has to
bring the marker to the disk writes it, or fails: what is flushed can be found after a crash.

``kafkatx-transaction-checksums`` tells of damage to the files (:mod:`kafkatx.log.recovery.transactions`). It
is written when a segment is closed, and with the log; an old one costs a look at the segment's batches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from kafkatx.log.checkpoint import TRANSACTION_CHECKSUMS, encode_checksums
from kafkatx.log.partition.local_log import LocalLog, number_of
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.segment.files import TRANSACTION_INDEX, file_name
from kafkatx.log.segment.swap import Cleaned
from kafkatx.log.transactions.aborted import ENTRY, AbortedTransaction, encode_aborted
from kafkatx.log.transactions.ended import EndedTransaction, EndedTransactions
from kafkatx.records.checksum import crc32c


class TransactionFiles:
    """Keeps the files in step with the aborted transactions of a log.

    :param transactions: the log's; the files have those that are aborted.
    """

    __slots__ = ("_local", "_location", "_noted", "_transactions", "_unsynced", "_written")

    def __init__(self, location: LogLocation, local: LocalLog, transactions: EndedTransactions) -> None:
        self._location = location
        self._local = local
        self._transactions = transactions
        self._unsynced: set[int] = set()
        self._written: dict[int, tuple[int, int]] = {}
        aborted = transactions.aborted
        if aborted:
            for segment in local.segments:
                first, end = self._range(segment.base_offset)
                if first < end:
                    data = encode_aborted(aborted.part(first, end))
                    self._written[segment.base_offset] = end - first, crc32c(data)
        self._noted = bool(self._written)

    def _path(self, base_offset: int) -> str:
        return os.path.join(self._location.directory, file_name(base_offset, TRANSACTION_INDEX))

    def _range(self, base_offset: int) -> tuple[int, int]:
        """Return the numbers of the first transaction of a segment, and of that after its last one."""
        segments, aborted = self._local.segments, self._transactions.aborted
        following = number_of(segments, base_offset) + 1
        last = following == len(segments)
        end = len(aborted) if last else aborted.number_of(segments[following].base_offset)
        return aborted.number_of(base_offset), end

    # --- changes of the log

    def add(self, ended: Iterable[EndedTransaction], high_watermark: int) -> None:
        """Add transactions whose markers are in the log now; see :meth:`EndedTransactions.add`."""
        self._transactions.add(ended, high_watermark)
        segments = self._local.segments
        self._write_or_report(
            {segments[number_of(segments, one.last_offset)].base_offset for one in ended if not one.committed}
        )

    def cut(self) -> None:
        """Follow a cut of the log's end; the transactions in memory are cut already."""
        self._forget_dropped()
        self._write_or_report(list(self._written))

    def dropped(self) -> None:
        """Follow the log after the removal of its first segments."""
        if self._written:
            self._transactions.aborted.cut_before(self._local.segments[0].base_offset)
            self._forget_dropped()

    def _forget_dropped(self) -> None:
        """Forget the files of segments that are not there any more: they are removed with these."""
        if self._written or self._unsynced:
            bases = {segment.base_offset for segment in self._local.segments}
            for base_offset in self._written.keys() - bases:
                del self._written[base_offset]
            self._unsynced &= bases

    def replaced(self, cleaned: Cleaned) -> None:
        """Follow a swap, which has put the new segment's file in the place of the old ones'."""
        segments = self._local.segments
        following = number_of(segments, cleaned.base_offset) + 1
        entries = list(map(AbortedTransaction._make, cleaned.aborted))
        end_offset = segments[following].base_offset
        self._transactions.aborted.replace(cleaned.base_offset, end_offset, entries)
        for base_offset in cleaned.replaces:
            self._written.pop(base_offset, None)
        if entries:
            self._written[cleaned.base_offset] = len(entries), crc32c(encode_aborted(entries))
        self.note_later()

    def moved(self) -> None:
        """Use the files in the location's new directory, which were copied but for the last entries."""
        for base_offset, (count, _) in list(self._written.items()):
            if self._location.files.size(self._path(base_offset)) != count * ENTRY.size:
                del self._written[base_offset]
                self._write_or_report([base_offset])
        self.mark_unsynced()

    # --- writing

    def _write_or_report(self, base_offsets: Iterable[int]) -> None:
        """Write the files of these segments; what fails is left to the next flush."""
        self._unsynced.update(base_offsets)
        for base_offset in base_offsets:
            try:
                self._write(base_offset)
            except OSError as error:
                self._location.report(error, "writing the aborted transactions of")

    def _write(self, base_offset: int) -> None:
        """Bring a segment's file up to date.

        :raises OSError: it could not be written; a later call does.
        """
        first, end = self._range(base_offset)
        (count, crc), wanted = self._written.get(base_offset, (0, 0)), end - first
        if count == wanted:
            return
        files, path = self._location.files, self._path(base_offset)
        if count and not files.exists(path):
            count = crc = 0
        if wanted < count:
            files.truncate(files.open(path), wanted * ENTRY.size)
            crc = crc32c(encode_aborted(self._transactions.aborted.part(first, end)))
        elif wanted:
            data = encode_aborted(self._transactions.aborted.part(first + count, end))
            file = files.open(path) if count else files.create(path)
            self._local.directory_unsynced = self._local.directory_unsynced or not count
            files.writev(file, [data], count * ENTRY.size, len(data))
            crc = crc32c(data, crc)
        if wanted:
            self._written[base_offset] = wanted, crc
        else:
            self._written.pop(base_offset, None)

    # --- syncing

    def to_sync(self) -> set[int]:
        """Write what could not be written before; return the segments whose files must be synced.

        They count as synced from now on.

        :raises OSError: a file could not be written.
        """
        for base_offset in self._unsynced:
            self._write(base_offset)
        unsynced, self._unsynced = self._unsynced, set()
        return unsynced

    def sync(self, base_offset: int) -> None:
        """Sync the file of a segment, unless it is gone. Runs in the worker.

        :raises OSError: it could not be synced.
        """
        with suppress(FileNotFoundError):
            self._location.files.sync_any(self._path(base_offset))

    def mark_unsynced(self) -> None:
        """Count no file as synced."""
        self._unsynced.update(self._written)

    # --- checksums

    def note_later(self) -> None:
        """Write the checksums in the worker."""
        if self._written or self._noted:
            self._location.run(self.finisher(), "noting the aborted transactions of")

    def finisher(self) -> Callable[[], None]:
        """Return what writes the checksums of the files as they are now; call it in the worker."""
        path = os.path.join(self._location.directory, TRANSACTION_CHECKSUMS)
        checksums, noted = dict(self._written), self._noted
        self._noted = bool(checksums)

        def finish() -> None:
            if checksums:
                self._location.files.replace(path, encode_checksums(checksums), sync=False)
            elif noted:
                self._location.files.unlink(path)

        return finish
