"""Tests of the nodes of registered brokers."""

from __future__ import annotations

import json
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.brokers import WRITTEN_VERSIONS, Registration, decode
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.nodes import BrokerProcess, Endpoint
from kafkatx.types import BrokerNode

PATH = "/brokers/ids/1"
KAFKA_3_9 = (
    b'{"features":{},"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT","EXTERNAL":"SSL"},'
    b'"endpoints":["INTERNAL://h:9092","EXTERNAL://[fe80::1%eth0]:9093"],"jmx_port":9999,"port":9092,"host":"h",'
    b'"version":5,"timestamp":"1795422174828","rack":"r1"}'
)
INTERNAL = Endpoint("INTERNAL", "h", 9092)
EXTERNAL = Endpoint("EXTERNAL", "fe80::1%eth0", 9093, "SSL")


class DecodeTests(SynchronousTestCase):
    def test_version_5(self) -> None:
        """The node of a broker of Apache Kafka 3.9 is read."""
        self.assertEqual(
            decode(1, PATH, KAFKA_3_9),
            Registration(1, (INTERNAL, EXTERNAL), "r1", 1795422174828, 9999, is_kafkatx=False),
        )

    def test_old_versions(self) -> None:
        """Version 1 has one address; 2 and 3 have listeners that are named by their protocols."""
        found = decode(1, PATH, b'{"jmx_port":-1,"timestamp":"5","host":"h","version":1,"port":9092}')
        expected = Registration(1, (Endpoint("PLAINTEXT", "h", 9092),), timestamp_ms=5, is_kafkatx=False)
        self.assertEqual(found, expected)
        for version in (2, 3):
            data = b'{"version":%d,"host":null,"port":-1,"jmx_port":-1,"endpoints":["SSL://h:1"]}' % version
            self.assertEqual(decode(1, PATH, data).endpoints, (Endpoint("SSL", "h", 1, "SSL"),))

    def test_timestamp(self) -> None:
        """A time that was written as a number, or not at all, does no harm."""
        for text, expected in (("5", 5), ('"-1"', -1), ("null", -1), ('"7"', 7)):
            data = b'{"version":1,"host":"h","port":1,"timestamp":%s}' % text.encode()
            self.assertEqual(decode(1, PATH, data).timestamp_ms, expected)

    def test_process(self) -> None:
        """The process of a broker comes back; a broker of an earlier version tells none."""
        process = BrokerProcess(7, "boot", {"/data": "2049:13"})
        node = Registration(1, (Endpoint("PLAINTEXT", "h", 9092),), process=process)
        self.assertEqual(decode(1, PATH, node.encode()).process, process)
        expected = {"pid": "7", "boot_id": "boot", "locks": {"/data": "2049:13"}}
        self.assertEqual(json.loads(node.encode())["kafkatx_process"], expected)
        self.assertIsNone(decode(1, PATH, KAFKA_3_9).process)

    def test_wrong(self) -> None:
        """A newer version, an unknown protocol and an address without a port are errors that name them."""
        for change, found in (
            ({"version": 6}, '"version":6'),
            ({"endpoints": ["OTHER://h:1"]}, "OTHER://h:1"),
            ({"endpoints": ["INTERNAL://h"]}, "INTERNAL://h"),
            ({"endpoints": ["INTERNAL://h:70000"]}, "INTERNAL://h:70000"),
            ({"endpoints": []}, '"endpoints":[]'),
            ({"listener_security_protocol_map": {"INTERNAL": "QUIC"}}, "INTERNAL://h:9092"),
        ):
            with self.assertRaises(UnreadableNode) as caught:
                decode(1, PATH, json.dumps(json.loads(KAFKA_3_9) | change).encode())
            self.assertIn(found, caught.exception.found)


class EncodeTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """A node has the content that Apache Kafka 3.9 gives it, and our log dirs."""
        written = Registration(1, (INTERNAL, EXTERNAL), "r1", 1795422174828, 9999, is_kafkatx=False)
        self.assertEqual(json.loads(written.encode()), json.loads(KAFKA_3_9))
        ours = Registration(1, (INTERNAL,), timestamp_ms=5, directories=("a", "b")).encode()
        self.assertEqual(json.loads(ours)["kafkatx_directories"], ["a", "b"])
        self.assertNotIn("rack", json.loads(ours))

    def test_old_clients(self) -> None:
        """Host and port are those of the first PLAINTEXT listener; without one there is none."""
        found = json.loads(Registration(1, (EXTERNAL, INTERNAL)).encode())
        self.assertEqual((found["host"], found["port"]), ("h", 9092))
        found = json.loads(Registration(1, (EXTERNAL,)).encode())
        self.assertEqual((found["host"], found["port"]), (None, -1))

    def test_versions(self) -> None:
        """Each version has its keys, and no others."""
        registration = Registration(1, (INTERNAL,), "r1", directories=("a",))
        first = {"version", "host", "port", "jmx_port", "timestamp", "endpoints", "kafkatx_directories"}
        fourth = first | {"rack", "listener_security_protocol_map"}
        for version, keys in ((2, first), (4, fourth), (5, fourth | {"features"})):
            self.assertEqual(json.loads(registration.encode(version)).keys(), keys)

    def test_round_trip(self) -> None:
        """Random registrations come back; version 2 keeps listeners named by their protocols, and no rack."""
        random = Random(5)
        for _ in range(300):
            protocols = random.sample(
                ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"), random.randint(1, 4)
            )
            hosts = ("h", "10.0.0.1", "::1", "a-b.example", "")
            registration = Registration(
                random.randint(0, 2**31 - 1),
                tuple(
                    Endpoint(one, random.choice(hosts), random.randint(0, 65535), one) for one in protocols
                ),
                random.choice((None, "", "r\N{SNOWMAN}")),
                random.randint(-1, 2**50),
                random.randint(-1, 65535),
                tuple(random.sample(("x", "y", "z"), random.randint(0, 3))),
            )
            for version in WRITTEN_VERSIONS:
                found = decode(registration.broker_id, PATH, registration.encode(version))
                self.assertEqual(found.rack, None if version == 2 else registration.rack)
                self.assertEqual(found.endpoints, registration.endpoints)
                self.assertEqual(found.directories, registration.directories)
            self.assertEqual(decode(registration.broker_id, PATH, registration.encode()), registration)


class NodeTests(SynchronousTestCase):
    def test_node(self) -> None:
        """A broker has the address of the wanted listener, or of its first one."""
        both = (INTERNAL, EXTERNAL)
        registration = Registration(1, both, "r1")
        first = BrokerNode(1, "h", 9092, "r1", 7, endpoints=both)
        self.assertEqual(registration.node(7), first)
        self.assertEqual(
            registration.node(7, "EXTERNAL"), BrokerNode(1, "fe80::1%eth0", 9093, "r1", 7, endpoints=both)
        )
        self.assertEqual(registration.node(7, "OTHER"), first)

    def test_one_endpoint(self) -> None:
        """A broker with one listener is its host and port."""
        self.assertEqual(Registration(1, (INTERNAL,), "r1").node(7), BrokerNode(1, "h", 9092, "r1", 7))

    def test_internal(self) -> None:
        """The address for other brokers comes back in every version; without one there is none."""
        first = Endpoint("PLAINTEXT", "h", 9092)
        registration = Registration(1, (first,), internal=Endpoint("X", "fe80::1", 7))
        for version in WRITTEN_VERSIONS:
            node = decode(1, PATH, registration.encode(version)).node(7)
            self.assertEqual(node, BrokerNode(1, "h", 9092, None, 7, internal=("fe80::1", 7)))

    def test_http(self) -> None:
        """The address of the HTTP listener comes back in every version, with or without TLS."""
        for http in (Endpoint("HTTP", "h", 8081), Endpoint("HTTPS", "::1", 8443, "SSL")):
            registration = Registration(1, (Endpoint("PLAINTEXT", "h", 9092),), http=http)
            for version in WRITTEN_VERSIONS:
                self.assertEqual(decode(1, PATH, registration.encode(version)).node(7).http, http)
