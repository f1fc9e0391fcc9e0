"""Interfaces of retention: the segments of a log, and the policy that chooses those to delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from kafkatx.config.log_config import LogConfig


class ISegmentFacts(Interface):
    """The facts about a segment that a retention policy may use."""

    base_offset: int = Attribute("Offset of the first record that the segment may hold.")
    size_bytes: int = Attribute("Size of the segment's records.")
    max_timestamp_ms: int = Attribute(
        "The largest timestamp of its records, or the file's modification time if no record has one."
    )


class IRetentionPolicy(Interface):
    """Chooses the old segments of a log to delete (``log.cleanup.policy``, ``kafkatx.retention``).

    Factory: ``factory()``. Pure: no I/O, no clock of its own.
    """

    def expired(segments: Sequence[ISegmentFacts], config: LogConfig, now_ms: int) -> int:
        """Return the number of *segments*, counted from the oldest, to delete.

        :param segments: the segments, oldest first; the last one is the active one.
        :param config: the log's settings.
        """
