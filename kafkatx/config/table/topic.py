"""The table of the topic configs: those that kafkatx honours, and those that it takes and keeps.

The default of an honoured one comes from the broker settings that name it in their ``gives``; what stands
here is the default when none of those is set.
"""

from __future__ import annotations

from kafkatx.config.table.row import LONG_MAX, Section, by_name

_WEEK_MS = 7 * 24 * 3_600_000

HONOURED = Section("Topic configs", "What a topic may say for itself, when it is created or later.")

SEGMENT_BYTES = HONOURED.integer(
    "segment.bytes",
    1 << 30,
    "A segment file that would grow beyond this is closed and a new one begun.",
    low=14,
    unit="bytes",
)
SEGMENT_MS = HONOURED.long(
    "segment.ms",
    _WEEK_MS,
    "A segment older than this is closed and a new one begun, even if it is not full.",
    low=1,
    unit="ms",
)
SEGMENT_INDEX_BYTES = HONOURED.integer(
    "segment.index.bytes",
    10 << 20,
    "The largest index file; when it is full, a new segment is begun.",
    low=12,
    unit="bytes",
)
INDEX_INTERVAL_BYTES = HONOURED.integer(
    "index.interval.bytes",
    4096,
    "About how many bytes of records lie between two entries of a segment's index.",
    low=0,
    unit="bytes",
)
MAX_MESSAGE_BYTES = HONOURED.integer(
    "max.message.bytes",
    1_048_588,
    "The largest record batch that is accepted, compressed as it came.",
    low=0,
    unit="bytes",
)
RETENTION_MS = HONOURED.long(
    "retention.ms",
    _WEEK_MS,
    "Segments whose newest record is older than this go; -1: no limit of age.",
    low=-1,
    unit="ms",
)
RETENTION_BYTES = HONOURED.long(
    "retention.bytes",
    -1,
    "The oldest segments of a partition go while it is larger than this; -1: no limit of size.",
    low=-1,
    unit="bytes",
)
KAFKATX_RETENTION = HONOURED.string(
    "kafkatx.retention",
    "time+size",
    "The plugin that decides which old segments go: time, size, time+size, keep, or one that is installed.",
)
CLEANUP_POLICY = HONOURED.names(
    "cleanup.policy",
    ("delete",),
    "delete: old segments go; compact: the last record of each key is kept; or both. Empty: everything is "
    "kept until DeleteRecords removes it.",
    choices=("delete", "compact"),
)
MIN_CLEANABLE_DIRTY_RATIO = HONOURED.double(
    "min.cleanable.dirty.ratio",
    0.5,
    "A log is compacted when more than this part of its bytes was not compacted before.",
    low=0.0,
    high=1.0,
)
DELETE_RETENTION_MS = HONOURED.long(
    "delete.retention.ms",
    86_400_000,
    "How long a tombstone (a key without a value) stays after it was first compacted.",
    low=0,
    unit="ms",
)
MIN_COMPACTION_LAG_MS = HONOURED.long(
    "min.compaction.lag.ms", 0, "A record younger than this is not compacted away.", low=0, unit="ms"
)
MAX_COMPACTION_LAG_MS = HONOURED.long(
    "max.compaction.lag.ms",
    LONG_MAX,
    "A record older than this is compacted whatever the ratio.",
    low=1,
    unit="ms",
)
FILE_DELETE_DELAY_MS = HONOURED.long(
    "file.delete.delay.ms",
    60_000,
    "How long a segment's file stays on the disk after it was taken out of the log.",
    low=0,
    unit="ms",
)
FLUSH_MESSAGES = HONOURED.long(
    "flush.messages",
    LONG_MAX,
    "A log is forced to the disk when it has so many new records; the produce that brings the last of them "
    "is answered after that.",
    low=1,
)
FLUSH_MS = HONOURED.long(
    "flush.ms", LONG_MAX, "A record is forced to the disk after so long.", low=0, unit="ms"
)
EXPOSE = HONOURED.string(
    "kafkatx.expose",
    "written",
    "From when on consumers see a record: written, as in Apache Kafka, or flushed: when it was forced to the "
    "disk (by flush.messages, or flush.ms, which is then 1000 where it is not set).",
    choices=("written", "flushed"),
)
RECORDS_VALIDATION = HONOURED.string(
    "kafkatx.records.validation",
    "bounded",
    "What is checked of a produced batch beside its header: headers (nothing), bounded (compressed ones are "
    "inflated, and every field of 1,000 records, then of 100 a second, in each partition), or full (every "
    "field of every record, as in Apache Kafka). See the page on durability.",
    choices=("headers", "bounded", "full"),
)
MAX_INFLATED_BYTES = HONOURED.integer(
    "kafkatx.records.max.inflated.bytes",
    16 << 20,
    "The largest that the records of one batch may be when inflated, at least the largest batch; what the "
    "broker inflates, for checks, old clients, compaction or searches by time, is bounded by it.",
    low=1,
    unit="bytes",
)
COMPRESSION_TYPE = HONOURED.string(
    "compression.type",
    "producer",
    "How batches are stored: producer (as they came), or compressed anew by the broker.",
    choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
)
MESSAGE_TIMESTAMP_TYPE = HONOURED.string(
    "message.timestamp.type",
    "CreateTime",
    "Whose clock stamps records: CreateTime (the producer's) or LogAppendTime (the broker's).",
    choices=("CreateTime", "LogAppendTime"),
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = HONOURED.long(
    "message.timestamp.before.max.ms",
    LONG_MAX,
    "How much older than the broker's clock a record's timestamp may be (CreateTime only).",
    low=0,
    unit="ms",
    aliases=("message.timestamp.difference.max.ms",),
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = HONOURED.long(
    "message.timestamp.after.max.ms",
    3_600_000,
    "How much newer than the broker's clock a record's timestamp may be (CreateTime only).",
    low=0,
    unit="ms",
    aliases=("message.timestamp.difference.max.ms",),
)
MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = HONOURED.long(
    "message.timestamp.difference.max.ms",
    LONG_MAX,
    "Kafka's old name for both of the above, which go before it.",
    low=0,
    unit="ms",
)
MIN_INSYNC_REPLICAS = HONOURED.integer(
    "min.insync.replicas",
    1,
    "With acks=all, a produce is refused when fewer replicas than this are in sync. A partition has one "
    "replica: with more than 1 every such produce is refused.",
    low=1,
)
UNCLEAN_LEADER_ELECTION_ENABLE = HONOURED.boolean(
    "unclean.leader.election.enable",
    False,
    "Accepted for Apache Kafka's sake: a partition has one replica, so that there is no other to elect.",
)

KEPT = Section(
    "Topic configs that are taken and kept",
    "Apache Kafka's own; clients may set and read them, and kafkatx does not act on them.",
)
# They are checked all the same: what is stored today must still be readable when it is honoured.
KEPT.long("segment.jitter.ms", 0, "Spreads rolls by time.", low=0, unit="ms")
KEPT.boolean("preallocate", False, "Whether a segment's file gets its full size at once.")
KEPT.boolean("message.downconversion.enable", True, "Whether old fetchers are served.")
KEPT.string("message.format.version", "3.0-IV1", "An old choice of the records' format.")
KEPT.integer("compression.gzip.level", -1, "From 1 to 9; -1: the library's own.", low=-1, high=9)
KEPT.integer("compression.lz4.level", 9, "From 1 to 17.", low=1, high=17)
KEPT.integer("compression.zstd.level", 3, "The higher the smaller.", low=-131_072, high=22)
KEPT.names("follower.replication.throttled.replicas", (), "Followers whose replication is throttled.")
KEPT.names("leader.replication.throttled.replicas", (), "Leaders whose replication is throttled.")
KEPT.boolean("remote.storage.enable", False, "Tiered storage.")
KEPT.boolean("remote.log.copy.disable", False, "Tiered storage.")
KEPT.boolean("remote.log.delete.on.disable", False, "Tiered storage.")
KEPT.long("local.retention.ms", -2, "Tiered storage; -2: as retention.ms.", low=-2, unit="ms")
KEPT.long("local.retention.bytes", -2, "Tiered storage; -2: as retention.bytes.", low=-2, unit="bytes")

SETTINGS = by_name((HONOURED,))
"""The honoured topic configs by name, in the table's order."""

ALL_SETTINGS = by_name((HONOURED, KEPT))
"""Every topic config that may be set, by name."""
