"""The schemas of a consumer group's records, byte for byte."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer import messages
from kafkatx.wire.codec import decode, encode

TOPIC = uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")


class GoldenTests(SynchronousTestCase):
    def test_keys(self) -> None:
        """Keys are not flexible: strings have lengths of two bytes."""
        self.assertEqual(encode(messages.GroupKey("gr"), 3), b"\0\2gr")
        self.assertEqual(encode(messages.NamedKey("gr", "m"), 5), b"\0\2gr\0\1m")

    def test_epoch(self) -> None:
        """An epoch is an int32 and an empty section of tagged fields."""
        self.assertEqual(encode(messages.EpochValue(258), 0), b"\0\0\1\2\0")

    def test_target(self) -> None:
        """A target is a compact array of topic ids with their partitions."""
        value = messages.TargetValue([messages.TopicPartitions(TOPIC, [1])])
        self.assertEqual(encode(value, 0), b"\2" + TOPIC.bytes + b"\2\0\0\0\1\0\0")

    def test_member(self) -> None:
        """Null strings of a member are zero, and the rebalance time-out is -1 unless set."""
        value = messages.MemberValue(client_id="c", client_host="h", subscribed_topic_names=["t"])
        expected = b"\0\0\2c\2h\2\2t\0\xff\xff\xff\xff\0\0"
        self.assertEqual(encode(value, 0), expected)
        self.assertEqual(decode(messages.MemberValue, 0, expected), value)

    def test_current(self) -> None:
        """A current assignment has both epochs, the state, and two lists."""
        value = messages.CurrentValue(2, 1, 1, [messages.TopicPartitions(TOPIC, [])], [])
        expected = b"\0\0\0\2\0\0\0\1\1\2" + TOPIC.bytes + b"\1\0\1\0"
        self.assertEqual(encode(value, 0), expected)
        self.assertEqual(decode(messages.CurrentValue, 0, expected), value)
