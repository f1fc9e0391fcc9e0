"""The address of a broker in its node below ``/brokers/ids``, as all versions of Kafka wrote it. Pure.

Kafka 0.8 to 3.9 have JSON (:mod:`kafkatx.metadata.layout.brokers`). Kafka 0.7 has ``creator:host:port``
(``kafka.cluster.Broker``): the creator is ``host-timestamp``. Earlier documents of it say ``host:port``.
"""

from __future__ import annotations

import re

from kafkatx.clientcore.bootstrap import Address
from kafkatx.metadata.layout import brokers
from kafkatx.metadata.layout.fields import UnreadableNode, quoted

_OLD = re.compile(r"(?:[^{:]*:)?([^{\s:]+):(\d{1,5})", re.ASCII)


def address(broker_id: int, path: str, data: bytes, listener: str = "") -> Address:
    """Return the address of a broker for clients.

    :param listener: the name of the listener; empty: the first with the security protocol PLAINTEXT.
    :raises UnreadableNode: the node cannot be read, or has no such address.
    """
    old = _OLD.fullmatch(data.decode("utf-8", "replace"))
    if old is not None:
        return _usable(path, data, old[1], int(old[2]))
    for endpoint in brokers.decode(broker_id, path, data).endpoints:
        if endpoint.listener == listener or (not listener and endpoint.security_protocol == "PLAINTEXT"):
            return _usable(path, data, endpoint.host, endpoint.port)
    wanted = f"a listener {listener}" if listener else "a listener with PLAINTEXT"
    raise UnreadableNode(
        path, quoted(data.decode("utf-8", "replace")), f"{wanted} (kafkatx.zookeeper.listener)"
    )


def _usable(path: str, data: bytes, host: str, port: int) -> Address:
    if not host or not 0 < port < 65536:
        raise UnreadableNode(
            path, quoted(data.decode("utf-8", "replace")), "a host and a port from 1 to 65535"
        )
    return host, port
