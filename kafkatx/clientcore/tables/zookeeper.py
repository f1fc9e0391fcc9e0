"""The settings of clients that use ZooKeeper: the same rows as a broker's, with the words of a client.

Kafka's clients had them up to version 0.8: producers of 0.7, and consumers.
"""

from __future__ import annotations

from typing import TypeVar

import attrs

from kafkatx.config.table import zookeeper as broker
from kafkatx.config.table.row import Section, Setting

T = TypeVar("T")

ZOOKEEPER = Section(
    "ZooKeeper",
    "Brokers of a cluster on ZooKeeper, found by their registrations. It needs `kafkatx[zookeeper]`.",
)


def _row(setting: Setting[T], doc: str = "") -> Setting[T]:
    """Add a broker's row, with another text if there is one."""
    row = attrs.evolve(setting, doc=doc or setting.doc)
    ZOOKEEPER.settings.append(row)
    return row


ZOOKEEPER_CONNECT = _row(
    broker.ZOOKEEPER_CONNECT,
    "ZooKeeper servers, and the path below which the cluster's nodes are (the chroot). The port is 2181 if "
    "there is none. Brokers for the first connection, and others when none of these answers, are those in "
    "/brokers/ids, unless `bootstrap.servers` is set.",
)
LISTENER = ZOOKEEPER.string(
    "kafkatx.zookeeper.listener",
    "",
    "Name of the listener of the brokers to connect to. Empty: their first with the protocol PLAINTEXT.",
)
ZOOKEEPER_SESSION_TIMEOUT_MS = _row(
    broker.ZOOKEEPER_SESSION_TIMEOUT_MS,
    "Time without a heartbeat after which ZooKeeper takes this client for dead. The servers bound it, by "
    "default to 2 to 20 of their ticks.",
)
ZOOKEEPER_CONNECTION_TIMEOUT_MS = _row(
    broker.ZOOKEEPER_CONNECTION_TIMEOUT_MS,
    "Time that a starting client waits for ZooKeeper. Not set: zookeeper.session.timeout.ms.",
)
KAFKATX_ZOOKEEPER_USERNAME = _row(broker.KAFKATX_ZOOKEEPER_USERNAME)
KAFKATX_ZOOKEEPER_PASSWORD = _row(broker.KAFKATX_ZOOKEEPER_PASSWORD)
KAFKATX_ZOOKEEPER_JAAS_FILE = _row(
    broker.KAFKATX_ZOOKEEPER_JAAS_FILE,
    "JAAS file of an Apache Kafka client (java.security.auth.login.config) with user name and password in "
    "its section Client; used if kafkatx.zookeeper.username is not set.",
)
ZOOKEEPER_SSL_CLIENT_ENABLE = _row(broker.ZOOKEEPER_SSL_CLIENT_ENABLE)
ZOOKEEPER_SSL_KEYSTORE_LOCATION = _row(
    broker.ZOOKEEPER_SSL_KEYSTORE_LOCATION,
    "PEM file with this client's certificate and private key, for servers that ask clients for them.",
)
ZOOKEEPER_SSL_KEYSTORE_PASSWORD = _row(broker.ZOOKEEPER_SSL_KEYSTORE_PASSWORD)
ZOOKEEPER_SSL_TRUSTSTORE_LOCATION = _row(broker.ZOOKEEPER_SSL_TRUSTSTORE_LOCATION)
ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = _row(broker.ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM)

SECTIONS = (ZOOKEEPER,)
