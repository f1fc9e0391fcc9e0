"""The table of the broker's settings: every name that kafkatx honours.

Names and meanings are Apache Kafka's; where a default differs from Kafka's, its words say so. Several
settings that give one topic config (``log.retention.ms``, ``.minutes``, ``.hours``) stand here in the order
of their precedence.
"""

from __future__ import annotations

from kafkatx.config.table import groups, limits, quotas
from kafkatx.config.table.row import INT_MAX, LONG_MAX, Section, by_name

_HOUR_MS = 3_600_000
_PROTOCOL_MAP = ("PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL")

IDENTITY = Section("The broker", "Who this broker is, and which parts it is made of.")

BROKER_ID = IDENTITY.integer(
    "broker.id",
    0,
    "This broker's number in its cluster. The data in log.dirs belongs to it. "
    "-1, by which Kafka chooses a number itself, is taken as not set.",
    low=0,
    aliases=("node.id", "brokerid"),
    legacy=("-1",),
)
BROKER_RACK = IDENTITY.optional_string(
    "broker.rack", "Failure domain of this broker; clients see it in metadata."
)
KAFKATX_STORAGE = IDENTITY.string(
    "kafkatx.storage",
    "file",
    "The plugin that keeps the records: file (segment files in log.dirs), memory (nothing on disk, not "
    "even the cluster's state), or one that is installed.",
)
KAFKATX_COORDINATOR = IDENTITY.string(
    "kafkatx.coordinator",
    "embedded",
    "The plugin that keeps the cluster's state: embedded (one broker, SQLite in one of log.dirs, "
    "at first the first), or one that is installed.",
)
KAFKATX_START_ANEW = IDENTITY.boolean(
    "kafkatx.start.anew",
    False,
    "Start although the cluster's state is lost or damaged, or is not that of log.dirs: with an empty "
    "state, or with the one that is there. Directories of partitions that it does not know are renamed to "
    "...-stray, a damaged state file is renamed, and nothing is removed. For one start; to keep the topics, "
    "use kafkatx log adopt instead.",
)
KAFKATX_RETENTION = IDENTITY.string(
    "kafkatx.retention",
    "time+size",
    "The plugin that decides which old segments go: time, size, time+size, keep, or one that is installed.",
    default_for=("kafkatx.retention",),
)

NETWORK = Section("Network", "Where the broker listens, and how much its peers may ask of it.")

LISTENERS = NETWORK.names(
    "listeners",
    ("PLAINTEXT://127.0.0.1:9092",),
    "Where to listen: NAME://host:port, with commas between. An empty host or 0.0.0.0 is every "
    "interface, port 0 any free port, [::1] an IPv6 address. Kafka's default is every interface. "
    "Listeners of controllers are left out; those with TLS or SASL are not supported yet.",
    empty=False,
)
ADVERTISED_LISTENERS = NETWORK.names(
    "advertised.listeners",
    (),
    "Where clients are told to connect, if not to listeners (behind NAT, in a container): NAME://host:port.",
)
HOST_NAME = NETWORK.optional_string(
    "host.name", "Kafka's old way to say where to listen; used only where listeners is not set."
)
PORT = NETWORK.optional_integer(
    "port",
    "Kafka's old way to say on which port to listen; used only where listeners is not set.",
    low=0,
    high=65535,
)
ADVERTISED_HOST_NAME = NETWORK.optional_string(
    "advertised.host.name",
    "Kafka's old way to advertise a host; used only where advertised.listeners is not set.",
    aliases=("hostname",),
)
ADVERTISED_PORT = NETWORK.optional_integer(
    "advertised.port",
    "Kafka's old way to advertise a port; used only where advertised.listeners is not set.",
    low=0,
    high=65535,
)
LISTENER_SECURITY_PROTOCOL_MAP = NETWORK.names(
    "listener.security.protocol.map",
    _PROTOCOL_MAP,
    "Which security protocol each listener's name stands for: NAME:PROTOCOL, with commas between.",
)
CONTROLLER_LISTENER_NAMES = NETWORK.names(
    "controller.listener.names",
    (),
    "Names in listeners that are for KRaft controllers; kafkatx has none and leaves them out.",
)
SOCKET_REQUEST_MAX_BYTES = NETWORK.integer(
    "socket.request.max.bytes",
    104_857_600,
    "The largest request; a peer that announces a larger one is disconnected.",
    low=1,
    unit="bytes",
    aliases=("max.socket.request.bytes",),
)
QUEUED_MAX_REQUEST_BYTES = NETWORK.long(
    "queued.max.request.bytes",
    64 << 20,
    "Bytes of waiting and unfinished requests that all connections together may hold; beyond it unfinished "
    "requests are read on one after the other. -1, Kafka's default: no limit.",
    low=-1,
    unit="bytes",
)
SOCKET_SEND_BUFFER_BYTES = NETWORK.integer(
    "socket.send.buffer.bytes",
    -1,
    "SO_SNDBUF of a connection; -1: as the system chooses. Kafka's default is 102400.",
    low=-1,
    unit="bytes",
    aliases=("socket.send.buffer",),
)
SOCKET_RECEIVE_BUFFER_BYTES = NETWORK.integer(
    "socket.receive.buffer.bytes",
    -1,
    "SO_RCVBUF of a connection; -1: as the system chooses. Kafka's default is 102400.",
    low=-1,
    unit="bytes",
    aliases=("socket.receive.buffer",),
)
CONNECTIONS_MAX_IDLE_MS = NETWORK.long(
    "connections.max.idle.ms",
    600_000,
    "A connection without a request for so long is closed; -1: never.",
    low=-1,
    unit="ms",
)
MAX_CONNECTIONS_PER_IP = NETWORK.integer(
    "max.connections.per.ip",
    INT_MAX,
    "Connections that one address may have; more are closed at once.",
    low=0,
    dynamic=True,
)
MAX_CONNECTIONS = NETWORK.integer(
    "max.connections",
    INT_MAX,
    "Connections that the broker may have; more are closed at once.",
    low=0,
    dynamic=True,
)
FETCH_MAX_BYTES = NETWORK.integer(
    "fetch.max.bytes",
    57_671_680,
    "The most bytes of records in one reply to a fetch; the first batch is returned whole, however large.",
    low=1024,
    unit="bytes",
)

