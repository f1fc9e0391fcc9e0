"""The table of the topic configs: those that kafkatx honours, and those that it only stores.

The default of an honoured config comes from the broker settings that name it in their ``default_for``; the
default in this table applies if none of those is set.
"""

from __future__ import annotations

from kafkatx.config.table.row import LONG_MAX, Section, by_name
from kafkatx.names import KAFKATX_MIRROR

_WEEK_MS = 7 * 24 * 3_600_000

HONOURED = Section("Topic configs", "Configs of one topic, set when it is created or later.")

SEGMENT_BYTES = HONOURED.integer(
    "segment.bytes",
    1 << 30,
    "Maximum size of a segment file; a batch that would exceed it goes into a new segment.",
    low=14,
    unit="bytes",
)
SEGMENT_MS = HONOURED.long(
    "segment.ms",
    _WEEK_MS,
    "Maximum age of the active segment; the log rolls to a new segment after it, even if the segment "
    "is not full.",
    low=1,
    unit="ms",
)
SEGMENT_INDEX_BYTES = HONOURED.integer(
    "segment.index.bytes",
    10 << 20,
    "Maximum size of an index file; when it is full, the log rolls to a new segment.",
    low=12,
    unit="bytes",
)
INDEX_INTERVAL_BYTES = HONOURED.integer(
    "index.interval.bytes",
    4096,
    "Approximate bytes of records between two index entries.",
    low=0,
    unit="bytes",
)
MAX_MESSAGE_BYTES = HONOURED.integer(
    "max.message.bytes",
    1_048_588,
    "Largest record batch that is accepted, after compression by the producer.",
    low=0,
    unit="bytes",
)
RETENTION_MS = HONOURED.long(
    "retention.ms",
    _WEEK_MS,
    "Segments whose newest record is older than this are deleted; -1: no time limit.",
    low=-1,
    unit="ms",
)
RETENTION_BYTES = HONOURED.long(
    "retention.bytes",
    -1,
    "Maximum size of a partition, above which its oldest segments are deleted; -1: no size limit.",
    low=-1,
    unit="bytes",
)
KAFKATX_RETENTION = HONOURED.string(
    "kafkatx.retention",
    "time+size",
    "Plugin that chooses old segments to delete: time, size, time+size, keep, or an installed one.",
)
CLEANUP_POLICY = HONOURED.names(
    "cleanup.policy",
    ("delete",),
    "delete: old segments are deleted; compact: the last record of each key is kept; or both. Empty: "
    "all records are kept until DeleteRecords removes them.",
    choices=("delete", "compact"),
)
MIN_CLEANABLE_DIRTY_RATIO = HONOURED.double(
    "min.cleanable.dirty.ratio",
    0.5,
    "Fraction of a log's bytes that are not compacted yet, above which it is compacted.",
    low=0.0,
    high=1.0,
)
DELETE_RETENTION_MS = HONOURED.long(
    "delete.retention.ms",
    86_400_000,
    "Time for which a tombstone (a key without a value) is kept after its first compaction.",
    low=0,
    unit="ms",
)
MIN_COMPACTION_LAG_MS = HONOURED.long(
    "min.compaction.lag.ms", 0, "Minimum age of a record before it is compacted.", low=0, unit="ms"
)
MAX_COMPACTION_LAG_MS = HONOURED.long(
    "max.compaction.lag.ms",
    LONG_MAX,
    "Maximum age of a record before its log is compacted, whatever the ratio.",
    low=1,
    unit="ms",
)
FILE_DELETE_DELAY_MS = HONOURED.long(
    "file.delete.delay.ms",
    60_000,
    "Time before the file of a deleted segment is removed from the disk.",
    low=0,
    unit="ms",
)
FLUSH_MESSAGES = HONOURED.long(
    "flush.messages",
    LONG_MAX,
    "Number of new records after which a log is flushed to the disk; the produce request that brings "
    "the last of them is answered after the flush.",
    low=1,
)
FLUSH_MS = HONOURED.long(
    "flush.ms", LONG_MAX, "Maximum time before a record is flushed to the disk.", low=0, unit="ms"
)
EXPOSE = HONOURED.string(
    "kafkatx.expose",
    "written",
    "Time at which consumers see a record: written, as in Apache Kafka, or flushed: after it is "
    "flushed to the disk (by flush.messages or flush.ms; flush.ms is then 1000 if it is not set).",
    choices=("written", "flushed"),
)
RECORDS_VALIDATION = HONOURED.string(
    "kafkatx.records.validation",
    "bounded",
    "Checks of a produced batch beside its header: headers (none), bounded (compressed batches are "
    "decompressed; every field is checked of 1,000 records in each partition, then of 100 a second), "
    "or full (every field of every record, as in Apache Kafka). See the page on durability.",
    choices=("headers", "bounded", "full"),
)
MAX_INFLATED_BYTES = HONOURED.integer(
    "kafkatx.records.max.inflated.bytes",
    16 << 20,
    "Largest decompressed size of the records of one batch, at least the largest batch. It bounds "
    "everything that the broker decompresses: for validation, old clients, compaction and searches by"
    " time.",
    low=1,
    unit="bytes",
)
COMPRESSION_TYPE = HONOURED.string(
    "compression.type",
    "producer",
    "Compression of stored batches: producer (unchanged), or the codec that the broker recompresses "
    "them with.",
    choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
)
MESSAGE_TIMESTAMP_TYPE = HONOURED.string(
    "message.timestamp.type",
    "CreateTime",
    "Timestamp of records: CreateTime (set by the producer) or LogAppendTime (set by the broker).",
    choices=("CreateTime", "LogAppendTime"),
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = HONOURED.long(
    "message.timestamp.before.max.ms",
    LONG_MAX,
    "Maximum time by which a record's timestamp may be before the broker's clock (CreateTime only).",
    low=0,
    unit="ms",
    aliases=("message.timestamp.difference.max.ms",),
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = HONOURED.long(
    "message.timestamp.after.max.ms",
    3_600_000,
    "Maximum time by which a record's timestamp may be after the broker's clock (CreateTime only).",
    low=0,
    unit="ms",
    aliases=("message.timestamp.difference.max.ms",),
)
MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = HONOURED.long(
    "message.timestamp.difference.max.ms",
    LONG_MAX,
    "Deprecated; used for both of the above if they are not set.",
    low=0,
    unit="ms",
)
MIN_INSYNC_REPLICAS = HONOURED.integer(
    "min.insync.replicas",
    1,
    "Minimum number of in-sync replicas: with fewer, a produce with acks=all is refused, and the high "
    "watermark stands still. At most the number of the partition's replicas counts.",
    low=1,
)
UNCLEAN_LEADER_ELECTION_ENABLE = HONOURED.boolean(
    "unclean.leader.election.enable",
    False,
    "Elect a replica that is not in sync if no other is left: the partition is available again, and may have "
    "lost records.",
)
FOLLOWER_REPLICATION_THROTTLED_REPLICAS = HONOURED.names(
    "follower.replication.throttled.replicas",
    (),
    "Followers that are throttled: partition:broker, or * for all.",
)
LEADER_REPLICATION_THROTTLED_REPLICAS = HONOURED.names(
    "leader.replication.throttled.replicas",
    (),
    "Replicas to which their leader's traffic is throttled: partition:broker, or * for all.",
)
CONFLUENT_VALUE_SCHEMA_VALIDATION = HONOURED.boolean(
    "confluent.value.schema.validation",
    False,
    "Refuse records whose value does not begin with the id of a schema of the subject <topic>-value in the "
    "schema registry; as in Confluent Server.",
)
CONFLUENT_KEY_SCHEMA_VALIDATION = HONOURED.boolean(
    "confluent.key.schema.validation",
    False,
    "The same for keys and the subject <topic>-key.",
)
for _field in ("value", "key"):
    HONOURED.string(
        f"confluent.{_field}.subject.name.strategy",
        "TopicNameStrategy",
        f"Subject for confluent.{_field}.schema.validation; there is only this one.",
        choices=("TopicNameStrategy",),
        synonyms={"io.confluent.kafka.serializers.subject.TopicNameStrategy": "TopicNameStrategy"},
    )

KEPT = Section(
    "Topic configs that are stored and not used",
    "Clients may set and read them, and kafkatx does not act on them.",
)
# Their values are checked: a value that is stored now must be valid if a later version honours the config.
KEPT.long("segment.jitter.ms", 0, "Random time that is subtracted from segment.ms.", low=0, unit="ms")
KEPT.boolean("preallocate", False, "Allocate a segment's file at its full size.")
KEPT.boolean("message.downconversion.enable", True, "Convert records for old clients.")
KEPT.string("message.format.version", "3.0-IV1", "Deprecated version of the record format.")
KEPT.integer("compression.gzip.level", -1, "Level from 1 to 9; -1: the library's default.", low=-1, high=9)
KEPT.integer("compression.lz4.level", 9, "Level from 1 to 17.", low=1, high=17)
KEPT.integer("compression.zstd.level", 3, "Level; a higher one compresses better.", low=-131_072, high=22)
KEPT.boolean("remote.storage.enable", False, "Tiered storage.")
KEPT.boolean("remote.log.copy.disable", False, "Tiered storage.")
KEPT.boolean("remote.log.delete.on.disable", False, "Tiered storage.")
KEPT.long("local.retention.ms", -2, "Tiered storage; -2: the value of retention.ms.", low=-2, unit="ms")
KEPT.long(
    "local.retention.bytes", -2, "Tiered storage; -2: the value of retention.bytes.", low=-2, unit="bytes"
)

BROKERS_OWN = Section("Topic configs of brokers", "Configs that brokers write, and clients only read.")
MIRROR = BROKERS_OWN.string(
    KAFKATX_MIRROR,
    "",
    "The state of a topic that a mirror link fills, as JSON. Written by brokers alone.",
)

WRITTEN_BY_BROKERS = by_name((BROKERS_OWN,))
"""The rows of configs that clients may read, and neither set nor delete."""

SETTINGS = by_name((HONOURED,))
"""The honoured topic configs by name, in the table's order."""

ALL_SETTINGS = by_name((HONOURED, KEPT))
"""Every topic config that may be set, by name."""
