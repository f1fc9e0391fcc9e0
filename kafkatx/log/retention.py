"""The retention policies that come with kafkatx; each is an ``IRetentionPolicy``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IRetentionPolicy


class SegmentFacts(Protocol):
    """The facts about a segment that a policy may use; see ``ISegmentFacts``."""

    @property
    def base_offset(self) -> int:
        """The offset of the first record."""

    @property
    def size_bytes(self) -> int:
        """The size of the segment's records."""

    @property
    def max_timestamp_ms(self) -> int:
        """The largest timestamp, or when the segment was last written."""


@implementer(IRetentionPolicy)
class TimeRetention:
    """Segments whose latest record is older than ``retention.ms`` go, oldest first."""

    def expired(self, segments: Sequence[SegmentFacts], config: LogConfig, now_ms: int) -> int:
        """See IRetentionPolicy."""
        if config.retention_ms < 0:
            return 0
        for count, segment in enumerate(segments):
            if now_ms - segment.max_timestamp_ms <= config.retention_ms:
                return count
        return len(segments)


@implementer(IRetentionPolicy)
class SizeRetention:
    """The oldest segments go as long as at least ``retention.bytes`` are left without them."""

    def expired(self, segments: Sequence[SegmentFacts], config: LogConfig, now_ms: int) -> int:
        """See IRetentionPolicy."""
        if config.retention_bytes < 0:
            return 0
        excess = sum(segment.size_bytes for segment in segments) - config.retention_bytes
        for count, segment in enumerate(segments):
            if excess < segment.size_bytes:
                return count
            excess -= segment.size_bytes
        return len(segments)


@implementer(IRetentionPolicy)
class TimeAndSizeRetention:
    """First by time, then by size among those that are left: Kafka's ``cleanup.policy=delete``."""

    def __init__(self) -> None:
        self._time = TimeRetention()
        self._size = SizeRetention()

    def expired(self, segments: Sequence[SegmentFacts], config: LogConfig, now_ms: int) -> int:
        """See IRetentionPolicy."""
        old = self._time.expired(segments, config, now_ms)
        return old + self._size.expired(segments[old:], config, now_ms)


@implementer(IRetentionPolicy)
class KeepAll:
    """Nothing goes."""

    def expired(self, segments: Sequence[SegmentFacts], config: LogConfig, now_ms: int) -> int:
        """See IRetentionPolicy."""
        return 0
