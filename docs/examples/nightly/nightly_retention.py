"""A retention policy that keeps today."""

from collections.abc import Sequence
from typing import Any

from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IRetentionPolicy

DAY_MS = 24 * 3600 * 1000


@implementer(IRetentionPolicy)
class Nightly:
    """A segment goes once its newest record is from before the last midnight, UTC."""

    def expired(self, segments: Sequence[Any], config: LogConfig, now_ms: int) -> int:
        """Count the old segments at the log's beginning; a young one in between keeps those after it."""
        midnight_ms = now_ms - now_ms % DAY_MS
        count = 0
        for segment in segments:
            if segment.max_timestamp_ms >= midnight_ms:
                break
            count += 1
        return count
