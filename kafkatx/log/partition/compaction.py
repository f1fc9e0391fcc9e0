"""The log's side of a compaction pass: compacted segments are put in the place of those they were made of.

The cleaner (:mod:`kafkatx.log.cleaner`) chooses the log and writes the new segments. A pass is known by its
name. What makes its result worthless ends it: the log was truncated, deleted or moved, or a segment that the
pass has read is gone. A result that comes afterwards is refused, and its files are removed.
"""

from __future__ import annotations

from kafkatx.log.partition.local_log import LocalLog, number_of
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.segment import swap
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.segment.swap import Cleaned


class LogCompaction:
    """The pass that is under way over one log, if there is one."""

    __slots__ = ("_local", "_location", "_pass_name")

    def __init__(self, location: LogLocation, local: LocalLog) -> None:
        self._location = location
        self._local = local
        self._pass_name: str | None = None

    def begin_pass(self, name: str) -> None:
        """Begin a pass; another one that is under way is cancelled."""
        self._pass_name = name

    def cancel(self) -> None:
        """Refuse the result of the pass that is under way."""
        self._pass_name = None

    def swap_in(self, name: str, cleaned: Cleaned) -> list[str] | None:
        """Put a new segment in the place of those that it replaces.

        Replies that read an old segment can be finished: its files are only renamed.

        :return: the paths of the old files, to be unlinked later; None: the pass was cancelled.
        :raises OSError: a file could not be renamed. Opening the log again completes or undoes the swap.
        """
        segments = self._local.segments
        number = number_of(segments, cleaned.base_offset)
        old = segments[number : number + len(cleaned.replaces)]
        known = tuple(segment.base_offset for segment in old) == cleaned.replaces
        if name != self._pass_name or not known or old[-1] is segments[-1]:
            self._pass_name = None
            return None
        renamed = self._swap_files(name, cleaned, old)
        files, directory = self._location.files, self._location.directory
        new = LogSegment(files, directory, cleaned.base_offset, cleaned.size, old[0].created_ms)
        new.max_timestamp, new.max_timestamp_offset = cleaned.max_timestamp, cleaned.max_timestamp_offset
        self._local.replace(old, new)
        return renamed

    def _swap_files(self, name: str, cleaned: Cleaned, old: list[LogSegment]) -> list[str]:
        files, directory = self._location.files, self._location.directory
        try:
            swap.begin(files, directory, cleaned, name)
        except FileNotFoundError:
            raise  # The new files were taken away: the disk is not at fault.
        except OSError as error:
            self._location.report(error, "compacting")
            raise
        with self._location.reporting("compacting"):
            return swap.finish(files, directory, cleaned, old)

    def end_pass(self, name: str, end_offset: int | None) -> None:
        """End a pass.

        :param end_offset: the log is clean up to here (exclusive); None: the pass has failed.
        """
        if end_offset is not None and name == self._pass_name:
            self._local.first_dirty_offset = end_offset
        self._pass_name = None
