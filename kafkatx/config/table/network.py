"""The part of the settings table about listeners, connections and requests."""

from __future__ import annotations

import ipaddress

from kafkatx.config.table.row import INT_MAX, ConfigType, Section, Setting

_PROTOCOL_MAP = ("PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL")


def _read_overrides(text: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(",")) if text.strip() else ()
    for item in items:
        override_of(item)
    return items


def override_of(item: str) -> tuple[str, int]:
    """Return address and number of an item of ``max.connections.per.ip.overrides``.

    :raises ValueError: it is not ``ADDRESS:NUMBER``; as Apache Kafka, the last colon counts.
    """
    address, _, number = item.rpartition(":")
    if not number.isascii() or not number.isdecimal() or int(number) > INT_MAX:
        raise ValueError(item)
    return str(ipaddress.ip_address(address.strip().removeprefix("[").removesuffix("]"))), int(number)


NETWORK = Section("Network", "Listeners, and limits on connections and requests.")

LISTENERS = NETWORK.names(
    "listeners",
    ("PLAINTEXT://127.0.0.1:9092",),
    "Addresses to listen on: NAME://host:port, separated by commas. An empty host or 0.0.0.0 is every"
    " interface, port 0 any free port, [::1] an IPv6 address. Kafka's default is every interface. "
    "Controller listeners are ignored.",
    empty=False,
)
ADVERTISED_LISTENERS = NETWORK.names(
    "advertised.listeners",
    (),
    "Addresses that clients connect to, if different from listeners (behind NAT, in a container): "
    "NAME://host:port.",
)
HOST_NAME = NETWORK.optional_string(
    "host.name", "Deprecated host to listen on; used only if listeners is not set."
)
PORT = NETWORK.optional_integer(
    "port",
    "Deprecated port to listen on; used only if listeners is not set.",
    low=0,
    high=65535,
)
ADVERTISED_HOST_NAME = NETWORK.optional_string(
    "advertised.host.name",
    "Deprecated host to advertise; used only if advertised.listeners is not set.",
    aliases=("hostname",),
)
ADVERTISED_PORT = NETWORK.optional_integer(
    "advertised.port",
    "Deprecated port to advertise; used only if advertised.listeners is not set.",
    low=0,
    high=65535,
)
LISTENER_SECURITY_PROTOCOL_MAP = NETWORK.names(
    "listener.security.protocol.map",
    _PROTOCOL_MAP,
    "Security protocol of each listener name: NAME:PROTOCOL, separated by commas.",
)
CONTROLLER_LISTENER_NAMES = NETWORK.names(
    "controller.listener.names",
    (),
    "Names of listeners for KRaft controllers; kafkatx has no controllers and ignores these listeners.",
)
SOCKET_REQUEST_MAX_BYTES = NETWORK.integer(
    "socket.request.max.bytes",
    104_857_600,
    "Largest request; a connection that announces a larger one is closed.",
    low=1,
    unit="bytes",
    aliases=("max.socket.request.bytes",),
)
QUEUED_MAX_REQUEST_BYTES = NETWORK.long(
    "queued.max.request.bytes",
    64 << 20,
    "Bytes of waiting and incomplete requests that all connections may hold in total; an incomplete request "
    "that does not fit in whole waits for its turn, and addresses take turns. A quarter as much is kept for "
    "requests of up to 1 MiB or 1/64 of it. -1, Kafka's default: no limit.",
    low=-1,
    unit="bytes",
)
SOCKET_SEND_BUFFER_BYTES = NETWORK.integer(
    "socket.send.buffer.bytes",
    -1,
    "SO_SNDBUF of a connection; -1: the system's default. Kafka's default is 102400.",
    low=-1,
    unit="bytes",
    aliases=("socket.send.buffer",),
)
SOCKET_RECEIVE_BUFFER_BYTES = NETWORK.integer(
    "socket.receive.buffer.bytes",
    -1,
    "SO_RCVBUF of a connection; -1: the system's default. Kafka's default is 102400.",
    low=-1,
    unit="bytes",
    aliases=("socket.receive.buffer",),
)
CONNECTIONS_MAX_IDLE_MS = NETWORK.long(
    "connections.max.idle.ms",
    600_000,
    "Time without a request after which a connection is closed; -1: never.",
    low=-1,
    unit="ms",
)
MAX_CONNECTIONS_PER_IP = NETWORK.integer(
    "max.connections.per.ip",
    INT_MAX,
    "Connections allowed from one address; further ones are closed at once.",
    low=0,
    dynamic=True,
)
MAX_CONNECTIONS_PER_IP_OVERRIDES: Setting[tuple[str, ...]] = NETWORK.parsed(
    "max.connections.per.ip.overrides",
    ConfigType.STRING,
    (),
    "Numbers for single addresses in place of max.connections.per.ip: 192.0.2.1:100,[2001:db8::1]:20.",
    _read_overrides,
    "a list of ADDRESS:NUMBER separated by commas; host names are not looked up",
    dynamic=True,
)
MAX_CONNECTIONS = NETWORK.integer(
    "max.connections",
    INT_MAX,
    "Connections that the broker accepts; further ones are closed at once. With the prefix "
    "listener.name.NAME.: those of one listener. Where other brokers have a listener of their own, it always "
    "has room: a client's connection is closed for it.",
    low=0,
    dynamic=True,
)
MAX_CONNECTION_CREATION_RATE = NETWORK.integer(
    "max.connection.creation.rate",
    INT_MAX,
    "New connections in a second that the broker accepts; others wait. With the prefix listener.name.NAME.: "
    "those of one listener. A listener of other brokers alone has no limit but its own.",
    low=1,
    dynamic=True,
)
FETCH_MAX_BYTES = NETWORK.integer(
    "fetch.max.bytes",
    57_671_680,
    "Maximum bytes of records in a fetch response; the first batch is returned whole even if it is larger.",
    low=1024,
    unit="bytes",
)

