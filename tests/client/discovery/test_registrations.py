"""Tests of kafkatx.client.discovery.registrations."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.discovery.registrations import address
from kafkatx.clientcore.bootstrap import Address
from kafkatx.metadata.layout.brokers import Registration
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.nodes import Endpoint

_KAFKA_3_9 = (
    b'{"features":{},"listener_security_protocol_map":{"IN":"SSL","OUT":"PLAINTEXT","MORE":"PLAINTEXT"},'
    b'"endpoints":["IN://i:9091","OUT://[::1]:9092","MORE://m:9093"],"jmx_port":-1,"port":9092,"host":"::1",'
    b'"version":5,"timestamp":"1795422174828"}'
)


def read(data: bytes, listener: str = "") -> Address:
    """Return the address of broker 1."""
    return address(1, "/brokers/ids/1", data, listener)


class AddressTests(SynchronousTestCase):
    def test_json(self) -> None:
        """The node of Kafka 0.8 has one address; from later ones the first with PLAINTEXT is taken."""
        old = b'{"jmx_port":-1,"timestamp":"1","host":"h","version":1,"port":9092}'
        self.assertEqual(read(old), ("h", 9092))
        self.assertEqual(read(_KAFKA_3_9), ("::1", 9092))
        ours = Registration(1, (Endpoint("S", "s", 1, "SSL"), Endpoint("P", "p", 2)))
        for version in (5, 4):
            self.assertEqual(read(ours.encode(version)), ("p", 2))

    def test_listener(self) -> None:
        """The address is that of the listener that a setting names, whatever its protocol is."""
        self.assertEqual(read(_KAFKA_3_9, "IN"), ("i", 9091))
        self.assertEqual(read(_KAFKA_3_9, "MORE"), ("m", 9093))

    def test_kafka_0_7(self) -> None:
        """The node of Kafka 0.7 is creator, host and port; the document of it leaves the creator out."""
        self.assertEqual(read(b"10.0.0.1-1324306324402:h.example:9092"), ("h.example", 9092))
        self.assertEqual(read(b"h:9092"), ("h", 9092))

    def test_unusable(self) -> None:
        """A node without an address for this client is refused, with its path."""
        tls_only = Registration(1, (Endpoint("S", "s", 1, "SSL"),)).encode()
        for data, listener in (
            (b"", ""),
            (b"h", ""),
            (b"h:99999", ""),
            (b"h:0", ""),
            (b"\xff:1x", ""),
            (b"{}", ""),
            (b'{"version":1,"host":"","port":1}', ""),
            (b'{"version":1,"host":"h","port":-1}', ""),
            (tls_only, ""),
            (_KAFKA_3_9, "NONE"),
        ):
            error = self.assertRaises(UnreadableNode, read, data, listener)
            self.assertIn("/brokers/ids/1", str(error))
