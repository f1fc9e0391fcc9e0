"""kafka-python with the versions of a broker of its choice: it does not ask for ours."""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.handlers import SERVED
from kafkatx.testing import EmbeddedBroker

GROUPS_SINCE = (0, 9)
PINS = (
    (0, 8, 2),
    (0, 9),
    (0, 10, 0),
    (0, 10, 2),
    (0, 11),
    (1, 0),
    (2, 0),
    (2, 4),
    (2, 8),
    (3, 0),
    (3, 9),
    (4, 0),
)
"""Releases of Apache Kafka whose table of versions the client has built in."""

NOT_SERVED = {
    **dict.fromkeys((4, 5, 6, 7, 56, 58, 67), "between brokers"),
    **dict.fromkeys((38, 39, 40, 41), "delegation tokens"),
    **dict.fromkeys((64, 80, 81), "the quorum of KRaft"),
}
"""APIs of these releases that the broker has not."""

SENT = [b"1", b"2", b"3"]
WAIT_S = 30.0


class TableTests(SynchronousTestCase):
    def test_served(self) -> None:
        """All versions that a client may send to Apache Kafka 4.0 or older are served, but for some APIs."""
        served = {line.api.key: line.api.versions for line in SERVED}
        missing = {
            (key, version)
            for release, table in BROKER_API_VERSIONS.items()
            if release <= PINS[-1]
            for key, (oldest, newest) in table.items()
            for version in range(oldest, newest + 1)
            if version not in served.get(key, ()) and key not in NOT_SERVED
        }
        self.assertEqual(missing, {(27, 0)}, "WriteTxnMarkers 0 comes from brokers of Kafka 2.7 and older")


class PinnedVersionsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """One broker serves all."""
        self.broker = EmbeddedBroker({"group.initial.rebalance.delay.ms": 0}, run_in="process").start()
        self.addCleanup(self.broker.stop)

    def test_each(self) -> None:
        """With each pin a client produces, joins a group, and consumes what was sent."""
        for pin in PINS:
            topic = "pin-" + ".".join(map(str, pin))
            self.broker.topic(topic)
            settings: dict[str, Any] = {"bootstrap_servers": self.broker.bootstrap, "api_version": pin}
            producer = KafkaProducer(**settings)
            for value in SENT:
                producer.send(topic, value).get(WAIT_S)
            producer.close()
            self.assertEqual(self.consume(topic, settings, pin >= GROUPS_SINCE), SENT, pin)

    def consume(self, topic: str, settings: dict[str, Any], joins: bool) -> list[bytes]:
        """Return what a consumer reads, in a group if the version has them."""
        group = {"group_id": f"of-{topic}"} if joins else {}
        consumer = KafkaConsumer(topic, auto_offset_reset="earliest", **settings, **group)
        read: list[bytes] = []
        end_s = time.monotonic() + WAIT_S
        while len(read) < len(SENT) and time.monotonic() < end_s:
            for records in consumer.poll(timeout_ms=100).values():
                read += [record.value for record in records]
        consumer.close()
        return read
