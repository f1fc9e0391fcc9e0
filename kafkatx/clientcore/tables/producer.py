"""The settings of a producer (Kafka's ``ProducerConfig``), and some of Kafka 0.7's."""

from __future__ import annotations

from kafkatx.clientcore.tables import registry
from kafkatx.clientcore.tables.java_classes import PARTITIONERS, SERIALIZERS
from kafkatx.config.table.row import INT_MAX, Section

DELIVERY = Section("Delivery", "Acknowledgements, retries and time-outs of records.")

ACKS = DELIVERY.string(
    "acks",
    "all",
    "Acknowledgements to wait for: all (or -1): of all in-sync replicas, 1: of the leader, 0: none.",
    choices=("all", "-1", "0", "1"),
)
ENABLE_IDEMPOTENCE = DELIVERY.boolean(
    "enable.idempotence",
    True,
    "Brokers drop duplicates of retried batches, and keep the order. It needs acks=all and at most 5 "
    "requests in flight; if these are set otherwise it is off, unless it is set itself.",
)
DELIVERY_TIMEOUT_MS = DELIVERY.integer(
    "delivery.timeout.ms",
    120_000,
    "Time after `send` at which a record fails if it is not acknowledged. At least `linger.ms` and "
    "`request.timeout.ms` together.",
    low=0,
    unit="ms",
)
RETRIES = DELIVERY.integer(
    "retries", INT_MAX, "Largest number of retries of a batch, within `delivery.timeout.ms`.", low=0
)
MAX_IN_FLIGHT = DELIVERY.integer(
    "max.in.flight.requests.per.connection",
    5,
    "Largest number of unanswered produce requests per broker.",
    low=1,
)
MAX_BLOCK_MS = DELIVERY.long(
    "max.block.ms",
    60_000,
    "Time for which `send` waits for the topic's metadata and for free `buffer.memory`. 0: without free "
    "memory it fails at once, and metadata is waited for during `default.api.timeout.ms`.",
    low=0,
    unit="ms",
)

BATCHES = Section("Batches", "The size of batches and requests, and the memory for them.")

PRODUCER_TYPE = BATCHES.string(
    "producer.type",
    "async",
    "Of Kafka 0.7. sync: the records of each call are batches of their own, which are sent at once, whatever "
    "`linger.ms` is.",
    choices=("async", "sync"),
)
LINGER_MS = BATCHES.long(
    "linger.ms",
    5,
    "Time for which a batch that is not full waits for more records. (0 before Kafka 4.0; `queue.time` in "
    "Kafka 0.7.)",
    low=0,
    unit="ms",
    aliases=("queue.time",),
)
BATCH_SIZE = BATCHES.integer(
    "batch.size",
    131_072,
    "Largest batch before compression, unless a single record or a list that is sent at once is larger. A "
    "full batch does not linger. (16384 in Apache Kafka, whose client allocates this for each partition; "
    "here it is only a limit.)",
    low=0,
    unit="bytes",
)
MAX_REQUEST_SIZE = BATCHES.integer(
    "max.request.size", 1_048_576, "Largest request, and so the largest record.", low=0, unit="bytes"
)
BUFFER_MEMORY = BATCHES.long(
    "buffer.memory",
    33_554_432,
    "Memory for records that are not acknowledged yet; while it is used up `send` waits.",
    low=0,
    unit="bytes",
)
COMPRESSION_TYPE = BATCHES.string(
    "compression.type",
    "none",
    "Compression codec of batches. (Kafka 0.7's numbers 0, 1 and 2 are none, gzip and snappy.)",
    choices=("none", "gzip", "snappy", "lz4", "zstd"),
    synonyms={"0": "none", "1": "gzip", "2": "snappy"},
    aliases=("compression.codec",),
)

PARTS = Section(
    "Parts of a producer",
    "The name of an installed plugin (see [Plugins](plugins.md)), or an object with the interface.",
)

KEY_SERIALIZER = PARTS.plugin(
    "key.serializer",
    "bytes",
    "Encoder of keys: `IEncoder`, or the Java class that does the same as one.",
    synonyms=SERIALIZERS,
    aliases=("key.encoder",),
)
VALUE_SERIALIZER = PARTS.plugin(
    "value.serializer",
    "bytes",
    "Encoder of values: likewise.",
    synonyms=SERIALIZERS,
    aliases=("value.encoder", "serializer.class"),
)
PARTITIONER_CLASS = PARTS.plugin(
    "partitioner.class",
    "default",
    "Partitioner of records: `IPartitioner`, or the Java class that does the same as one.",
    synonyms=PARTITIONERS,
)
PARTITIONER_IGNORE_KEYS = PARTS.boolean("partitioner.ignore.keys", False, "Hide keys from the partitioner.")
CALLBACK_HANDLER = PARTS.plugin(
    "callback.handler", "", "Callbacks for each record and batch (`IProducerCallbacks`, of Kafka 0.7)."
)
EVENT_HANDLER = PARTS.plugin(
    "event.handler", "", "Handler of requests in place of the broker (`IEventHandler`, of Kafka 0.7)."
)

AUDIT = Section(
    "Audit",
    "Counts of sent records, to check that all have arrived (see [Audit](audit.md)). Not in Apache Kafka.",
)

AUDIT_INTERVAL_MS = AUDIT.long(
    "audit.interval.ms",
    0,
    "Interval at which the producer announces the number of acknowledged records of each topic, and the "
    "length of the windows of these counts. 0: never.",
    low=0,
    high=86_400_000,
    unit="ms",
)
AUDIT_TOPIC = AUDIT.string("audit.topic", "kafkatx-audit", "Topic of the announcements.")
AUDIT_SERVER = AUDIT.string(
    "audit.server", "", "Name of this server in announcements and records. Empty: the host's name."
)
AUDIT_SERVER_HEADER = AUDIT.string(
    "audit.server.header",
    "",
    "Name of a header with the server's name, which is added to each record that has none of this name. "
    "Empty: no header.",
)

TRANSACTIONS = Section(
    "Transactions",
    "Records and offsets that count together or not at all (see [Producer](client/producer.md)).",
)

TRANSACTIONAL_ID = TRANSACTIONS.string(
    "transactional.id",
    "",
    "Name of this producer's transactions, which it keeps over restarts: a new producer with this name ends "
    "the open transaction of the one before, and fences it. It needs idempotence. Empty: no transactions.",
)
TRANSACTION_TIMEOUT_MS = TRANSACTIONS.integer(
    "transaction.timeout.ms",
    60_000,
    "Time from the first record of a transaction after which the coordinator aborts it. At most the broker's "
    "`transaction.max.timeout.ms`.",
    low=1,
    unit="ms",
)

SECTIONS = (DELIVERY, BATCHES, PARTS, TRANSACTIONS, AUDIT, registry.REGISTRY, registry.TLS, registry.ENCODING)

KEPT = Section("", "")
KEPT.boolean("partitioner.adaptive.partitioning.enable", True, "Slow brokers get as many records as others.")
KEPT.long("partitioner.availability.timeout.ms", 0, "Slow brokers get as many records as others.", low=0)
KEPT.integer(
    "queue.size", 10_000, "Of Kafka 0.7: `buffer.memory` limits unsent records, by their bytes.", low=1
)
KEPT.integer("compression.gzip.level", -1, "The library's own level is used.", low=-1, high=9)
KEPT.integer("compression.lz4.level", 9, "The library's own level is used.", low=1, high=17)
KEPT.integer("compression.zstd.level", 3, "The library's own level is used.", low=-131_072, high=22)

DEFAULTS: dict[str, object] = {}
"""Common settings with another default in a producer."""
