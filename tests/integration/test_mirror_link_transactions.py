"""A link whose source has an open transaction: after the promotion readers of committed records go on."""

from __future__ import annotations

import logging
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kafkatx.testing.messages import create_topic
from tests.integration.links import LinkCase

TOPIC = "payments"
LONG_S = 20.0


class OpenTransactionTests(LinkCase):
    def setUp(self) -> None:
        """Start a target of one broker."""
        super().setUp()
        self.target = self.broker().bootstrap
        self.quiet = logging.getLogger("tests.mirror.transactions")
        self.quiet.disabled = True

    def producer(self, name: str, bootstrap: str) -> Producer:
        """Return an initialized producer of librdkafka."""
        producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": name, "logger": self.quiet, "linger.ms": 0}
        )
        producer.init_transactions(LONG_S)
        return producer

    def begin(self, producer: Producer, *values: bytes) -> None:
        """Begin a transaction with some values."""
        producer.begin_transaction()
        for value in values:
            producer.produce(TOPIC, value, partition=0)
        self.assertEqual(producer.flush(LONG_S), 0)

    def take(self, consumer: Consumer, count: int) -> list[bytes]:
        """Return the next values that a consumer gets."""
        values: list[bytes] = []
        end_s = time.monotonic() + LONG_S
        while len(values) < count and time.monotonic() < end_s:
            message = consumer.poll(0.5)
            if message is not None and not message.error():
                values.append(message.value() or b"")
        return values

    def test_refused(self) -> None:
        """A transaction of the target with a mirror in it has to be aborted, and the producer goes on."""
        create_topic(self.source.bootstrap, TOPIC, 1, {})
        self.add(TOPIC)
        self.caught_up(1)
        create_topic(self.target, "other", 1, {})
        own = self.producer("own", self.target)
        own.begin_transaction()
        own.produce("other", b"x")
        self.assertEqual(own.flush(LONG_S), 0)
        own.produce(TOPIC, b"refused", partition=0)
        failed = self.assertRaises(KafkaException, own.commit_transaction, LONG_S).args[0]
        self.assertTrue(failed.txn_requires_abort(), failed)
        self.assertIn("Policy", str(failed))
        own.abort_transaction(LONG_S)
        own.begin_transaction()
        own.produce("other", b"y")
        own.commit_transaction(LONG_S)
        self.assertEqual(self.status()[0].log_end, 0)

    def test_promotion(self) -> None:
        """Committed values are read, open ones are not, and transactions of the target follow."""
        create_topic(self.source.bootstrap, TOPIC, 1, {})
        first, second = (self.producer(name, self.source.bootstrap) for name in ("first", "second"))
        self.begin(first, b"a", b"b")
        first.commit_transaction(LONG_S)
        self.begin(second, b"open")
        self.begin(first, b"c")
        first.commit_transaction(LONG_S)
        self.add(TOPIC)
        self.caught_up(1, 6)

        consumer = Consumer(
            {"bootstrap.servers": self.target, "group.id": "g", "isolation.level": "read_committed"}
        )
        self.addCleanup(consumer.close)
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        self.assertEqual(self.take(consumer, 2), [b"a", b"b"])
        self.assertIsNone(consumer.poll(0.5))
        self.kafkatx("mirror", "promote", "dc1", "--yes", "--wait", "30")
        self.assertEqual(self.record(TOPIC).ends, (6,))
        self.assertEqual(self.take(consumer, 1), [b"c"])
        own = self.producer("own", self.target)
        self.begin(own, b"d")
        own.commit_transaction(LONG_S)
        self.begin(own, b"aborted")
        own.abort_transaction(LONG_S)
        self.begin(own, b"e")
        own.commit_transaction(LONG_S)
        self.assertEqual(self.take(consumer, 2), [b"d", b"e"])
        self.assertEqual(self.status()[0].log_end, 13)
