"""The settings of ``kafkatx mirror run``, one row each. Pure."""

from __future__ import annotations

from kafkatx.config.table.row import Section

CLUSTERS = Section(
    "Clusters",
    "`source.NAME.bootstrap.servers` and `target.bootstrap.servers` are needed. Any setting of a consumer "
    "may "
    "follow `source.NAME.`, any setting of an admin client `target.` ([Client "
    "settings](client-settings.md)).",
)

SOURCES = CLUSTERS.names(
    "sources",
    (),
    "Aliases of the clusters to copy from: names that begin their topics' copies, for example.",
    empty=False,
    sample="dc1",
)
TARGET_ALIAS = CLUSTERS.string(
    "target.alias",
    "target",
    "Alias of the cluster to copy to. Topics of a source with this alias and a dot before their name, or "
    "within it, came from the target: they are not copied back.",
)
CLIENT_ID = CLUSTERS.string("client.id", "kafkatx-mirror", "Name of the mirror in the brokers' logs.")

RECORDS = Section(
    "Topics and records",
    "Each of these may be set for one source, too: `source.NAME.topics` goes before `topics`.",
)

TOPICS = RECORDS.string(
    "topics",
    ".*",
    "Topics to copy: a regular expression that must match the whole name; commas separate several. Topics "
    "that come later are found at the next refresh.",
)
TOPICS_EXCLUDE = RECORDS.string(
    "topics.exclude",
    "",
    "Topics to leave out, likewise. Internal topics (`__*`, `*.internal`, `mm2-*`, heartbeats) always are.",
)
RENAME = RECORDS.string(
    "rename",
    "{alias}.{topic}",
    "Name of a topic's copy; `{topic}` keeps the name. Topics with the same name share a topic of the "
    "target.",
)
FILTER = RECORDS.string(
    "filter",
    "",
    "Plugin that chooses the records to copy (`IRecordFilter`), `regex` for example; empty: all. Its own "
    "settings are called `kafkatx.plugin.<name of the plugin>.*`.",
)
START = RECORDS.string(
    "start",
    "earliest",
    "Where to begin with a partition of which nothing is copied yet: at the first record, or after the last.",
    choices=("earliest", "latest"),
)
PER_SOURCE = (TOPICS, TOPICS_EXCLUDE, RENAME, FILTER, START)

CREATION = Section(
    "Topics of the target", "Created with the source's number of partitions, with which they grow."
)

REPLICATION_FACTOR = CREATION.integer(
    "replication.factor", -1, "Replicas of created topics; -1: the target's default.", low=-1, high=32767
)
TOPIC_CONFIGS = CREATION.names(
    "topic.configs",
    ("cleanup.policy", "retention.bytes", "retention.ms"),
    "Configs that a created topic takes over from the source's, where they are set there.",
)
REFRESH_INTERVAL_MS = CREATION.long(
    "refresh.interval.ms",
    10_000,
    "Interval at which new topics and partitions of the sources are looked for.",
    low=100,
    unit="ms",
)

FLOW = Section("Speed and memory", "")

RATE_BYTES = FLOW.long(
    "rate.bytes",
    0,
    "Bytes a second that are written to the target at most; 0: no limit.",
    low=0,
    unit="bytes",
)
BATCH_BYTES = FLOW.integer(
    "batch.bytes",
    512 << 10,
    "About the largest batch, before compression. It must be below `max.message.bytes` of the target's "
    "topics; a larger record is a batch of its own.",
    low=1,
    high=1 << 30,
    unit="bytes",
)
BATCH_RECORDS = FLOW.integer("batch.records", 5000, "Most records in a batch.", low=1, high=1_000_000)
BUFFER_BYTES = FLOW.long(
    "buffer.bytes",
    32 << 20,
    "Memory for records that are read and not written yet, of all sources; each source has as much again "
    "for what it has fetched (`source.NAME.kafkatx.readahead.bytes`).",
    low=1 << 16,
    unit="bytes",
)
COMPRESSION_TYPE = FLOW.string(
    "compression.type",
    "none",
    "Codec of the copies.",
    choices=("none", "gzip", "snappy", "lz4", "zstd"),
)

PROGRESS = Section("Progress and offsets", "")

PROGRESS_INTERVAL_MS = PROGRESS.long(
    "progress.interval.ms",
    5000,
    "Interval at which positions and pairs of offsets are written to `kafkatx-mirror.NAME.internal`. After a "
    "crash what was copied since is read from the target's topics.",
    low=10,
    unit="ms",
)
RECOVERY_MAX_BYTES = PROGRESS.long(
    "recovery.max.bytes",
    4 << 30,
    "Most bytes of a target partition that are read at a start to find its last copies. Only where the topic "
    "of "
    "positions was lost it is more than a few seconds' copies. A partition that needs more is not copied; "
    "the log says so.",
    low=1 << 20,
    unit="bytes",
)
MAP_RUNS = PROGRESS.integer(
    "map.runs",
    1_000_000,
    "Most entries of all maps of offsets in memory (some 200 bytes each). Beyond that groups that are far "
    "behind get checkpoints before their exact place.",
    low=1000,
)
OFFSET_SYNCS = PROGRESS.boolean(
    "offset.syncs", True, "Write MirrorMaker 2's `mm2-offset-syncs.NAME.internal` to the target."
)
CHECKPOINTS_INTERVAL_MS = PROGRESS.long(
    "checkpoints.interval.ms",
    10_000,
    "Interval at which offsets that groups have committed at the sources are translated and written to "
    "MirrorMaker 2's `NAME.checkpoints.internal`; 0: never.",
    low=0,
    unit="ms",
)
GROUPS = PROGRESS.string(
    "groups", ".*", "Groups whose offsets are translated: a regular expression, as for `topics`."
)
GROUPS_EXCLUDE = PROGRESS.string(
    "groups.exclude", "console-consumer-.*,connect-.*,__.*", "Groups to leave out, likewise."
)
HEARTBEATS_INTERVAL_MS = PROGRESS.long(
    "heartbeats.interval.ms",
    5000,
    "Interval of the records in `NAME.heartbeats`, by which MirrorMaker 2's tools know the source; 0: none.",
    low=0,
    unit="ms",
)
REPORT_INTERVAL_MS = PROGRESS.long(
    "report.interval.ms",
    10_000,
    "Interval of the lines about progress in the log; 0: none.",
    low=0,
    unit="ms",
)

AUDIT = Section(
    "Audit", "Counts of copied records for `kafkatx audit --way` ([Audit of all tiers](audit-tiers.md))."
)

AUDIT_INTERVAL_MS = AUDIT.long(
    "audit.interval.ms",
    0,
    "Interval at which the mirror announces the records that it has copied, and length of a window; 0: never."
    " The tier is `mirror:SOURCE-TARGET`, with the aliases.",
    low=0,
    high=86_400_000,
    unit="ms",
)
AUDIT_TOPIC = AUDIT.string(
    "audit.topic", "kafkatx-audit", "Topic of the announcements, in the target; created if it does not exist."
)
AUDIT_SERVER = AUDIT.string(
    "audit.server", "", "Name of this server in announcements. Empty: the host's name."
)

SECTIONS = (CLUSTERS, RECORDS, CREATION, FLOW, PROGRESS, AUDIT)
