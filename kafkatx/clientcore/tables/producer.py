"""The settings of a producer (Kafka's ``ProducerConfig``), and some of Kafka 0.7's."""

from __future__ import annotations

from kafkatx.config.table.row import INT_MAX, Section

DELIVERY = Section("Delivery", "When a record counts as sent, and how long that is tried.")

ACKS = DELIVERY.string(
    "acks",
    "all",
    "Who must have a batch before it counts as sent: all (or -1) in-sync replicas, 1 the leader, 0 nobody.",
    choices=("all", "-1", "0", "1"),
)
ENABLE_IDEMPOTENCE = DELIVERY.boolean(
    "enable.idempotence",
    True,
    "Brokers drop what a retry would double, and keep the order. It needs acks=all and at most 5 requests in "
    "flight; where these are set otherwise it is off, unless it is set, too.",
)
DELIVERY_TIMEOUT_MS = DELIVERY.integer(
    "delivery.timeout.ms",
    120_000,
    "How long after `send` a record may be on its way before it fails. At least `linger.ms` and "
    "`request.timeout.ms` together.",
    low=0,
    unit="ms",
)
RETRIES = DELIVERY.integer(
    "retries", INT_MAX, "How often a batch is sent again, within `delivery.timeout.ms`.", low=0
)
MAX_IN_FLIGHT = DELIVERY.integer(
    "max.in.flight.requests.per.connection",
    5,
    "How many produce requests a broker may have to answer at once.",
    low=1,
)
MAX_BLOCK_MS = DELIVERY.long(
    "max.block.ms",
    60_000,
    "How long `send` waits for the topic's partitions, or for room, before it fails. 0: where there is no "
    "room it fails at once, and the partitions are waited for as long as `default.api.timeout.ms` says.",
    low=0,
    unit="ms",
)

BATCHES = Section("Batches", "What is sent together.")

PRODUCER_TYPE = BATCHES.string(
    "producer.type",
    "async",
    "Kafka 0.7's: with sync the records of each call are batches of their own, sent at once, whatever "
    "`linger.ms` says.",
    choices=("async", "sync"),
)
LINGER_MS = BATCHES.long(
    "linger.ms",
    5,
    "How long a batch that is not full waits for more records. (0 before Kafka 4.0; Kafka 0.7 called it "
    "`queue.time`.)",
    low=0,
    unit="ms",
    aliases=("queue.time",),
)
BATCH_SIZE = BATCHES.integer(
    "batch.size",
    131_072,
    "The largest batch before compression, unless a single record or a list that is sent at once is larger. "
    "A full batch does not linger. (16384 in Apache Kafka, whose client reserves so much for each partition; "
    "here it is only a bound.)",
    low=0,
    unit="bytes",
)
MAX_REQUEST_SIZE = BATCHES.integer(
    "max.request.size", 1_048_576, "The largest request, and so the largest record.", low=0, unit="bytes"
)
BUFFER_MEMORY = BATCHES.long(
    "buffer.memory",
    33_554_432,
    "How much may wait to be sent or answered; what comes then waits for room.",
    low=0,
    unit="bytes",
)
COMPRESSION_TYPE = BATCHES.string(
    "compression.type",
    "none",
    "How batches are compressed.",
    choices=("none", "gzip", "snappy", "lz4", "zstd"),
)

PARTS = Section(
    "Parts of a producer",
    "The name of one that is installed (see [Plugins](plugins.md)), or an object with the interface.",
)

KEY_SERIALIZER = PARTS.plugin(
    "key.serializer", "bytes", "What makes bytes of a key: `IEncoder`.", aliases=("key.encoder",)
)
VALUE_SERIALIZER = PARTS.plugin(
    "value.serializer",
    "bytes",
    "What makes bytes of a value: `IEncoder`.",
    aliases=("value.encoder", "serializer.class"),
)
PARTITIONER_CLASS = PARTS.plugin(
    "partitioner.class", "default", "What chooses a record's partition: `IPartitioner`."
)
PARTITIONER_IGNORE_KEYS = PARTS.boolean("partitioner.ignore.keys", False, "Choose as if records had no key.")
CALLBACK_HANDLER = PARTS.plugin(
    "callback.handler", "", "What is told of a record on its way (`IProducerCallbacks`, Kafka 0.7's)."
)
EVENT_HANDLER = PARTS.plugin(
    "event.handler", "", "What is given each batch in place of the broker (`IEventHandler`, Kafka 0.7's)."
)

AUDIT = Section(
    "Audit",
    "Counts of what was sent, to check that all has arrived (see [Audit](audit.md)). Not in Apache Kafka.",
)

AUDIT_INTERVAL_MS = AUDIT.long(
    "audit.interval.ms",
    0,
    "How often the producer announces how many records it got into each topic, and how long the windows are "
    "that it counts them by. 0: never.",
    low=0,
    high=86_400_000,
    unit="ms",
)
AUDIT_TOPIC = AUDIT.string("audit.topic", "kafkatx-audit", "The topic that it is announced in.")
AUDIT_SERVER = AUDIT.string(
    "audit.server", "", "The name of this server in announcements and records. Empty: the host's name."
)
AUDIT_SERVER_HEADER = AUDIT.string(
    "audit.server.header",
    "",
    "The name of a header that each record gets, with the name of this server, unless it has one of this "
    "name. Empty: none.",
)

SECTIONS = (DELIVERY, BATCHES, PARTS, AUDIT)

KEPT = Section("", "")
KEPT.boolean("partitioner.adaptive.partitioning.enable", True, "Slow brokers get as much as others.")
KEPT.long("partitioner.availability.timeout.ms", 0, "As before.", low=0)
KEPT.integer("compression.gzip.level", -1, "The library's own level is used.", low=-1, high=9)
KEPT.integer("compression.lz4.level", 9, "The library's own level is used.", low=1, high=17)
KEPT.integer("compression.zstd.level", 3, "The library's own level is used.", low=-131_072, high=22)
KEPT.integer("transaction.timeout.ms", 60_000, "There are no transactions.", low=1)

DEFAULTS: dict[str, object] = {}
"""Common settings that have another default in a producer."""
