"""The settings that every client has (Kafka's ``CommonClientConfigs``)."""

from __future__ import annotations

from kafkatx.config.table.row import Section
from kafkatx.config.table.security import sasl, tls

BROKERS = Section("Brokers", "The cluster's addresses, and the name of this client.")

BOOTSTRAP_SERVERS = BROKERS.names(
    "bootstrap.servers",
    (),
    "Brokers for the first connection, as HOST:PORT (an IPv6 address in brackets); the default port is 9092. "
    "They tell the addresses of the others.",
    empty=False,
)
BROKER_LIST = BROKERS.names(
    "broker.list",
    (),
    "Of Kafka 0.7 and 0.8, in place of `bootstrap.servers`: HOST:PORT, or ID:HOST:PORT, of which the id is "
    "ignored. Not used if `zookeeper.connect` is set.",
    empty=False,
    aliases=("metadata.broker.list",),
)
CLIENT_ID = BROKERS.string(
    "client.id", "kafkatx", "Name of this client in the brokers' logs; quotas may be set for it."
)
CLIENT_RACK = BROKERS.string(
    "client.rack", "", "Failure domain of this client. Leaders may let consumers read from a replica there."
)
SECURITY_PROTOCOL = BROKERS.string(
    "security.protocol",
    "PLAINTEXT",
    "Security protocol of connections to brokers: PLAINTEXT, SSL for TLS, SASL_SSL for TLS and a login, "
    "SASL_PLAINTEXT for a login alone.",
    choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
)
ENDPOINT = BROKERS.plugin(
    "kafkatx.endpoint",
    "",
    "A callable that makes a Twisted client endpoint of (reactor, host, port), for example over TLS or a "
    "proxy. Empty: TCP.",
)

CONNECTIONS = Section("Connections", "One per broker and purpose, opened for the first request.")

CONNECTION_SETUP_TIMEOUT_MS = CONNECTIONS.long(
    "socket.connection.setup.timeout.ms", 10_000, "Time-out of connecting.", low=1, unit="ms"
)
CONNECTIONS_MAX_IDLE_MS = CONNECTIONS.long(
    "connections.max.idle.ms",
    540_000,
    "Time without requests after which a connection is closed; -1: never.",
    low=-1,
    unit="ms",
)
RECONNECT_BACKOFF_MS = CONNECTIONS.long(
    "reconnect.backoff.ms",
    50,
    "Pause before connecting again to a broker that could not be reached; it doubles with each failure.",
    low=0,
    unit="ms",
)
RECONNECT_BACKOFF_MAX_MS = CONNECTIONS.long(
    "reconnect.backoff.max.ms", 1000, "Longest such pause.", low=0, unit="ms"
)
REQUEST_TIMEOUT_MS = CONNECTIONS.integer(
    "request.timeout.ms",
    30_000,
    "Time-out of a reply; after it the connection is closed, and the request is sent again if that may help.",
    low=1,
    unit="ms",
)
SEND_BUFFER_BYTES = CONNECTIONS.integer(
    "send.buffer.bytes",
    -1,
    "Size of SO_SNDBUF; -1: the system's default, which grows as needed. (131072 in Apache Kafka.)",
    low=-1,
    unit="bytes",
)
RECEIVE_BUFFER_BYTES = CONNECTIONS.integer(
    "receive.buffer.bytes",
    -1,
    "Size of SO_RCVBUF; -1: the system's default, which grows as needed. (65536 in Apache Kafka.)",
    low=-1,
    unit="bytes",
)
RESPONSE_MAX_BYTES = CONNECTIONS.integer(
    "kafkatx.response.max.bytes",
    256 << 20,
    "Largest reply that is accepted. It must be larger than `fetch.max.bytes` and than the largest batch.",
    low=1 << 16,
    unit="bytes",
)

RETRIES = Section("Retries and metadata", "Retries of requests, and the refresh of metadata.")

RETRY_BACKOFF_MS = RETRIES.long(
    "retry.backoff.ms",
    100,
    "Pause before a failed request is sent again; it doubles with each failure.",
    low=0,
    unit="ms",
)
RETRY_BACKOFF_MAX_MS = RETRIES.long("retry.backoff.max.ms", 1000, "Longest such pause.", low=0, unit="ms")
METADATA_MAX_AGE_MS = RETRIES.long(
    "metadata.max.age.ms",
    300_000,
    "Time after which metadata (brokers, topics, leaders) is refreshed even if nothing failed.",
    low=1,
    unit="ms",
)
METADATA_MAX_IDLE_MS = RETRIES.long(
    "metadata.max.idle.ms",
    300_000,
    "Time without use after which a topic is left out of the metadata refresh.",
    low=5000,
    unit="ms",
)
DEFAULT_API_TIMEOUT_MS = RETRIES.integer(
    "default.api.timeout.ms",
    60_000,
    "Time for which a call is retried before it fails (in a producer: `max.block.ms`).",
    low=0,
    unit="ms",
)

SECTIONS = (BROKERS, tls.SHARED, sasl.CLIENT, CONNECTIONS, RETRIES)

KEPT = Section(
    "Accepted and ignored", "Settings of the Java client that have no meaning, or a fixed value, here."
)
KEPT.string("client.dns.lookup", "use_all_dns_ips", "All addresses of a name are always tried.")
KEPT.string("metadata.recovery.strategy", "rebootstrap", "The bootstrap servers are always tried again.")
KEPT.long(
    "metadata.recovery.rebootstrap.trigger.ms",
    300_000,
    "The bootstrap servers are tried as soon as no other broker answers.",
    low=0,
)
KEPT.long("socket.connection.setup.timeout.max.ms", 30_000, "The time-out of connecting is constant.", low=1)
KEPT.boolean("enable.metrics.push", True, "No metrics are pushed to brokers.")
KEPT.names("metric.reporters", (), "There is no JMX.")
KEPT.integer("metrics.num.samples", 2, "There is no JMX.", low=1)
KEPT.string("metrics.recording.level", "INFO", "There is no JMX.")
KEPT.long("metrics.sample.window.ms", 30_000, "There is no JMX.", low=0)
KEPT.string("sasl.login.callback.handler.class", "", "Tokens come from the settings of OAUTHBEARER.")
KEPT.string("sasl.client.callback.handler.class", "", "User name and password come from the settings.")
KEPT.string("sasl.login.class", "", "There is one.")
KEPT.double(
    "sasl.login.refresh.window.factor", 0.8, "Tokens are renewed at 0.8 of their time.", low=0.5, high=1
)
KEPT.double("sasl.login.refresh.window.jitter", 0.05, "There is none.", low=0, high=0.25)
KEPT.integer("sasl.login.refresh.min.period.seconds", 60, "A token is fetched for a login only.", low=0)
KEPT.integer("sasl.login.refresh.buffer.seconds", 300, "A token is fetched for a login only.", low=0)
KEPT.long("sasl.login.retry.backoff.ms", 100, "A login is retried as any connection is.", low=0)
KEPT.long("sasl.login.retry.backoff.max.ms", 10_000, "A login is retried as any connection is.", low=0)