HTTP = Section(
    "HTTP",
    "The HTTP listener of this broker: schema registry and health checks. Apache Kafka has none.",
)

HTTP_LISTENERS = HTTP.names(
    "http.listeners",
    (),
    "Addresses to listen on for HTTP: HTTP://host:port, or HTTPS://host:port for TLS with ssl.* or "
    "listener.name.https.ssl.*. Empty: no listener. kafkatx up without this setting listens on 127.0.0.1, "
    "port 8081 or, if that is in use, any free port.",
)
HTTP_PORT_FALLBACK = HTTP.boolean(
    "kafkatx.http.port.fallback",
    False,
    "Listen on any free port where a port of http.listeners is in use. kafkatx up does so if no setting "
    "names a listener.",
)
HTTP_ADVERTISED_LISTENER = HTTP.optional_string(
    "http.advertised.listener",
    "Address by which the other brokers of a cluster reach the HTTP listener, if different from the first of "
    "http.listeners: HTTP://host:port or HTTPS://host:port.",
)
HTTP_AUTHENTICATION = HTTP.names(
    "kafkatx.http.authentication",
    ("none",),
    "Logins of clients: none; or basic: a user name and a password, which are checked as those of the SASL "
    "mechanism PLAIN (listener.name.https.plain.sasl.jaas.config, kafkatx.plain.checkers); bearer: a token, "
    "checked as those of OAUTHBEARER (sasl.oauthbearer.jwks.endpoint.url and others); or both. A client "
    "certificate is a login, too. Paths below /health need none.",
    choices=("none", "basic", "bearer"),
    empty=False,
)
HTTP_ALLOWED_HOSTS = HTTP.names(
    "kafkatx.http.allowed.hosts",
    (),
    "Host names that a request may be for, and that pages may have which make requests, besides addresses, "
    "localhost and, unless the listener is on a loopback address, the names that this broker advertises; *: "
    "any name. Empty: only these, and any name at a listener with TLS or logins.",
)
HTTP_REQUEST_MAX_BYTES = HTTP.integer(
    "kafkatx.http.request.max.bytes",
    4 << 20,
    "Maximum size of the body of a request.",
    low=1024,
    unit="bytes",
)
HTTP_REQUEST_TIMEOUT_MS = HTTP.integer(
    "kafkatx.http.request.timeout.ms",
    30_000,
    "Maximum time from the first byte of a request to its last; then the connection is closed.",
    low=1,
    unit="ms",
)
HTTP_IDLE_TIMEOUT_MS = HTTP.integer(
    "kafkatx.http.idle.timeout.ms",
    60_000,
    "Time without a byte after which a connection is closed.",
    low=1,
    unit="ms",
)
HTTP_MAX_CONNECTIONS = HTTP.integer(
    "kafkatx.http.max.connections",
    1000,
    "Connections to the HTTP listener at the same time. Above it the connection gives way that is idle "
    "longest, of the address with most; a further one is closed at once if none of its own address is idle.",
    low=1,
)

METRICS = Section(
    "Metrics", "The page /metrics of the HTTP listener, for Prometheus: see `kafkatx docs monitoring`."
)

