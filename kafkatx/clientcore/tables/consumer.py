"""The settings of a consumer (Kafka's ``ConsumerConfig``)."""

from __future__ import annotations

from kafkatx.config.table.row import Section

FETCHING = Section("Fetching", "How much is asked for at once, and where a partition is begun.")

AUTO_OFFSET_RESET = FETCHING.string(
    "auto.offset.reset",
    "latest",
    "Where to begin a partition without a committed offset, or whose offset is gone: earliest, latest, or "
    "none: that is an error. (Kafka 0.8 called the first two smallest and largest.)",
    choices=("earliest", "latest", "none"),
    synonyms={"smallest": "earliest", "largest": "latest"},
    aliases=("autooffset.reset",),
)
FETCH_MIN_BYTES = FETCHING.integer(
    "fetch.min.bytes",
    1,
    "A broker answers when it has so much, or after `fetch.max.wait.ms`.",
    low=0,
    unit="bytes",
)
FETCH_MAX_WAIT_MS = FETCHING.integer(
    "fetch.max.wait.ms",
    500,
    "How long a broker may wait for `fetch.min.bytes`.",
    low=0,
    unit="ms",
    aliases=("fetch.wait.max.ms",),
)
FETCH_MAX_BYTES = FETCHING.integer(
    "fetch.max.bytes",
    52_428_800,
    "About how much a reply may hold; a first batch that is larger comes nevertheless.",
    low=0,
    unit="bytes",
)
MAX_PARTITION_FETCH_BYTES = FETCHING.integer(
    "max.partition.fetch.bytes",
    1_048_576,
    "The same for one partition.",
    low=0,
    unit="bytes",
    aliases=("fetch.message.max.bytes", "fetch.size"),
)
READAHEAD_BYTES = FETCHING.long(
    "kafkatx.readahead.bytes",
    64 << 20,
    "How much may be fetched before it is asked for, of all partitions together.",
    low=0,
    unit="bytes",
)
MAX_POLL_RECORDS = FETCHING.integer(
    "max.poll.records", 500, "The most records that `getmany` gives at once.", low=1
)
CHECK_CRCS = FETCHING.boolean("check.crcs", True, "Check the checksum of each batch.")
ISOLATION_LEVEL = FETCHING.string(
    "isolation.level",
    "read_uncommitted",
    "Whether records of transactions that are open or were aborted are seen.",
    choices=("read_uncommitted", "read_committed"),
)
ALLOW_AUTO_CREATE_TOPICS = FETCHING.boolean(
    "allow.auto.create.topics", True, "Let brokers that do so create topics that are asked for."
)
EXCLUDE_INTERNAL_TOPICS = FETCHING.boolean(
    "exclude.internal.topics", True, "A pattern matches none of the cluster's own topics."
)
KEY_DESERIALIZER = FETCHING.plugin(
    "key.deserializer", "bytes", "What makes a key of bytes: the name of an `IDecoder`, or one."
)
VALUE_DESERIALIZER = FETCHING.plugin(
    "value.deserializer", "bytes", "What makes a value of bytes: the name of an `IDecoder`, or one."
)

GROUP = Section("Groups", "Consumers that share the partitions of their topics.")

GROUP_ID = GROUP.optional_string(
    "group.id", "The group. It is needed for `subscribe` and for commits.", aliases=("groupid",)
)
GROUP_INSTANCE_ID = GROUP.optional_string(
    "group.instance.id",
    "A name that this member keeps when it is restarted: it gets its partitions back if it comes again "
    "within `session.timeout.ms` (static membership, KIP-345).",
)
ENABLE_AUTO_COMMIT = GROUP.boolean(
    "enable.auto.commit",
    True,
    "Commit what was given to the application, now and then and before partitions go.",
    aliases=("auto.commit.enable", "autocommit.enable"),
)
AUTO_COMMIT_INTERVAL_MS = GROUP.integer(
    "auto.commit.interval.ms", 5000, "How often.", low=0, unit="ms", aliases=("autocommit.interval.ms",)
)
SESSION_TIMEOUT_MS = GROUP.integer(
    "session.timeout.ms",
    45_000,
    "A member that is not heard of for so long is taken for dead, and its partitions given to others.",
    low=1,
    unit="ms",
)
HEARTBEAT_INTERVAL_MS = GROUP.integer(
    "heartbeat.interval.ms",
    3000,
    "How often the coordinator hears of this member; less than `session.timeout.ms`, best a third of it.",
    low=1,
    unit="ms",
)
MAX_POLL_INTERVAL_MS = GROUP.integer(
    "max.poll.interval.ms",
    300_000,
    "A member whose application does not ask for more records for so long leaves the group.",
    low=1,
    unit="ms",
)

PARTITION_ASSIGNMENT_STRATEGY = GROUP.names(
    "partition.assignment.strategy",
    ("range", "cooperative-sticky"),
    "How a leader shares partitions out, the one that is liked best first: range, roundrobin, sticky, "
    "cooperative-sticky, the name of an installed `IAssignor`, or an object. All members must have one in "
    "common.",
    empty=False,
)

PATTERN_REFRESH_MS = GROUP.integer(
    "kafkatx.pattern.refresh.ms",
    2000,
    "How often brokers are asked for new topics while a pattern, or a filter of a `ConsumerConnector`, is "
    "subscribed to. (Java's client asks every `metadata.max.age.ms`.)",
    low=100,
    unit="ms",
)
BALANCER = GROUP.plugin(
    "kafkatx.balancer",
    "group",
    "What shares partitions out among the `ConsumerConnector`s of a group, and keeps their offsets: the name "
    "of an `IBalancer`, or one.",
)

AUDIT = Section(
    "Audit",
    "Counts of what was handed out, to check that a group has read all (see [Audit](audit.md)). Not in "
    "Apache Kafka.",
)

AUDIT_INTERVAL_MS = AUDIT.long(
    "audit.interval.ms",
    0,
    "How often the consumer announces how many records of each topic it handed out, and how long the windows "
    "are that it counts them by. 0: never. It needs a `group.id`.",
    low=0,
    high=86_400_000,
    unit="ms",
)
AUDIT_TOPIC = AUDIT.string("audit.topic", "kafkatx-audit", "The topic that it is announced in.")
AUDIT_SERVER = AUDIT.string(
    "audit.server", "", "The name of this server in announcements. Empty: the host's name."
)

SECTIONS = (FETCHING, GROUP, AUDIT)

KEPT = Section("", "")

DEFAULTS: dict[str, object] = {}
"""Common settings that have another default in a consumer."""