TOPICS = Section("Topics", "How topics come to be, and how many copies they have.")

NUM_PARTITIONS = TOPICS.integer(
    "num.partitions", 1, "Partitions of a topic that is created without their number.", low=1
)
DEFAULT_REPLICATION_FACTOR = TOPICS.integer(
    "default.replication.factor",
    1,
    "Replicas of a topic that is created without their number. The cluster has one broker: with more than 1 "
    "no topic can be created.",
    low=1,
)
AUTO_CREATE_TOPICS_ENABLE = TOPICS.boolean(
    "auto.create.topics.enable",
    True,
    "Whether asking for the metadata of a topic that is not there creates it.",
)
DELETE_TOPIC_ENABLE = TOPICS.boolean("delete.topic.enable", True, "Whether clients may delete topics.")
MIN_INSYNC_REPLICAS = TOPICS.integer(
    "min.insync.replicas",
    1,
    "With acks=all, a produce is refused when fewer replicas than this are in sync. A partition has one "
    "replica: with more than 1 every such produce is refused.",
    low=1,
    dynamic=True,
    default_for=("min.insync.replicas",),
)
UNCLEAN_LEADER_ELECTION_ENABLE = TOPICS.boolean(
    "unclean.leader.election.enable",
    False,
    "Accepted for Apache Kafka's sake: a partition has one replica, so that there is no other to elect.",
    dynamic=True,
    default_for=("unclean.leader.election.enable",),
)

LOG = Section("Log", "Segments, limits of what is appended, and when it is forced to the disk.")

