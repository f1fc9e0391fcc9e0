"""Compaction in a running broker, under the load of a real client."""

from __future__ import annotations

import random
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import DEADLINE_S, new_topic

KEYS = 50
UPDATES = 30_000
SEED = 20261122


class CompactionTests(SynchronousTestCase):
    """A broker whose cleaner has much to do."""

    def setUp(self) -> None:
        """A broker, and a compacted topic with small segments."""
        settings = {
            "log.cleaner.backoff.ms": "50",
            "log.retention.check.interval.ms": "100",
            "log.segment.delete.delay.ms": "100",
        }
        self.broker = EmbeddedBroker(settings, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        self.topic = new_topic()

    def create(self, **configs: str) -> None:
        """Create the topic."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        config = {
            "cleanup.policy": "compact",
            "segment.bytes": "50000",
            "min.cleanable.dirty.ratio": "0.01",
            **{name.replace("_", "."): value for name, value in configs.items()},
        }
        admin.create_topics([NewTopic(self.topic, 1, 1, config=config)])[self.topic].result(DEADLINE_S)

    def producer(self) -> Any:
        """An idempotent producer."""
        return Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "log_level": 0,
            }
        )

    def read_all(self) -> list[tuple[int, bytes, bytes | None]]:
        """Offset, key and value of every record there is now."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": "unused",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.topic, 0, OFFSET_BEGINNING)])
        found = []
        while True:
            message = consumer.poll(DEADLINE_S)
            assert message is not None
            if message.error():
                break  # the end of the partition
            found.append((message.offset(), message.key(), message.value()))
        consumer.close()
        return found

    def wait_for(self, condition: Any) -> Any:
        """Ask until the answer is not false."""
        deadline = time.monotonic() + DEADLINE_S
        while not (answer := condition()):
            self.assertLess(time.monotonic(), deadline, self.broker.output())
            time.sleep(0.05)  # a real process works on it
        return answer

    def test_last_values_under_load(self) -> None:
        """While keys are updated and the cleaner is at work, and after a kill, every last value is read."""
        self.create()
        rounds = random.Random(SEED)
        last: dict[bytes, bytes] = {}
        producer = self.producer()
        for number in range(UPDATES):
            key = b"key-%d" % rounds.randrange(KEYS)
            last[key] = b"%d" % number + b"x" * 50
            producer.produce(self.topic, last[key], key)
            producer.poll(0)
            if number % 100 == 0:
                producer.flush(DEADLINE_S)
        self.assertEqual(producer.flush(DEADLINE_S), 0)

        def compacted() -> Any:
            found = self.read_all()
            return found if len(found) < UPDATES // 10 else None

        found = self.wait_for(compacted)
        self.assertEqual({key: value for _, key, value in found}, last)
        offsets = [offset for offset, _, _ in found]
        self.assertEqual(offsets, sorted(set(offsets)))
        self.assertEqual(offsets[-1], UPDATES - 1)
        self.broker.kill()
        self.broker.start()
        self.assertEqual({key: value for _, key, value in self.read_all()}, last)
        self.assertNotIn("Traceback", self.broker.output())

    def test_tombstones_vanish(self) -> None:
        """A key without a value goes as a whole after delete.retention.ms, when more is written."""
        self.create(delete_retention_ms="300")
        producer = self.producer()
        producer.produce(self.topic, b"value", b"gone")
        producer.produce(self.topic, None, b"gone")
        producer.flush(DEADLINE_S)

        def vanished() -> bool:
            for number in range(200):
                producer.produce(self.topic, b"y" * 500, b"filler-%d" % (number % 3))
            producer.flush(DEADLINE_S)
            return b"gone" not in {key for _, key, _ in self.read_all()}

        self.wait_for(vanished)
        keys = {key for _, key, _ in self.read_all()}
        self.assertEqual(keys, {b"filler-0", b"filler-1", b"filler-2"})

    def test_stops_while_cleaning(self) -> None:
        """The broker stops cleanly whatever the cleaner is at, and finds all again."""
        self.create()
        producer = self.producer()
        for number in range(5000):
            producer.produce(self.topic, b"%d" % number, b"key-%d" % (number % KEYS))
        producer.flush(DEADLINE_S)
        for _ in range(3):
            self.broker.stop()
            self.broker.start()
        last = {key: value for _, key, value in self.read_all()}
        self.assertEqual(last, {b"key-%d" % (n % KEYS): b"%d" % n for n in range(5000 - KEYS, 5000)})
