"""The settings of a consumer (Kafka's ``ConsumerConfig``)."""

from __future__ import annotations

from kafkatx.clientcore.tables import registry
from kafkatx.clientcore.tables.java_classes import DESERIALIZERS
from kafkatx.config.table.row import Section

FETCHING = Section("Fetching", "The size of fetches, start offsets, and decoding.")

AUTO_OFFSET_RESET = FETCHING.string(
    "auto.offset.reset",
    "latest",
    "Start of a partition without a committed offset, or whose offset is out of range: earliest, latest, or "
    "none: an error is raised. (Kafka 0.8 called the first two smallest and largest.)",
    choices=("earliest", "latest", "none"),
    synonyms={"smallest": "earliest", "largest": "latest"},
    aliases=("autooffset.reset",),
)
FETCH_MIN_BYTES = FETCHING.integer(
    "fetch.min.bytes",
    1,
    "Size at which a broker answers a fetch; it answers after `fetch.max.wait.ms` in any case.",
    low=0,
    unit="bytes",
)
FETCH_MAX_WAIT_MS = FETCHING.integer(
    "fetch.max.wait.ms",
    500,
    "Time for which a broker may wait for `fetch.min.bytes`.",
    low=0,
    unit="ms",
    aliases=("fetch.wait.max.ms",),
)
FETCH_MAX_BYTES = FETCHING.integer(
    "fetch.max.bytes",
    52_428_800,
    "Approximate size of a reply; a larger first batch is returned whole.",
    low=0,
    unit="bytes",
)
MAX_PARTITION_FETCH_BYTES = FETCHING.integer(
    "max.partition.fetch.bytes",
    1_048_576,
    "Approximate size of one partition's part of a reply.",
    low=0,
    unit="bytes",
    aliases=("fetch.message.max.bytes", "fetch.size"),
)
READAHEAD_BYTES = FETCHING.long(
    "kafkatx.readahead.bytes",
    64 << 20,
    "Memory for records of all partitions that are fetched ahead of the application.",
    low=0,
    unit="bytes",
)
MAX_POLL_RECORDS = FETCHING.integer(
    "max.poll.records", 500, "Largest number of records that `getmany` returns.", low=1
)
CHECK_CRCS = FETCHING.boolean("check.crcs", True, "Check the checksum of each batch.")
ISOLATION_LEVEL = FETCHING.string(
    "isolation.level",
    "read_uncommitted",
    "read_committed: records of open and aborted transactions are not returned.",
    choices=("read_uncommitted", "read_committed"),
)
ALLOW_AUTO_CREATE_TOPICS = FETCHING.boolean(
    "allow.auto.create.topics", True, "Allow brokers to create topics that this consumer subscribes to."
)
EXCLUDE_INTERNAL_TOPICS = FETCHING.boolean(
    "exclude.internal.topics", True, "Patterns do not match internal topics."
)
KEY_DESERIALIZER = FETCHING.plugin(
    "key.deserializer",
    "bytes",
    "Decoder of keys: the name of an `IDecoder` plugin, the Java class that does the same, or an object.",
    synonyms=DESERIALIZERS,
)
VALUE_DESERIALIZER = FETCHING.plugin(
    "value.deserializer", "bytes", "Decoder of values: likewise.", synonyms=DESERIALIZERS
)

GROUP = Section("Groups", "Consumers that share the partitions of their topics.")

GROUP_ID = GROUP.optional_string(
    "group.id", "Name of the group. It is needed for `subscribe` and for commits.", aliases=("groupid",)
)
GROUP_INSTANCE_ID = GROUP.optional_string(
    "group.instance.id",
    "Name that this member keeps over restarts: it gets its partitions back if it is back within "
    "`session.timeout.ms` (static membership, KIP-345).",
)
ENABLE_AUTO_COMMIT = GROUP.boolean(
    "enable.auto.commit",
    True,
    "Commit the offsets of records that the application has received, at intervals and before partitions are "
    "revoked.",
    aliases=("auto.commit.enable", "autocommit.enable"),
)
AUTO_COMMIT_INTERVAL_MS = GROUP.integer(
    "auto.commit.interval.ms",
    5000,
    "Interval of automatic commits.",
    low=0,
    unit="ms",
    aliases=("autocommit.interval.ms",),
)
SESSION_TIMEOUT_MS = GROUP.integer(
    "session.timeout.ms",
    45_000,
    "Time without a heartbeat after which the coordinator removes a member and reassigns its partitions.",
    low=1,
    unit="ms",
)
HEARTBEAT_INTERVAL_MS = GROUP.integer(
    "heartbeat.interval.ms",
    3000,
    "Interval of heartbeats to the coordinator; less than `session.timeout.ms`, best a third of it.",
    low=1,
    unit="ms",
)
MAX_POLL_INTERVAL_MS = GROUP.integer(
    "max.poll.interval.ms",
    300_000,
    "Time without a request for records by the application after which this member leaves the group.",
    low=1,
    unit="ms",
)

