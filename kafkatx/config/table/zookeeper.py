"""The part of the settings table about clusters of several brokers, and the ZooKeeper that they share.

Names and defaults are those of Apache Kafka 3.9, the last version with ZooKeeper.
"""

from __future__ import annotations

import re

from kafkatx.config.table.row import ConfigType, Section

CLUSTER = Section("Clusters", "Settings of a broker that shares its topics, clients and groups with others.")

KAFKATX_CONTROLLER_ELIGIBLE = CLUSTER.boolean(
    "kafkatx.controller.eligible", True, "Let this broker become the controller of its cluster."
)
BROKER_ID_GENERATION_ENABLE = CLUSTER.boolean(
    "broker.id.generation.enable",
    True,
    "Generate the id of a broker on ZooKeeper whose broker.id is -1 or not set. The id is kept in "
    "meta.properties in each of log.dirs.",
)
RESERVED_BROKER_MAX_ID = CLUSTER.integer(
    "reserved.broker.max.id",
    1000,
    "Largest broker.id that may be set where ids are generated; generated ids are larger.",
    low=0,
)
KAFKATX_LOCAL_SOCKET = CLUSTER.optional_string(
    "kafkatx.local.socket",
    "Unix socket of the process that keeps the cluster's state, for kafkatx.metadata.store=local. "
    "kafkatx up --brokers sets it.",
)
KAFKATX_BOOTSTRAP_PORT = CLUSTER.optional_integer(
    "kafkatx.bootstrap.port",
    "A port that all brokers of one machine listen at together, on the host of their first listener. "
    "Clients may use it to find the cluster; it is never advertised. kafkatx up --brokers sets it.",
    low=1,
    high=65535,
)

ZOOKEEPER = Section("ZooKeeper", "Connection of a broker to the ZooKeeper that keeps its cluster's state.")


_HOST = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")
_NAME = re.compile(r"(?!\.{1,2}\Z)[^/\0]+")


def _read_connect(text: str) -> str | None:
    servers, _, path = text.strip().partition("/")
    hosts = [host.strip() for host in servers.split(",")]
    names = path.rstrip("/").split("/") if path.rstrip("/") else []
    if not all(map(_HOST.fullmatch, hosts)) or not all(map(_NAME.fullmatch, names)):
        raise ValueError(text)
    return "/".join((",".join(hosts), *names))


ZOOKEEPER_CONNECT = ZOOKEEPER.parsed(
    "zookeeper.connect",
    ConfigType.STRING,
    None,
    "ZooKeeper servers, and the path below which the cluster's nodes are (the chroot, which is created if "
    "it is missing). The port is 2181 if there is none.",
    _read_connect,
    "HOST:PORT,HOST:PORT/PATH, where the path is optional",
    aliases=("zk.connect",),
)
ENABLE_ZOOKEEPER = ZOOKEEPER.boolean(
    "enable.zookeeper", True, "Kafka 0.7's switch; false: zookeeper.connect is not used."
)
ZOOKEEPER_SESSION_TIMEOUT_MS = ZOOKEEPER.integer(
    "zookeeper.session.timeout.ms",
    18_000,
    "Time without a heartbeat after which ZooKeeper takes this broker for dead. The servers bound it, by "
    "default to 2 to 20 of their ticks. With kafkatx.metadata.store=local it is that of the local state.",
    low=1,
    unit="ms",
    aliases=("zk.sessiontimeout.ms",),
)
ZOOKEEPER_CONNECTION_TIMEOUT_MS = ZOOKEEPER.optional_integer(
    "zookeeper.connection.timeout.ms",
    "Time that a starting broker waits for ZooKeeper. Not set: zookeeper.session.timeout.ms.",
    low=1,
    unit="ms",
    aliases=("zk.connectiontimeout.ms",),
)
ZOOKEEPER_MAX_IN_FLIGHT_REQUESTS = ZOOKEEPER.integer(
    "zookeeper.max.in.flight.requests",
    10,
    "Accepted for compatibility and not used: kafkatx has at most 100 requests to ZooKeeper in flight.",
    low=1,
)
ZOOKEEPER_SET_ACL = ZOOKEEPER.boolean(
    "zookeeper.set.acl",
    False,
    "Create ZooKeeper nodes that only this cluster's brokers may change, as Apache Kafka does. The brokers "
    "must authenticate: by kafkatx.zookeeper.username, or by a certificate.",
)


