"""The part of the settings table about logs: segments, limits of appended records, flushes."""

from __future__ import annotations

from kafkatx.config.table.row import LONG_MAX, Section

_HOUR_MS = 3_600_000

LOG = Section("Log", "Segments, limits of appended records, and flushes to the disk.")

LOG_DIRS = LOG.names(
    "log.dirs",
    ("./data",),
    "Directories of the partitions' logs, separated by commas. A relative path is relative to the "
    "working directory. Kafka's default is /tmp/kafka-logs.",
    empty=False,
    aliases=("log.dir",),
)
LOG_SEGMENT_BYTES = LOG.integer(
    "log.segment.bytes",
    1 << 30,
    "Maximum size of a segment file; a batch that would exceed it goes into a new segment.",
    low=14,
    unit="bytes",
    dynamic=True,
    default_for=("segment.bytes",),
    aliases=("log.file.size",),
)
LOG_ROLL_MS = LOG.optional_long(
    "log.roll.ms",
    "Maximum age of the active segment; the log rolls to a new segment after it, even if the segment "
    "is not full.",
    low=1,
    unit="ms",
    dynamic=True,
    default_for=("segment.ms",),
)
LOG_ROLL_HOURS = LOG.integer(
    "log.roll.hours",
    168,
    "Used if log.roll.ms is not set.",
    low=1,
    unit="hours",
    default_for=("segment.ms",),
    scale=_HOUR_MS,
)
LOG_INDEX_INTERVAL_BYTES = LOG.integer(
    "log.index.interval.bytes",
    4096,
    "Approximate bytes of records between two index entries.",
    low=0,
    unit="bytes",
    dynamic=True,
    default_for=("index.interval.bytes",),
)
LOG_INDEX_SIZE_MAX_BYTES = LOG.integer(
    "log.index.size.max.bytes",
    10 << 20,
    "Maximum size of an index file; when it is full, the log rolls to a new segment.",
    low=12,
    unit="bytes",
    dynamic=True,
    default_for=("segment.index.bytes",),
)
MESSAGE_MAX_BYTES = LOG.integer(
    "message.max.bytes",
    1_048_588,
    "Largest record batch that is accepted, after compression by the producer.",
    low=0,
    unit="bytes",
    dynamic=True,
    default_for=("max.message.bytes",),
    aliases=("max.message.size",),
)
RECORDS_VALIDATION = LOG.string(
    "kafkatx.records.validation",
    "bounded",
    "Checks of a produced batch beside its header: headers (none), bounded (compressed batches are "
    "decompressed; every field is checked of 1,000 records in each partition, then of 100 a second), "
    "or full (every field of every record, as in Apache Kafka). See the page on durability.",
    choices=("headers", "bounded", "full"),
    dynamic=True,
    default_for=("kafkatx.records.validation",),
)
RECORDS_MAX_INFLATED_BYTES = LOG.integer(
    "kafkatx.records.max.inflated.bytes",
    16 << 20,
    "Largest decompressed size of the records of one batch, at least the largest batch. It bounds "
    "everything that the broker decompresses: for validation, old clients, compaction and searches by"
    " time.",
    low=1,
    unit="bytes",
    dynamic=True,
    default_for=("kafkatx.records.max.inflated.bytes",),
)
COMPRESSION_TYPE = LOG.string(
    "compression.type",
    "producer",
    "Compression of stored batches: producer (unchanged), or the codec that the broker recompresses "
    "them with.",
    choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
    dynamic=True,
    default_for=("compression.type",),
)
LOG_MESSAGE_TIMESTAMP_TYPE = LOG.string(
    "log.message.timestamp.type",
    "CreateTime",
    "Timestamp of records: CreateTime (set by the producer) or LogAppendTime (set by the broker).",
    choices=("CreateTime", "LogAppendTime"),
    dynamic=True,
    default_for=("message.timestamp.type",),
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = LOG.long(
    "log.message.timestamp.before.max.ms",
    LONG_MAX,
    "Maximum time by which a record's timestamp may be before the broker's clock (CreateTime only).",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("message.timestamp.before.max.ms",),
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = LOG.long(
    "log.message.timestamp.after.max.ms",
    _HOUR_MS,
    "Maximum time by which a record's timestamp may be after the broker's clock (CreateTime only).",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("message.timestamp.after.max.ms",),
)
LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = LOG.long(
    "log.message.timestamp.difference.max.ms",
    LONG_MAX,
    "Deprecated; used for both of the above if they are not set.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=(
        "message.timestamp.difference.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
    ),
)
LOG_FLUSH_INTERVAL_MESSAGES = LOG.long(
    "log.flush.interval.messages",
    LONG_MAX,
    "Number of new records after which a log is flushed to the disk; the produce request that brings "
    "the last of them is answered after the flush.",
    low=1,
    dynamic=True,
    default_for=("flush.messages",),
    aliases=("log.flush.interval",),
)
LOG_FLUSH_INTERVAL_MS = LOG.optional_long(
    "log.flush.interval.ms",
    "Maximum time before a record is flushed to the disk; not set: the operating system decides.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("flush.ms",),
    aliases=("log.default.flush.interval.ms",),
)
LOG_EXPOSE = LOG.string(
    "log.expose",
    "written",
    "Time at which consumers see a record: written, as in Apache Kafka, or flushed: after it is "
    "flushed to the disk (by flush.messages or flush.ms; flush.ms is then 1000 if it is not set).",
    choices=("written", "flushed"),
    dynamic=True,
    default_for=("kafkatx.expose",),
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = LOG.integer(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    "Interval at which the flushed offset of each log is written to the recovery point checkpoint; "
    "recovery starts from it.",
    low=1,
    unit="ms",
)
PRODUCER_ID_EXPIRATION_MS = LOG.integer(
    "producer.id.expiration.ms",
    86_400_000,
    "Time after which an idempotent producer that has sent nothing is forgotten.",
    low=1,
    unit="ms",
    dynamic=True,
)
PRODUCER_IDS_MAX = LOG.integer(
    "kafkatx.producer.ids.max",
    100_000,
    "Maximum number of idempotent producers that a partition remembers; above it, those that have "
    "sent nothing for the longest time are forgotten.",
    low=1,
    dynamic=True,
)

SECTIONS = (LOG,)
"""This part of the table."""
