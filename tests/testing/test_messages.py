"""Topics and messages of an embedded broker, as tests ask for them."""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import UnknownTopic
from kafkatx.errors import RequestError
from kafkatx.testing import EmbeddedBroker, Message, MessagesMissing
from kafkatx.testing.messages import read_messages


class MessageTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker."""
        self.broker = EmbeddedBroker({"kafkatx.storage": "memory", "auto.create.topics.enable": False})
        self.broker.start()
        self.addCleanup(self.broker.close)

    def test_topic(self) -> None:
        """Each call creates another topic, whose name begins with the one that was asked for."""
        names = [self.broker.topic("orders", partitions=3) for _ in range(2)]
        self.assertNotEqual(*names)
        for name in names:
            self.assertTrue(re.fullmatch("orders-[0-9a-f]{8}", name), name)
            self.broker.produce(name, b"x", partition=2)
            self.assertRaises(RequestError, self.broker.produce, name, b"x", partition=3)

    def test_configs(self) -> None:
        """A topic's configs may be numbers; a bad one is refused."""
        self.broker.topic("orders", configs={"retention.ms": 1000, "preallocate": False})
        self.assertRaisesRegex(
            RequestError, "retention.ms", self.broker.topic, "orders", configs={"retention.ms": "soon"}
        )

    def test_fields(self) -> None:
        """A message has all that it was produced with, its partition and its offset."""
        topic = self.broker.topic("t", partitions=2)
        headers = [("a", b"1"), ("b", None)]
        self.broker.produce(topic, b"v", None, key=b"k", partition=1, headers=headers, timestamp_ms=77)
        expected = [
            Message(b"k", b"v", tuple(headers), 1, 0, 77),
            Message(b"k", None, tuple(headers), 1, 1, 77),
        ]
        self.assertEqual(self.broker.messages(topic), expected)

    def test_text(self) -> None:
        """Keys and values that are text are encoded as UTF-8."""
        topic = self.broker.topic("t")
        self.broker.produce(topic, "größe", key="é")
        ((key, value, *_),) = self.broker.messages(topic)
        self.assertEqual((key, value), ("é".encode(), "größe".encode()))

    def test_order(self) -> None:
        """Messages are ordered by partition and offset, whenever they came."""
        topic = self.broker.topic("t", partitions=2)
        for partition, value in ((1, "a"), (0, "b"), (1, "c")):
            self.broker.produce(topic, value, partition=partition)
        self.assertEqual([message.value for message in self.broker.messages(topic)], [b"b", b"a", b"c"])

    def test_waits(self) -> None:
        """With a count messages that come later are waited for, each is returned once."""
        topic = self.broker.topic("t")
        self.broker.produce(topic, "0")
        pauses: list[float] = []

        def sleep(pause_s: float) -> None:
            pauses.append(pause_s)
            self.broker.produce(topic, str(len(pauses)))

        found = read_messages(self.broker.bootstrap, topic, 3, 60.0, sleep=sleep)
        self.assertEqual([message.value for message in found], [b"0", b"1", b"2"])
        self.assertEqual(len(pauses), 2)

    def test_too_few(self) -> None:
        """The error says how many messages there are, and how many there should be."""
        topic = self.broker.topic("t")
        self.broker.produce(topic, "0")
        with self.assertRaisesRegex(MessagesMissing, f"'{topic}' has 1 of 2 messages after 0 s"):
            self.broker.messages(topic, 2, timeout_s=0)

    def test_unknown_topic(self) -> None:
        """A topic that does not exist is an error; with a count it may still come."""
        self.assertRaises(UnknownTopic, self.broker.messages, "absent")
        self.assertRaises(MessagesMissing, self.broker.messages, "absent", 1, timeout_s=0)
