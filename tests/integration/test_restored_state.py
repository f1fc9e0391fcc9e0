"""The state of a cluster is put back to an older copy: all that is acknowledged is stored, and stays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from confluent_kafka import Producer

from kafkatx.testing import EmbeddedBroker
from tests.integration.test_several_brokers import SeveralCase

RECORDS = 30
SAID = "the cluster's state is an older copy"


def produced(bootstrap: str, topic: str, name: str) -> list[str]:
    """Send records by a new idempotent producer to one partition; return their values, all acknowledged."""
    failed: list[object] = []
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 60_000}
    )
    values = [f"{name}-{number}" for number in range(RECORDS)]
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    producer.flush(90)
    assert not failed, failed[0]
    return values


def load(bootstrap: Callable[[], str], topic: str, name: str, producers: int = 3) -> list[str]:
    """Send records by several new producers, one after the other; return what is acknowledged, in order."""
    found: list[str] = []
    for number in range(producers):
        found += produced(bootstrap(), topic, f"{name}{number}")
    return found


def texts(broker: EmbeddedBroker, topic: str, count: int) -> list[str]:
    """Return the values of a topic's records."""
    return [(message.value or b"").decode() for message in broker.messages(topic, count)]


class LocalTests(SeveralCase):
    """``kafkatx up --brokers 2`` with an older kafkatx-tree.sqlite3."""

    def test_older_file(self) -> None:
        """It is noticed, and records of new producers are stored."""
        process = self.cluster(2, "--set", "default.replication.factor=2")
        self.kafkatx("topics", "create", "t", "-p", "1", "-r", "2")
        values = load(lambda: self.bootstrap, "t", "before")
        self.stopped(process)
        state = os.path.join(self.data, "kafkatx-tree.sqlite3")
        shutil.copy(state, state + ".copy")
        process = self.cluster(2)
        values += load(lambda: self.bootstrap, "t", "unknown")
        self.stopped(process)
        os.replace(state + ".copy", state)
        process = self.cluster(2)
        values += load(lambda: self.bootstrap, "t", "after")
        found = self.kafkatx("consume", "t", "-o", "beginning", "-e").split()
        self.assertEqual(found, values)
        self.assertIn(SAID, self.log)
        self.stopped(process)
