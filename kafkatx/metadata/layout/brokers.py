"""The node of a registered broker, ``/brokers/ids/1``: its addresses, rack and log dirs. Pure.

``{"version":5,"host":"h","port":9092,"jmx_port":-1,"timestamp":"1795422174828","endpoints":["PLAINTEXT://h:9092"],
"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"rack":"r1","features":{}}``; ``rack`` only if
there is one (``kafka.zk.BrokerIdZNode``). ``host`` and ``port`` are those of the first PLAINTEXT listener,
for clients of Kafka 0.8. Version 1 has nothing else, 2 has endpoints, 3 the rack, 4 the protocols of
listeners, 5 features. Clients up to 0.9.0.0 cannot read versions above 2 (KAFKA-3100). kafkatx adds
``"kafkatx_directories"``, the ``directory.id`` of each log dir, to any version, and, where other brokers have
an address of their own (``inter.broker.listener.name``), ``"kafkatx_internal":"INTERNAL://h:9093"``, and of
a broker with an HTTP listener ``"kafkatx_http":"HTTP://h:8081"``, or ``HTTPS``; and, by which another process
tells whether it has ended, ``"kafkatx_process":{"pid":"7","boot_id":"...","locks":{"/data":"2049:13"}}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs

from kafkatx.metadata.layout.fields import Fields, UnreadableNode, encode, parse, quoted
from kafkatx.nodes import BrokerProcess, Endpoint
from kafkatx.types import BrokerNode

VERSION: Final = 5
WRITTEN_VERSIONS: Final = (5, 4, 2)
"""The versions that ``kafkatx.zookeeper.broker.version`` can have."""

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_DEFAULT_PROTOCOLS: Mapping[str, str] = {name: name for name in _PROTOCOLS}
_ENDPOINT = re.compile(r"([A-Za-z0-9_.-]+)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,5})", re.ASCII)


@attrs.frozen
class Registration:
    """The content of the node of a registered broker.

    :ivar endpoints: its advertised addresses, in the order of ``advertised.listeners``.
    :ivar directories: ``directory.id`` of its log dirs; empty for a broker of Apache Kafka.
    :ivar is_kafkatx: False for a broker of Apache Kafka.
    :ivar internal: the address for other brokers, if that is not the first of ``endpoints``.
    :ivar http: the address of its HTTP listener, if it has one.
    :ivar process: its process; None where that is not told.
    """

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    timestamp_ms: int = -1
    jmx_port: int = -1
    directories: tuple[str, ...] = ()
    is_kafkatx: bool = True
    internal: Endpoint | None = None
    http: Endpoint | None = None
    process: BrokerProcess | None = None

    def node(self, epoch: int, listener: str | None = None) -> BrokerNode:
        """Return the broker with its address for one listener.

        :param epoch: the node's czxid.
        :param listener: name of the listener; its first endpoint is used for None and if it has no such
            listener.
        """
        named = [endpoint for endpoint in self.endpoints if endpoint.listener == listener]
        endpoint = (named or self.endpoints)[0]
        internal = None if self.internal is None else (self.internal.host, self.internal.port)
        several = self.endpoints if len(self.endpoints) > 1 else ()
        return BrokerNode(
            self.broker_id,
            endpoint.host,
            endpoint.port,
            self.rack,
            epoch,
            internal=internal,
            http=self.http,
            endpoints=several,
        )

    def encode(self, version: int = VERSION) -> bytes:
        """Return the content of the node.

        :param version: one of :data:`WRITTEN_VERSIONS`.
        """
        plaintext = next((one for one in self.endpoints if one.security_protocol == "PLAINTEXT"), None)
        members: dict[str, object] = {
            "version": version,
            "host": plaintext.host if plaintext else None,
            "port": plaintext.port if plaintext else -1,
            "jmx_port": self.jmx_port,
            "timestamp": str(self.timestamp_ms),
            "endpoints": [str(endpoint) for endpoint in self.endpoints],
        }
        if version >= 3 and self.rack is not None:
            members["rack"] = self.rack
        if version >= 4:
            members["listener_security_protocol_map"] = {
                endpoint.listener: endpoint.security_protocol for endpoint in self.endpoints
            }
        if version >= 5:
            members["features"] = {}
        if self.is_kafkatx:
            members["kafkatx_directories"] = self.directories
        if self.internal is not None:
            members["kafkatx_internal"] = str(self.internal)
        if self.http is not None:
            members["kafkatx_http"] = str(self.http)
        if self.process is not None:
            members["kafkatx_process"] = {
                "pid": str(self.process.pid),
                "boot_id": self.process.boot_id,
                "locks": dict(self.process.locks),
            }
        return encode(members)


def decode(broker_id: int, path: str, data: bytes) -> Registration:
    """Read the content of a broker's node.

    :raises UnreadableNode: it is not one of version 1 to 5, or an address cannot be read.
    """
    fields = parse(path, data)
    version = fields.version(1, VERSION)
    if version == 1:
        endpoints: tuple[Endpoint, ...] = (
            Endpoint("PLAINTEXT", fields.text("host"), fields.integer("port", highest=65535)),
        )
    else:
        endpoints = _endpoints(fields)
    return Registration(
        broker_id,
        endpoints,
        rack=fields.optional_text("rack"),
        timestamp_ms=_timestamp(fields),
        jmx_port=fields.integer("jmx_port", default=-1),
        directories=fields.texts("kafkatx_directories", default=()),
        is_kafkatx="kafkatx_directories" in fields,
        internal=_address(fields, "kafkatx_internal"),
        http=_address(fields, "kafkatx_http"),
        process=_process(fields.optional_object("kafkatx_process")),
    )


def _endpoints(fields: Fields) -> tuple[Endpoint, ...]:
    protocols = _DEFAULT_PROTOCOLS
    if fields.optional_object("listener_security_protocol_map") is not None:
        protocols = fields.text_map("listener_security_protocol_map")
    endpoints = []
    for text in fields.texts("endpoints"):
        match = _ENDPOINT.fullmatch(text)
        protocol = protocols.get(match[1]) if match else None
        if match is None or int(match[3]) > 65535 or protocol not in _PROTOCOLS:
            raise UnreadableNode(
                fields.path,
                f"the endpoint {quoted(text)}",
                "LISTENER://HOST:PORT with a known security protocol",
            )
        endpoints.append(Endpoint(match[1], match[2], int(match[3]), protocol))
    if not endpoints:
        raise fields.wrong("endpoints", "at least one endpoint")
    return tuple(endpoints)


def _process(fields: Fields | None) -> BrokerProcess | None:
    if fields is None:
        return None
    return BrokerProcess(fields.number_text("pid"), fields.text("boot_id"), fields.text_map("locks"))


def _address(fields: Fields, name: str) -> Endpoint | None:
    text = fields.optional_text(name)
    if text is None:
        return None
    match = _ENDPOINT.fullmatch(text)
    if match is None or not 0 <= int(match[3]) <= 65535:
        raise UnreadableNode(fields.path, f"the endpoint {quoted(text)}", "LISTENER://HOST:PORT")
    protocol = "SSL" if match[1] == "HTTPS" else "PLAINTEXT"
    return Endpoint(match[1], match[2], int(match[3]), protocol)


def _timestamp(fields: Fields) -> int:
    """Read the time of the registration, which old programs write as a number or leave out."""
    value = fields.members.get("timestamp")
    if type(value) is int and value >= -1:
        return value
    return -1 if value == "-1" else fields.number_text("timestamp", default=-1)