LOG_DIRS = LOG.names(
    "log.dirs",
    ("./data",),
    "Directories for the partitions' logs, with commas between. A relative one starts where the broker is "
    "started. Kafka's default is /tmp/kafka-logs.",
    empty=False,
    aliases=("log.dir",),
)
LOG_SEGMENT_BYTES = LOG.integer(
    "log.segment.bytes",
    1 << 30,
    "A segment file that would grow beyond this is closed and a new one begun.",
    low=14,
    unit="bytes",
    dynamic=True,
    default_for=("segment.bytes",),
    aliases=("log.file.size",),
)
LOG_ROLL_MS = LOG.optional_long(
    "log.roll.ms",
    "A segment older than this is closed and a new one begun, even if it is not full.",
    low=1,
    unit="ms",
    dynamic=True,
    default_for=("segment.ms",),
)
LOG_ROLL_HOURS = LOG.integer(
    "log.roll.hours",
    168,
    "As log.roll.ms, which goes before it.",
    low=1,
    unit="hours",
    default_for=("segment.ms",),
    scale=_HOUR_MS,
)
LOG_INDEX_INTERVAL_BYTES = LOG.integer(
    "log.index.interval.bytes",
    4096,
    "About how many bytes of records lie between two entries of a segment's index.",
    low=0,
    unit="bytes",
    dynamic=True,
    default_for=("index.interval.bytes",),
)
LOG_INDEX_SIZE_MAX_BYTES = LOG.integer(
    "log.index.size.max.bytes",
    10 << 20,
    "The largest index file; when it is full, a new segment is begun.",
    low=12,
    unit="bytes",
    dynamic=True,
    default_for=("segment.index.bytes",),
)
MESSAGE_MAX_BYTES = LOG.integer(
    "message.max.bytes",
    1_048_588,
    "The largest record batch that is accepted, compressed as it came.",
    low=0,
    unit="bytes",
    dynamic=True,
    default_for=("max.message.bytes",),
    aliases=("max.message.size",),
)
RECORDS_VALIDATION = LOG.string(
    "kafkatx.records.validation",
    "bounded",
    "What is checked of a produced batch beside its header: headers (nothing), bounded (compressed ones are "
    "inflated, and every field of 1,000 records, then of 100 a second, in each partition), or full (every "
    "field of every record, as in Apache Kafka). See the page on durability.",
    choices=("headers", "bounded", "full"),
    dynamic=True,
    default_for=("kafkatx.records.validation",),
)
RECORDS_MAX_INFLATED_BYTES = LOG.integer(
    "kafkatx.records.max.inflated.bytes",
    16 << 20,
    "The largest that the records of one batch may be when inflated, at least the largest batch; what the "
    "broker inflates, for checks, old clients, compaction or searches by time, is bounded by it.",
    low=1,
    unit="bytes",
    dynamic=True,
    default_for=("kafkatx.records.max.inflated.bytes",),
)
COMPRESSION_TYPE = LOG.string(
    "compression.type",
    "producer",
    "How batches are stored: producer (as they came), or compressed anew by the broker.",
    choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
    dynamic=True,
    default_for=("compression.type",),
)
LOG_MESSAGE_TIMESTAMP_TYPE = LOG.string(
    "log.message.timestamp.type",
    "CreateTime",
    "Whose clock stamps records: CreateTime (the producer's) or LogAppendTime (the broker's).",
    choices=("CreateTime", "LogAppendTime"),
    dynamic=True,
    default_for=("message.timestamp.type",),
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = LOG.long(
    "log.message.timestamp.before.max.ms",
    LONG_MAX,
    "How much older than the broker's clock a record's timestamp may be (CreateTime only).",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("message.timestamp.before.max.ms",),
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = LOG.long(
    "log.message.timestamp.after.max.ms",
    _HOUR_MS,
    "How much newer than the broker's clock a record's timestamp may be (CreateTime only).",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("message.timestamp.after.max.ms",),
)
LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = LOG.long(
    "log.message.timestamp.difference.max.ms",
    LONG_MAX,
    "Kafka's old name for both of the above, which go before it.",
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
    "A log is forced to the disk when it has so many new records; the produce that brings the last of them "
    "is answered after that.",
    low=1,
    dynamic=True,
    default_for=("flush.messages",),
    aliases=("log.flush.interval",),
)
LOG_FLUSH_INTERVAL_MS = LOG.optional_long(
    "log.flush.interval.ms",
    "A record is forced to the disk after so long; not set: when the system writes it.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("flush.ms",),
    aliases=("log.default.flush.interval.ms",),
)
LOG_EXPOSE = LOG.string(
    "log.expose",
    "written",
    "From when on consumers see a record: written, as in Apache Kafka, or flushed: when it was forced to the "
    "disk (by flush.messages, or flush.ms, which is then 1000 where it is not set).",
    choices=("written", "flushed"),
    dynamic=True,
    default_for=("kafkatx.expose",),
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = LOG.integer(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    "How often it is written down up to where each log is on the disk; recovery starts from there.",
    low=1,
    unit="ms",
)
PRODUCER_ID_EXPIRATION_MS = LOG.integer(
    "producer.id.expiration.ms",
    86_400_000,
    "An idempotent producer that sent nothing for so long is forgotten.",
    low=1,
    unit="ms",
    dynamic=True,
)
PRODUCER_IDS_MAX = LOG.integer(
    "kafkatx.producer.ids.max",
    100_000,
    "The most idempotent producers that a partition remembers; beyond it those are forgotten that have not "
    "sent for the longest time.",
    low=1,
    dynamic=True,
)

RETENTION = Section("Retention", "When old segments go.")

LOG_RETENTION_MS = RETENTION.optional_long(
    "log.retention.ms",
    "Segments whose newest record is older than this go; -1: no limit of age.",
    low=-1,
    unit="ms",
    dynamic=True,
    default_for=("retention.ms",),
)
LOG_RETENTION_MINUTES = RETENTION.optional_integer(
    "log.retention.minutes",
    "As log.retention.ms, which goes before it.",
    low=-1,
    unit="minutes",
    default_for=("retention.ms",),
    scale=60_000,
)
LOG_RETENTION_HOURS = RETENTION.integer(
    "log.retention.hours",
    168,
    "As log.retention.minutes, which goes before it.",
    low=-1,
    unit="hours",
    default_for=("retention.ms",),
    scale=_HOUR_MS,
)
LOG_RETENTION_BYTES = RETENTION.long(
    "log.retention.bytes",
    -1,
    "The oldest segments of a partition go while it is larger than this; -1: no limit of size.",
    low=-1,
    unit="bytes",
    dynamic=True,
    default_for=("retention.bytes",),
    aliases=("log.retention.size",),
)
LOG_RETENTION_CHECK_INTERVAL_MS = RETENTION.long(
    "log.retention.check.interval.ms", 300_000, "How often old segments are looked for.", low=1, unit="ms"
)
LOG_CLEANUP_POLICY = RETENTION.names(
    "log.cleanup.policy",
    ("delete",),
    "delete: old segments go; compact: the last record of each key is kept; or both. Empty: everything is "
    "kept until DeleteRecords removes it.",
    choices=("delete", "compact"),
    dynamic=True,
    default_for=("cleanup.policy",),
)
LOG_SEGMENT_DELETE_DELAY_MS = RETENTION.long(
    "log.segment.delete.delay.ms",
    60_000,
    "How long a segment's file stays on the disk after it was taken out of the log.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("file.delete.delay.ms",),
)

COMPACTION = Section("Compaction", "When and how logs are compacted: the last record of each key is kept.")

LOG_CLEANER_ENABLE = COMPACTION.boolean(
    "log.cleaner.enable", True, "Whether topics with cleanup.policy=compact are compacted at all."
)
LOG_CLEANER_THREADS = COMPACTION.integer(
    "log.cleaner.threads",
    1,
    "Taken for Kafka's sake: one process compacts one log after the other, beside the broker's own.",
    low=0,
    dynamic=True,
)
LOG_CLEANER_BACKOFF_MS = COMPACTION.long(
    "log.cleaner.backoff.ms",
    15_000,
    "How long to wait when there was nothing to compact before looking again.",
    low=0,
    unit="ms",
    dynamic=True,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = COMPACTION.long(
    "log.cleaner.dedupe.buffer.size",
    128 << 20,
    "Memory for the last offset of each key while a log is compacted: 192 bytes a key, where Kafka takes 24. "
    "A log with more keys is compacted in several passes.",
    low=1,
    unit="bytes",
    dynamic=True,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = COMPACTION.double(
    "log.cleaner.io.buffer.load.factor",
    0.9,
    "Which part of that memory is used before a pass ends.",
    low=0.0,
    high=1.0,
    dynamic=True,
)
LOG_CLEANER_MIN_CLEANABLE_RATIO = COMPACTION.double(
    "log.cleaner.min.cleanable.ratio",
    0.5,
    "A log is compacted when more than this part of its bytes was not compacted before.",
    low=0.0,
    high=1.0,
    dynamic=True,
    default_for=("min.cleanable.dirty.ratio",),
)
LOG_CLEANER_DELETE_RETENTION_MS = COMPACTION.long(
    "log.cleaner.delete.retention.ms",
    86_400_000,
    "How long a tombstone (a key without a value) stays after it was first compacted.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("delete.retention.ms",),
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS = COMPACTION.long(
    "log.cleaner.min.compaction.lag.ms",
    0,
    "A record younger than this is not compacted away.",
    low=0,
    unit="ms",
    dynamic=True,
    default_for=("min.compaction.lag.ms",),
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS = COMPACTION.long(
    "log.cleaner.max.compaction.lag.ms",
    LONG_MAX,
    "A record older than this is compacted whatever the ratio.",
    low=1,
    unit="ms",
    dynamic=True,
    default_for=("max.compaction.lag.ms",),
)

SECTIONS = (
    IDENTITY,
    NETWORK,
    *limits.SECTIONS,
    TOPICS,
    LOG,
    RETENTION,
    COMPACTION,
    *groups.SECTIONS,
    *quotas.SECTIONS,
)
"""The whole table."""

SETTINGS = by_name(SECTIONS)
"""The whole table by name, in its order."""
