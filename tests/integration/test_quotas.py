"""Client quotas as real clients meet them: told of the time, left alone for it, and nothing is lost."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from tests.integration.clients import DEADLINE_S, Confluent, new_topic
from tests.integration.raw import RawClient

CLIENT_ID = "limited"
COUNT = 60
VALUE = bytes(range(250)) * 4
PAIRS = [(b"%d" % number, VALUE) for number in range(COUNT)]


class QuotaTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker that forgets after two seconds, and a topic."""
        self.broker = EmbeddedBroker({"quota.window.num": "2"}, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        self.bootstrap = self.broker.bootstrap
        self.topic = new_topic()
        self.confluent = Confluent(self.bootstrap)
        self.confluent.create(self.topic, 1)
        self.throttled_ms: list[float] = []

    def limit(self, quota: str, value: float) -> None:
        """Give the client id a quota."""
        entry = EntryData([EntityData("client-id", CLIENT_ID)], [OpData(quota, value)])
        with RawClient(self.bootstrap) as raw:
            (result,) = raw.ask(49, 1, AlterClientQuotasRequest([entry])).entries
        self.assertEqual((result.error_code, result.error_message), (0, None))

    def settings(self) -> dict[str, Any]:
        """Settings of librdkafka, which notes for how long the broker says it is left alone."""
        return {
            "client.id": CLIENT_ID,
            "throttle_cb": lambda event: self.throttled_ms.append(event.throttle_time * 1000),
        }

    def test_produce(self) -> None:
        """librdkafka is told of the time when it produces more than its quota; all it sent is there."""
        self.limit("producer_byte_rate", 30_000)
        self.confluent.produce(self.topic, "none", PAIRS, **{**self.settings(), "batch.num.messages": 5})
        self.assertTrue(self.throttled_ms)
        self.assertEqual(self.confluent.read(self.topic, COUNT), PAIRS)

    def test_consume(self) -> None:
        """librdkafka is told of the time when it fetches more than its quota; it gets all in the end."""
        from confluent_kafka import Consumer, TopicPartition

        self.confluent.produce(self.topic, "none", PAIRS, **{"batch.num.messages": 5})
        self.limit("consumer_byte_rate", 30_000)
        consumer = Consumer(
            {
                **self.settings(),
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 20_000,
            }
        )
        self.addCleanup(consumer.close)
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        found: list[tuple[bytes, bytes]] = []
        while len(found) < COUNT:
            batch = consumer.consume(COUNT - len(found), timeout=DEADLINE_S)
            self.assertTrue(batch, f"only {len(found)} of {COUNT} messages came")
            found += [(message.key(), message.value()) for message in batch]
        self.assertEqual(found, PAIRS)
        self.assertTrue(self.throttled_ms)
