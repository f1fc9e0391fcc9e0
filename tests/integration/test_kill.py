"""kill -9 under load: what was acknowledged is there once, in order."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from typing import Any

from confluent_kafka import Producer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import DEADLINE_S, Confluent, new_topic
from tests.ports import free_port

KILLS = 20
SEED = 20261121
MOST_LOAD_S = 0.6


class Load(threading.Thread):
    """Produces numbered messages without pause; notes which were acknowledged, in the order of that."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name="load")
        self.acknowledged: list[int] = []
        self.failed: list[Any] = []
        self.sent = 0
        self._topic = topic
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "queue.buffering.max.messages": 20_000,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        """Produce until told to stop, then wait for what is still on its way."""
        while not self._stopping.is_set():
            try:
                self._producer.produce(
                    self._topic, b"%d" % self.sent, partition=0, on_delivery=self._delivered
                )
                self.sent += 1
            except BufferError:
                self._producer.poll(0.01)
            self._producer.poll(0)
        self._producer.flush(DEADLINE_S)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged.append(int(message.value()))
        else:
            self.failed.append(error)

    def stop(self) -> None:
        """Stop producing; returns when all is acknowledged or has failed."""
        self._stopping.set()
        self.join()


class KillTests(SynchronousTestCase):
    """A broker that is killed again and again."""

    def test_acknowledged_once_and_in_order(self) -> None:
        """After 20 kills under an idempotent producer, all that was acknowledged is there once, in order."""
        moments = random.Random(SEED)
        topic = new_topic()
        with tempfile.TemporaryDirectory(prefix="kafkatx-") as data_dir:
            settings = {
                "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
                "log.segment.bytes": "1000000",
            }
            broker = EmbeddedBroker(settings, data_dir=data_dir, run_in="process").start()
            self.addCleanup(broker.stop)
            Confluent(broker.bootstrap).create(topic, 1)
            load = Load(broker.bootstrap, topic)
            load.start()
            for _ in range(KILLS):
                time.sleep(moments.uniform(0.05, MOST_LOAD_S))  # real load on a real process
                broker.kill()
                broker.start()
            load.stop()
            stored = [int(value) for _, value in Confluent(broker.bootstrap).read(topic, load.sent)]
            broker.stop()
        self.assertEqual(load.failed, [])
        self.assertEqual(len(load.acknowledged), load.sent)
        self.assertEqual(stored, list(range(load.sent)))
