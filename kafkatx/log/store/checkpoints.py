"""The offset checkpoints of one log dir: four files with an offset for each partition.

:mod:`kafkatx.log.checkpoint` has their names and their format. All methods block: they run in the dir's
worker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from twisted.logger import Logger

from kafkatx.log.checkpoint import (
    CLEANED_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    CheckpointDamaged,
    decode_offsets,
    encode_offsets,
)
from kafkatx.log.files import Files
from kafkatx.types import TopicPartition

Offsets = Mapping[TopicPartition, int]


class OffsetCheckpoints:
    """Reads the checkpoints once, and replaces them.

    A checkpoint that is missing or damaged has no offset: more than necessary is read, compacted or
    replicated again.

    :ivar unavailable: the partitions that could not be loaded; their entries are kept.
    :ivar recovery_points: as read, like the next three.
    """

    _log = Logger()

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self.unavailable: set[TopicPartition] = set()
        self.recovery_points: Offsets = {}
        self.log_starts: Offsets = {}
        self.cleaned: Offsets = {}
        self.high_watermarks: Offsets = {}

    def read(self) -> None:
        """Read them.

        :raises OSError: one cannot be read.
        """
        self.recovery_points = self._read(RECOVERY_POINTS)
        self.log_starts = self._read(LOG_STARTS)
        self.cleaned = self._read(CLEANED_OFFSETS)
        self.high_watermarks = self._read(HIGH_WATERMARKS)

    def _read(self, name: str) -> Offsets:
        path = os.path.join(self._directory, name)
        data = self._files.read(path)
        if data is None or (not data and name == CLEANED_OFFSETS):  # Apache Kafka makes it empty
            return {}
        try:
            return decode_offsets(data)
        except CheckpointDamaged as error:
            self._log.warn("{path} is damaged and is ignored: {error}", path=path, error=error)
            return {}

    def save(self, recovery_points: Offsets, log_starts: Offsets, high_watermarks: Offsets) -> None:
        """Write all but the cleaner's.

        :raises OSError: one could not be written; it is as it was.
        """
        self.save_recovery_points(recovery_points)
        self.save_log_starts(log_starts)
        self.save_high_watermarks(high_watermarks)

    def save_recovery_points(self, offsets: Offsets) -> None:
        """Write the offsets up to which each log is on the disk.

        :raises OSError: it could not be written; it is as it was.
        """
        self._replace(RECOVERY_POINTS, offsets, self.recovery_points)

    def save_log_starts(self, offsets: Offsets) -> None:
        """Write the log start offsets.

        :raises OSError: it could not be written; it is as it was.
        """
        self._replace(LOG_STARTS, offsets, self.log_starts)

    def save_high_watermarks(self, offsets: Offsets) -> None:
        """Write the high watermarks.

        :raises OSError: it could not be written; it is as it was.
        """
        self._replace(HIGH_WATERMARKS, offsets, self.high_watermarks)

    def save_cleaned(self, offsets: Offsets) -> None:
        """Write the offset up to which each log is compacted.

        :raises OSError: it could not be written; it is as it was, and too much will be compacted again.
        """
        self._replace(CLEANED_OFFSETS, offsets, self.cleaned)

    def _replace(self, name: str, new: Offsets, old: Offsets) -> None:
        """Write new offsets, and the old ones of the partitions that could not be loaded."""
        kept = {one: old[one] for one in self.unavailable if one in old}
        self._files.replace(os.path.join(self._directory, name), encode_offsets({**kept, **new}))