METRICS_FAMILIES = METRICS.names(
    "kafkatx.metrics.families",
    ("kafka", "exporter", "kafkatx"),
    "Names that metrics have: the JMX exporter's, those of kafka_exporter or kminion, kafkatx's own.",
    choices=("kafka", "exporter", "kminion", "kafkatx"),
)
METRICS_MAX_TOPICS = METRICS.integer(
    "kafkatx.metrics.max.topics",
    5000,
    'Topics with series of their own; the others are summed up in the topic "(others)".',
    low=0,
)
METRICS_MAX_PARTITIONS = METRICS.integer(
    "kafkatx.metrics.max.partitions",
    3000,
    "Partitions with series of their own, twelve each; the others of a topic are summed up in the partition "
    '"(others)".',
    low=0,
)
METRICS_MAX_GROUPS = METRICS.integer(
    "kafkatx.metrics.max.groups",
    2000,
    'Consumer groups with series of their own; the lag of the others is summed up in the group "(others)".',
    low=0,
)
METRICS_MAX_GROUP_PARTITIONS = METRICS.integer(
    "kafkatx.metrics.max.group.partitions",
    5000,
    "Committed offsets of groups with series of their own; the others count in the sums of their groups "
    "only.",
    low=0,
)
METRICS_INTERNAL_TOPICS = METRICS.boolean(
    "kafkatx.metrics.internal.topics",
    False,
    "Show the broker's own topics, such as __consumer_offsets, too.",
)

METRICS_MAX_CLIENTS = METRICS.integer(
    "kafkatx.metrics.max.clients",
    100,
    "Client instances with series of their own of the metrics that they push, by client id.",
    low=0,
)
TELEMETRY_MAX_BYTES = METRICS.integer(
    "telemetry.max.bytes",
    1_048_576,
    "Largest push of a client's metrics, compressed and not (see `kafkatx docs client-metrics`).",
    low=1,
    high=64 << 20,
    unit="bytes",
)
TELEMETRY_MAX_VALUES = METRICS.integer(
    "kafkatx.telemetry.max.values",
    100_000,
    "Values that are kept of the metrics that clients push, of all clients together; some 400 bytes each.",
    low=0,
)

CONSOLE = Section("Console", "The console at /console/ of the HTTP listener: see `kafkatx docs console`.")

CONSOLE_ENABLE = CONSOLE.boolean(
    "kafkatx.console.enable",
    False,
    "Offer the console. kafkatx up does so by itself if the HTTP listener is on a loopback address.",
)
CONSOLE_READ_ONLY = CONSOLE.boolean(
    "kafkatx.console.read.only", False, "Refuse all changes that are made through the console."
)
CONSOLE_MESSAGES = CONSOLE.string(
    "kafkatx.console.messages",
    "full",
    "What the console shows of records: full, metadata (no keys, values and headers) or none.",
    choices=("full", "metadata", "none"),
)
CONSOLE_MASKING = CONSOLE.names(
    "kafkatx.console.masking",
    (),
    "Fields that the console hides, as pattern of topics, colon and path: orders*:customer.email. A path is "
    "in the value, or begins with key or headers. Text and bytes have no fields: nothing of them is shown.",
)
CONSOLE_SCAN_MAX_BYTES = CONSOLE.long(
    "kafkatx.console.scan.max.bytes",
    64 << 20,
    "Bytes that one search in records reads; its end tells how to go on.",
    low=1,
    unit="bytes",
)
CONSOLE_MAX_STREAMS = CONSOLE.integer(
    "kafkatx.console.max.streams",
    100,
    "Event streams at the same time: one for each open page, and one for each search in records.",
    low=1,
)
CONSOLE_SESSION_IDLE_MS = CONSOLE.long(
    "kafkatx.console.session.idle.ms",
    3_600_000,
    "Time without a request after which a session of the console ends; it ends after 12 hours in any case.",
    low=1000,
    unit="ms",
)
HISTORY_FILE = CONSOLE.optional_string(
    "kafkatx.history.file",
    "File in which the console's samples of the last week are kept, at most 4 MB. Not set: kafkatx-history "
    "in the first of log.dirs, and none if records are kept in memory.",
)

BY_LISTENER = {row.name: row for row in (MAX_CONNECTIONS, MAX_CONNECTION_CREATION_RATE)}
"""Settings that a listener may have for itself, by name."""

SECTIONS = (NETWORK, HTTP, METRICS, CONSOLE)
"""This part of the table."""