PARTITION_ASSIGNMENT_STRATEGY = GROUP.names(
    "partition.assignment.strategy",
    ("range", "cooperative-sticky"),
    "Assignors of partitions to members, in order of preference: range, roundrobin, sticky, "
    "cooperative-sticky, the name of an installed `IAssignor`, or an object. All members must have one in "
    "common.",
    empty=False,
)

PATTERN_REFRESH_MS = GROUP.integer(
    "kafkatx.pattern.refresh.ms",
    2000,
    "Interval at which brokers are asked for new topics while a pattern, or a filter of a "
    "`ConsumerConnector`, is subscribed to. (`metadata.max.age.ms` in the Java client.)",
    low=100,
    unit="ms",
)
BALANCER = GROUP.plugin(
    "kafkatx.balancer",
    "group",
    "Balancer that assigns partitions to the `ConsumerConnector`s of a group and keeps their offsets: the "
    "name of an `IBalancer` plugin, or an object.",
)

ZOOKEEPER = Section(
    "Groups over ZooKeeper",
    "Settings of a `ConsumerConnector` with `kafkatx.balancer=zookeeper`, as Kafka 0.8 has them. It needs "
    "`zookeeper.connect`, too.",
)

REBALANCE_MAX_RETRIES = ZOOKEEPER.integer(
    "rebalance.max.retries",
    4,
    "Failures of a rebalance in a row after which the log has a warning. (Kafka 0.8 gives up then.)",
    low=1,
    aliases=("rebalance.retries.max",),
)
REBALANCE_BACKOFF_MS = ZOOKEEPER.integer(
    "rebalance.backoff.ms",
    2000,
    "Pause before a rebalance that failed is repeated: another member had not released its partitions yet.",
    low=1,
    unit="ms",
    aliases=("zookeeper.sync.time.ms", "zk.synctime.ms"),
)
OFFSETS_STORAGE = ZOOKEEPER.string(
    "offsets.storage",
    "zookeeper",
    "Where the balancer `zookeeper` keeps offsets: zookeeper, or kafka (the group's coordinator).",
    choices=("zookeeper", "kafka"),
)
DUAL_COMMIT_ENABLED = ZOOKEEPER.boolean(
    "dual.commit.enabled",
    True,
    "With `offsets.storage=kafka`, commit to ZooKeeper, too, and continue from the larger of both offsets: "
    "for moving a group from one to the other.",
)
OLD_OFFSETS = ZOOKEEPER.boolean(
    "kafkatx.zookeeper.old.offsets",
    False,
    "Continue from offsets that Kafka 0.7 left in ZooKeeper, where there are no others. They are positions "
    "in its log files: set it only if the records were copied with these offsets.",
)

AUDIT = Section(
    "Audit",
    "Counts of consumed records, to check that a group has read all of them (see [Audit](audit.md)). Not in "
    "Apache Kafka.",
)

AUDIT_INTERVAL_MS = AUDIT.long(
    "audit.interval.ms",
    0,
    "Interval at which the consumer announces the number of consumed records of each topic, and the length "
    "of the windows of these counts. 0: never. It needs a `group.id`.",
    low=0,
    high=86_400_000,
    unit="ms",
)
AUDIT_TOPIC = AUDIT.string("audit.topic", "kafkatx-audit", "Topic of the announcements.")
AUDIT_SERVER = AUDIT.string(
    "audit.server", "", "Name of this server in announcements. Empty: the host's name."
)

SECTIONS = (FETCHING, GROUP, ZOOKEEPER, AUDIT, registry.REGISTRY, registry.TLS, registry.DECODING)

KEPT = Section("", "")

DEFAULTS = {"zookeeper.session.timeout.ms": 6000}
"""Common settings with another default in a consumer."""
