"""The settings that every client has (Kafka's ``CommonClientConfigs``)."""

from __future__ import annotations

from kafkatx.config.table.row import Section

BROKERS = Section("Brokers", "Where the cluster is, and what this client is called there.")

BOOTSTRAP_SERVERS = BROKERS.names(
    "bootstrap.servers",
    (),
    "Brokers to ask first, as HOST:PORT (an IPv6 address in brackets); the port may be left out: 9092. The "
    "others are learned from them.",
    empty=False,
)
CLIENT_ID = BROKERS.string(
    "client.id", "kafkatx", "What brokers call this client in their logs; quotas may go by it."
)
CLIENT_RACK = BROKERS.string(
    "client.rack", "", "Failure domain of this client. Apache Kafka may have it read from a replica there."
)
SECURITY_PROTOCOL = BROKERS.string(
    "security.protocol", "PLAINTEXT", "How brokers are spoken to.", choices=("PLAINTEXT",)
)
ENDPOINT = BROKERS.plugin(
    "kafkatx.endpoint",
    "",
    "How to connect: a callable that makes a Twisted client endpoint of (reactor, host, port), over TLS or a "
    "proxy, say. Empty: TCP.",
)

CONNECTIONS = Section("Connections", "One per broker and purpose, opened when it is needed.")

CONNECTION_SETUP_TIMEOUT_MS = CONNECTIONS.long(
    "socket.connection.setup.timeout.ms", 10_000, "How long connecting may take.", low=1, unit="ms"
)
CONNECTIONS_MAX_IDLE_MS = CONNECTIONS.long(
    "connections.max.idle.ms",
    540_000,
    "A connection that was not used for so long is closed; -1: never.",
    low=-1,
    unit="ms",
)
RECONNECT_BACKOFF_MS = CONNECTIONS.long(
    "reconnect.backoff.ms",
    50,
    "The pause before a broker that could not be reached is tried again; it doubles with each failure.",
    low=0,
    unit="ms",
)
RECONNECT_BACKOFF_MAX_MS = CONNECTIONS.long(
    "reconnect.backoff.max.ms", 1000, "The longest such pause.", low=0, unit="ms"
)
REQUEST_TIMEOUT_MS = CONNECTIONS.integer(
    "request.timeout.ms",
    30_000,
    "How long a reply may take; then the connection is closed, and the request sent again where that helps.",
    low=1,
    unit="ms",
)
SEND_BUFFER_BYTES = CONNECTIONS.integer(
    "send.buffer.bytes",
    -1,
    "SO_SNDBUF; -1: the system's, which grows as needed. (131072 in Apache Kafka.)",
    low=-1,
    unit="bytes",
)
RECEIVE_BUFFER_BYTES = CONNECTIONS.integer(
    "receive.buffer.bytes",
    -1,
    "SO_RCVBUF; -1: the system's, which grows as needed. (65536 in Apache Kafka.)",
    low=-1,
    unit="bytes",
)
RESPONSE_MAX_BYTES = CONNECTIONS.integer(
    "kafkatx.response.max.bytes",
    256 << 20,
    "The largest reply that is taken. It must be larger than `fetch.max.bytes`, and than the largest batch.",
    low=1 << 16,
    unit="bytes",
)

RETRIES = Section("Retries and metadata", "What is tried again, and what is asked again.")

RETRY_BACKOFF_MS = RETRIES.long(
    "retry.backoff.ms",
    100,
    "The pause before a failed request is sent again; it doubles with each failure.",
    low=0,
    unit="ms",
)
RETRY_BACKOFF_MAX_MS = RETRIES.long("retry.backoff.max.ms", 1000, "The longest such pause.", low=0, unit="ms")
METADATA_MAX_AGE_MS = RETRIES.long(
    "metadata.max.age.ms",
    300_000,
    "Brokers, topics and leaders are asked for again after so long, even if nothing failed.",
    low=1,
    unit="ms",
)
METADATA_MAX_IDLE_MS = RETRIES.long(
    "metadata.max.idle.ms",
    300_000,
    "A topic that was not used for so long is asked for no more.",
    low=5000,
    unit="ms",
)
DEFAULT_API_TIMEOUT_MS = RETRIES.integer(
    "default.api.timeout.ms",
    60_000,
    "How long a call is tried again before it fails (a producer has `max.block.ms` for it).",
    low=0,
    unit="ms",
)

SECTIONS = (BROKERS, CONNECTIONS, RETRIES)

KEPT = Section("Taken and not used", "Settings of the Java client that mean nothing here, or are always so.")
KEPT.string("client.dns.lookup", "use_all_dns_ips", "Every address of a name is always tried.")
KEPT.string("metadata.recovery.strategy", "rebootstrap", "The bootstrap servers are always asked again.")
KEPT.long("metadata.recovery.rebootstrap.trigger.ms", 300_000, "As soon as no other broker answers.", low=0)
KEPT.long("socket.connection.setup.timeout.max.ms", 30_000, "The time to connect does not grow.", low=1)
KEPT.boolean("enable.metrics.push", True, "No metrics are pushed to brokers.")
KEPT.names("metric.reporters", (), "JMX is Java's.")
KEPT.integer("metrics.num.samples", 2, "JMX is Java's.", low=1)
KEPT.string("metrics.recording.level", "INFO", "JMX is Java's.")
KEPT.long("metrics.sample.window.ms", 30_000, "JMX is Java's.", low=0)
