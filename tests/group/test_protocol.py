"""Subscriptions and assignments of consumers, byte for byte as Apache Kafka 4.0 writes them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.group.protocol import (
    ConsumerProtocolSubscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
    parse_assignment,
    parse_subscription,
    version_of,
)

# Topics t and u; in 0 user data 09, from 1 on partitions 0 and 2 of t, from 2 generation 4, from 3 rack r.
SUBSCRIPTIONS = (
    "0000000000020001740001750000000109",
    "000100000002000174000175ffffffff00000001000174000000020000000000000002",
    "000200000002000174000175ffffffff0000000100017400000002000000000000000200000004",
    "000300000002000174000175ffffffff0000000100017400000002000000000000000200000004000172",
)
# Partitions 0 and 1 of t, after the version.
ASSIGNMENT = "00000001000174000000020000000000000001ffffffff"


def subscription(version: int) -> ConsumerProtocolSubscription:
    """Return the decoded form of SUBSCRIPTIONS."""
    return ConsumerProtocolSubscription(
        ["t", "u"],
        b"\t" if version == 0 else None,
        [TopicPartitions("t", [0, 2])] if version else [],
        4 if version > 1 else -1,
        "r" if version > 2 else None,
    )


class SubscriptionTests(SynchronousTestCase):
    def test_golden(self) -> None:
        """Every version is read and written as Kafka does."""
        for version, text in enumerate(SUBSCRIPTIONS):
            data = bytes.fromhex(text)
            self.assertEqual(parse_subscription(data), subscription(version), version)
            self.assertEqual(encode_subscription(subscription(version), version), data, version)

    def test_newer(self) -> None:
        """The known fields of a later version are read."""
        data = b"\0\x09" + bytes.fromhex(SUBSCRIPTIONS[3])[2:] + b"more"
        self.assertEqual(parse_subscription(data), subscription(3))
        self.assertEqual(version_of(data), 3)

    def test_malformed(self) -> None:
        """Truncated bytes, and a version below 0, are a violation."""
        for text in SUBSCRIPTIONS:
            data = bytes.fromhex(text)
            for size in range(len(data)):
                self.assertRaises(ProtocolViolation, parse_subscription, data[:size])
        self.assertRaises(ProtocolViolation, parse_subscription, b"\xff\xff" + bytes(20))


class AssignmentTests(SynchronousTestCase):
    def test_golden(self) -> None:
        """Every version is read and written as Kafka does, partitions in order."""
        for version in range(4):
            data = bytes((0, version)) + bytes.fromhex(ASSIGNMENT)
            self.assertEqual(encode_assignment([("t", {1, 0})], version), data)
            parsed = parse_assignment(data)
            self.assertEqual(parsed.assigned_partitions, [TopicPartitions("t", [0, 1])])
            self.assertIsNone(parsed.user_data)

    def test_malformed(self) -> None:
        """Truncated bytes are a violation."""
        data = b"\0\0" + bytes.fromhex(ASSIGNMENT)
        for size in range(len(data)):
            self.assertRaises(ProtocolViolation, parse_assignment, data[:size])
