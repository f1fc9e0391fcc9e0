"""The part of the settings table about the cleanup of logs: retention and compaction."""

from __future__ import annotations

from kafkatx.config.table.row import LONG_MAX, Section

_HOUR_MS = 3_600_000

RETENTION = Section("Retention", "Deletion of old segments.")

LOG_RETENTION_MS = RETENTION.optional_long(
    "log.retention.ms",
    "Segments whose newest record is older than this are deleted; -1: no time limit.",
    low=-1,
    unit="ms",
    dynamic=True,
    default_for=("retention.ms",),
)
LOG_RETENTION_MINUTES = RETENTION.optional_integer(
    "log.retention.minutes",
    "Used if log.retention.ms is not set.",
    low=-1,
    unit="minutes",
    default_for=("retention.ms",),
    scale=60_000,
)
LOG_RETENTION_HOURS = RETENTION.integer(
    "log.retention.hours",
    168,
    "Used if log.retention.minutes is not set.",
    low=-1,
    unit="hours",
    default_for=("retention.ms",),
    scale=_HOUR_MS,
)
LOG_RETENTION_BYTES = RETENTION.long(
    "log.retention.bytes",
    -1,
    "Maximum size of a partition, above which its oldest segments are deleted; -1: no size limit.",
    low=-1,
    unit="bytes",
    dynamic=True,
    default_for=("retention.bytes",),
    aliases=("log.retention.size",),
)
LOG_RETENTION_CHECK_INTERVAL_MS = RETENTION.long(
    "log.retention.check.interval.ms",
    300_000,
    "Interval between checks for segments to delete.",
    low=1,
    unit="ms",
)
LOG_CLEANUP_POLICY = RETENTION.names(
    "log.cleanup.policy",
    ("delete",),
    "delete: old segments are deleted; compact: the last record of each key is kept; or both. Empty: "
    "all records are kept until DeleteRecords removes them.",
    choices=("delete", "compact"),
    dynamic=True,
    default_for=("cleanup.policy",),
)
LOG_SEGMENT_DELETE_DELAY_MS = RETENTION.long(
    "log.segment.delete.delay.ms",
    60_000,
    "Time before the file of a deleted segment is removed from the disk.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("file.delete.delay.ms",),
)

COMPACTION = Section("Compaction", "Compaction of logs: the last record of each key is kept.")

LOG_CLEANER_ENABLE = COMPACTION.boolean(
    "log.cleaner.enable", True, "Compact topics with cleanup.policy=compact."
)
LOG_CLEANER_THREADS = COMPACTION.integer(
    "log.cleaner.threads",
    1,
    "Accepted for compatibility and not used: one process beside the broker's compacts one log at a time.",
    low=0,
    dynamic=True,
)
LOG_CLEANER_BACKOFF_MS = COMPACTION.long(
    "log.cleaner.backoff.ms",
    15_000,
    "Time to wait before looking for logs to compact again when there was none.",
    low=0,
    unit="ms",
    dynamic=True,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = COMPACTION.long(
    "log.cleaner.dedupe.buffer.size",
    128 << 20,
    "Memory for the last offset of each key while a log is compacted: 192 bytes per key (24 in Apache"
    " Kafka). A log with more keys is compacted in several passes.",
    low=1,
    unit="bytes",
    dynamic=True,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = COMPACTION.double(
    "log.cleaner.io.buffer.load.factor",
    0.9,
    "Fraction of log.cleaner.dedupe.buffer.size that a pass uses.",
    low=0.0,
    high=1.0,
    dynamic=True,
)
LOG_CLEANER_MIN_CLEANABLE_RATIO = COMPACTION.double(
    "log.cleaner.min.cleanable.ratio",
    0.5,
    "Fraction of a log's bytes that are not compacted yet, above which it is compacted.",
    low=0.0,
    high=1.0,
    dynamic=True,
    default_for=("min.cleanable.dirty.ratio",),
)
LOG_CLEANER_DELETE_RETENTION_MS = COMPACTION.long(
    "log.cleaner.delete.retention.ms",
    86_400_000,
    "Time for which a tombstone (a key without a value) is kept after its first compaction.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("delete.retention.ms",),
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS = COMPACTION.long(
    "log.cleaner.min.compaction.lag.ms",
    0,
    "Minimum age of a record before it is compacted.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("min.compaction.lag.ms",),
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS = COMPACTION.long(
    "log.cleaner.max.compaction.lag.ms",
    LONG_MAX,
    "Maximum age of a record before its log is compacted, whatever the ratio.",
    low=1,
    unit="ms",
    dynamic=True,
    default_for=("max.compaction.lag.ms",),
)

SECTIONS = (RETENTION, COMPACTION)
"""This part of the table."""