def _read_broker_version(text: str) -> int:
    if text.strip() not in ("5", "4", "2"):
        raise ValueError(text)
    return int(text)


def _read_identification(text: str) -> str:
    if text.strip().upper() not in ("HTTPS", ""):
        raise ValueError(text)
    return text.strip().upper()


KAFKATX_ZOOKEEPER_BROKER_VERSION = ZOOKEEPER.parsed(
    "kafkatx.zookeeper.broker.version",
    ConfigType.INT,
    5,
    "Version of the broker's node in ZooKeeper. Clients that find brokers in ZooKeeper need 2 if they are "
    "older than Kafka 0.9.0.1.",
    _read_broker_version,
    "5, 4 or 2",
)
KAFKATX_ZOOKEEPER_USERNAME = ZOOKEEPER.optional_string(
    "kafkatx.zookeeper.username",
    "User name for SASL with DIGEST-MD5. Apache Kafka has it in a JAAS file.",
)
KAFKATX_ZOOKEEPER_PASSWORD = ZOOKEEPER.optional_password(
    "kafkatx.zookeeper.password", "Password for SASL with DIGEST-MD5."
)
KAFKATX_ZOOKEEPER_JAAS_FILE = ZOOKEEPER.optional_string(
    "kafkatx.zookeeper.jaas.file",
    "JAAS file of an Apache Kafka broker (java.security.auth.login.config) with user name and password in "
    "its section Client; used if kafkatx.zookeeper.username is not set.",
)
ZOOKEEPER_CLIENT_CNXN_SOCKET = ZOOKEEPER.optional_string(
    "zookeeper.clientCnxnSocket",
    "Accepted for compatibility and not used: the Java class of Apache Kafka's connections, which must be "
    "org.apache.zookeeper.ClientCnxnSocketNetty there for TLS.",
)
ZOOKEEPER_SSL_CLIENT_ENABLE = ZOOKEEPER.boolean(
    "zookeeper.ssl.client.enable", False, "Connect to ZooKeeper with TLS."
)
ZOOKEEPER_SSL_KEYSTORE_LOCATION = ZOOKEEPER.optional_string(
    "zookeeper.ssl.keystore.location",
    "File with this broker's certificate and private key, for servers that ask clients for them: PEM, PKCS12 "
    "or JKS; the content tells which.",
)
ZOOKEEPER_SSL_KEYSTORE_TYPE = ZOOKEEPER.optional_string(
    "zookeeper.ssl.keystore.type", "Accepted and not needed: the content tells the type."
)
ZOOKEEPER_SSL_KEYSTORE_PASSWORD = ZOOKEEPER.optional_password(
    "zookeeper.ssl.keystore.password", "Password of the keystore, or of an encrypted private key."
)
ZOOKEEPER_SSL_TRUSTSTORE_LOCATION = ZOOKEEPER.optional_string(
    "zookeeper.ssl.truststore.location",
    "File with the certificates of trusted authorities: PEM, PKCS12 or JKS. Not set: those of the operating "
    "system.",
)
ZOOKEEPER_SSL_TRUSTSTORE_TYPE = ZOOKEEPER.optional_string(
    "zookeeper.ssl.truststore.type", "Accepted and not needed: the content tells the type."
)
ZOOKEEPER_SSL_TRUSTSTORE_PASSWORD = ZOOKEEPER.optional_password(
    "zookeeper.ssl.truststore.password",
    "Password of the truststore; PEM files have none.",
)
ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = ZOOKEEPER.parsed(
    "zookeeper.ssl.endpoint.identification.algorithm",
    ConfigType.STRING,
    "HTTPS",
    "Check that a server's certificate names its host (HTTPS); empty: do not check.",
    _read_identification,
    "HTTPS or empty",
)

SECTIONS = (CLUSTER, ZOOKEEPER)
"""This part of the table."""
