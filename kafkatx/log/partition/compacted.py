"""What the cleaner does to the log in files: the outcome of a pass is put in place.

A pass is known by its name. Whatever makes its outcome worthless (the log is cut or deleted, segments that it
read are gone) ends it: what comes of it afterwards is refused and removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from kafkatx.log.files import Files
from kafkatx.log.partition.segmented import SegmentedLog
from kafkatx.log.segment import swap
from kafkatx.log.segment.segment import LogSegment

if TYPE_CHECKING:  # a log that is opened needs no pass
    from kafkatx.log.segment.swap import Cleaned


class CompactedLog(SegmentedLog):
    """A log in files that can be cleaned.

    :ivar first_dirty_offset: up to here (exclusive) it is clean.
    """

    directory: str
    size_bytes: int
    flushed_offset: int
    first_dirty_offset: int
    _files: Files
    _directory_unsynced: bool
    _pass_name: str | None = None

    def flush(self) -> Deferred[int]:
        """As IPartitionLog says."""
        raise NotImplementedError

    def report(self, error: OSError, doing: str) -> None:
        """Something that was done to the log's files failed."""
        raise NotImplementedError

    def _unlink_later(self, paths: list[str]) -> None:
        raise NotImplementedError

    def begin_pass(self, name: str) -> None:
        """A pass over this log begins; another one that is under way is ended by this."""
        self._pass_name = name

    def last_batches(self) -> dict[int, int]:
        """Producer id -> last offset of the last batch that it wrote, where one is known."""
        states = self._states_at(self.log_end_offset)
        return {key: state.batches[-1].last_offset for key, state in states.items() if state.batches}

    def swap_in(self, name: str, cleaned: Cleaned) -> bool:
        """Put a new segment in the place of those that it replaces; False if it is not wanted any more.

        Who reads an old segment goes on: its files are unlinked later.

        :raises OSError: a file could not be renamed. Opening the log again puts it right.
        """
        number = self._number_of(cleaned.base_offset)
        old = self.segments[number : number + len(cleaned.replaces)]
        known = tuple(segment.base_offset for segment in old) == cleaned.replaces
        if name != self._pass_name or not known or old[-1] is self.segments[-1]:
            self._pass_name = None
            return False
        doomed = self._swap_files(name, cleaned, old)
        new = LogSegment(self._files, self.directory, cleaned.base_offset, cleaned.size, old[0].created_ms)
        new.max_timestamp, new.max_timestamp_offset = cleaned.max_timestamp, cleaned.max_timestamp_offset
        self.segments[number : number + len(old)] = [self._adopt(new)]
        self.size_bytes += new.size - sum(segment.size for segment in old)
        self._directory_unsynced = True
        self._unlink_later(doomed)
        return True

    def _swap_files(self, name: str, cleaned: Cleaned, old: list[LogSegment]) -> list[str]:
        try:
            swap.begin(self._files, self.directory, cleaned, name)
        except FileNotFoundError:
            raise  # Someone took the new files away: that is no fault of the disk.
        except OSError as error:
            self.report(error, "compacting")
            raise
        try:
            return swap.finish(self._files, self.directory, cleaned, old)
        except OSError as error:
            self.report(error, "compacting")
            raise

    def end_pass(self, name: str, end_offset: int | None) -> None:
        """A pass has come to its end, *end_offset*, or has failed (None)."""
        if end_offset is not None and name == self._pass_name:
            self.first_dirty_offset = end_offset
        self._pass_name = None
