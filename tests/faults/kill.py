"""kill -9 at 200 random moments of load, with rolls, retention and compaction at work."""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from tests.ports import free_port

KILLS = 200
SEED = 20261122
LOAD_S = (0.02, 0.5)
MOST_RESTART_S = 2.0
DEADLINE_S = 60.0
KEYS = 500
BURST, PAUSE_S = 20, 0.002

SETTINGS = {
    "log.segment.bytes": "60000",
    "log.retention.check.interval.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "250",
    "log.segment.delete.delay.ms": "300",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
TOPICS = {
    "kept": {},
    "flushed": {"flush.messages": "1"},
    "retained": {"retention.bytes": "300000"},
    "compacted": {"cleanup.policy": "compact"},
}


class Load(threading.Thread):
    """Produces numbered messages to one topic until told to stop; each is acknowledged, or a failure."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name=f"load of {topic}")
        self.topic = topic
        self.sent = 0
        self.acknowledged = 0
        self.failed: list[Any] = []
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "queue.buffering.max.messages": 5000,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        """Produce, then wait for what is still on its way."""
        while not self._stopping.is_set():
            try:
                for _ in range(BURST):
                    number = self.sent
                    self._producer.produce(
                        self.topic, b"%d" % number, b"%d" % (number % KEYS), 0, on_delivery=self._delivered
                    )
                    self.sent += 1
            except BufferError:
                pass
            self._producer.poll(PAUSE_S)
        self._producer.flush(DEADLINE_S)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.failed.append(error)

    def stop(self) -> None:
        """Stop producing; returns when all is acknowledged or has failed."""
        self._stopping.set()
        self.join()


def stored(bootstrap: str, topic: str) -> Iterator[tuple[int, int]]:
    """Offset and number of every message of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    deadline_s = time.monotonic() + DEADLINE_S
    try:
        while time.monotonic() < deadline_s:
            for message in consumer.consume(10_000, timeout=0.5):
                error = message.error()
                if error is None:
                    yield message.offset(), int(message.value())
                elif error.code() == KafkaError._PARTITION_EOF:
                    return
                else:
                    raise AssertionError(error)
        raise AssertionError(f"{topic} could not be read to its end in {DEADLINE_S} s")
    finally:
        consumer.close()


class KillTests(SynchronousTestCase):
    """A broker that is killed again and again."""

    def test_kills(self) -> None:
        """Every acknowledged record is there once and in order; restarts take less than two seconds."""
        moments = random.Random(SEED)
        restarts_s: list[float] = []
        with tempfile.TemporaryDirectory(prefix="kafkatx-") as data_dir:
            settings = {**SETTINGS, "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
            broker = EmbeddedBroker(settings, data_dir=data_dir, run_in="process").start()
            self.addCleanup(broker.stop)
            self._create(broker.bootstrap)
            loads = [Load(broker.bootstrap, topic) for topic in TOPICS]
            for load in loads:
                load.start()
            try:
                for _ in range(KILLS):
                    time.sleep(moments.uniform(*LOAD_S))  # real load on a real process
                    broker.kill()
                    restarts_s.append(timed(broker.start))
            finally:
                for load in loads:
                    load.stop()
            sys.stdout.write(
                f"{KILLS} restarts: median {statistics.median(restarts_s):.2f} s, "
                f"longest {max(restarts_s):.2f} s; {sum(load.sent for load in loads)} messages\n"
            )
            for load in loads:
                self.assertEqual((load.failed[:1], load.acknowledged), ([], load.sent), load.topic)
                self._check(load, list(stored(broker.bootstrap, load.topic)))
            broker.stop()
        self.assertLess(max(restarts_s), MOST_RESTART_S)

    def _create(self, bootstrap: str) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]
        for made in admin.create_topics(topics).values():
            made.result(DEADLINE_S)

    def _check(self, load: Load, found: list[tuple[int, int]]) -> None:
        """Sent once and in order to one partition, the n-th message has offset n."""
        self.assertEqual([pair for pair in found if pair[0] != pair[1]][:3], [], load.topic)
        numbers = [number for _, number in found]
        first = {"kept": 0, "flushed": 0}.get(load.topic, numbers[0])
        if load.topic != "compacted":
            self.assertEqual(numbers, list(range(first, load.sent)), load.topic)
            return
        self.assertEqual(numbers, sorted(set(numbers)))
        last = {number % KEYS: number for number in range(load.sent)}
        self.assertEqual(set(last.values()) - set(numbers), set())
        self.assertLess(len(numbers), load.sent, "nothing was compacted")


def timed(action: Callable[[], Any]) -> float:
    """Return the number of seconds that it takes."""
    started_s = time.perf_counter()
    action()
    return time.perf_counter() - started_s
