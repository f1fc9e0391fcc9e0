"""The Twisted producer against a real broker: what arrives, and what is left after kill -9 under load."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.producer.producer import Producer
from tests.integration.clients import CODECS, Confluent, messages, new_topic
from tests.integration.shared import ClientCase

reactor: Any = installed_reactor
SEED = 20261123
LOAD_S = (0.05, 0.4)
BUFFER_BYTES = 200_000
SENT = 100
"""Records that are sent at least between two kills."""


class ProducerTests(ClientCase, TestCase):
    """One broker for all of them."""

    timeout = 120

    def producer(self, **settings: Any) -> Producer:
        """A producer that is closed with the test."""
        producer = Producer(bootstrap_servers=self.bootstrap, reactor=reactor, **settings)
        self.addCleanup(producer.close)
        return producer

    async def read(self, topic: str, count: int) -> list[tuple[bytes, bytes]]:
        """Read partition 0 with librdkafka."""
        found: Any = await deferToThread(Confluent(self.bootstrap).read, topic, count)
        return list(found)

    async def _everything_arrives(self, **settings: Any) -> None:
        topic, pairs = new_topic(), messages(3000)
        producer = await self.producer(**settings).start()
        waiting = [producer.send(topic, value, key, partition=0) for key, value in pairs]
        await producer.flush()
        offsets = [(await each).offset for each in waiting]
        if settings.get("acks") != 0:
            self.assertEqual(offsets, list(range(len(pairs))))
        self.assertEqual(await self.read(topic, len(pairs)), pairs)

    def _case(self, **settings: Any) -> Deferred[None]:
        return Deferred.fromCoroutine(self._everything_arrives(**settings))

    def test_lists(self) -> Deferred[None]:
        """Lists arrive whole and in order, with the offsets that are told."""

        async def run() -> None:
            topic = new_topic()
            producer = await self.producer().start()
            lists = [[b"%d-%d" % (i, j) for j in range(50)] for i in range(100)]
            waiting = [producer.send_batch(topic, values, partition=0) for values in lists]
            told = [await each for each in waiting]
            self.assertEqual([each[2:5] for each in told], [(50 * i, 50 * i + 49, 50) for i in range(100)])
            found = await self.read(topic, 5000)
            self.assertEqual([value for _, value in found], [value for values in lists for value in values])

        return Deferred.fromCoroutine(run())


def _add_cases() -> None:
    cases = {f"codec_{codec}": {"compression_type": codec} for codec in CODECS}
    more: dict[str, dict[str, Any]] = {
        "acks_0": {"acks": 0},
        "acks_1": {"acks": 1},
        "not_idempotent": {"enable_idempotence": False},
        "sync": {"producer_type": "sync"},
        "small_batches": {"batch_size": 1, "linger_ms": 0},
    }
    for name, settings in {**cases, **more}.items():

        def test(self: ProducerTests, settings: dict[str, Any] = settings) -> Deferred[None]:
            return self._case(**settings)

        test.__doc__ = f"Records arrive once and in order, as another client reads them, with {settings}."
        setattr(ProducerTests, f"test_{name}", test)


_add_cases()


class Load:
    """Sends numbered records and lists as fast as there is room, until it is told to stop."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self.sent = 0
        self.most_bytes = 0
        self.waiting: list[Deferred[Any]] = []
        self._producer = producer
        self._topic = topic
        self._stopping = False

    async def run(self) -> None:
        """Send; each answer is kept."""
        while not self._stopping:
            await self._producer.ready()
            if self.sent % 3:
                self._keep(1, lambda: self._producer.send(self._topic, b"%d" % self.sent, partition=0))
            else:
                values = [b"%d" % (self.sent + i) for i in range(20)]
                self._keep(20, lambda: self._producer.send_batch(self._topic, values, partition=0))  # noqa: B023
            self.most_bytes = max(self.most_bytes, self._producer._accumulator.used_bytes)
            if len(self.waiting) % 50 == 0:
                await deferLater(reactor, 0.002)

    def _keep(self, count: int, send: Callable[[], Deferred[Any]]) -> None:
        self.waiting.append(send())
        self.sent += count

    async def sends(self, count: int) -> None:
        """Wait until that many more records were sent."""
        until = self.sent + count
        while self.sent < until and not self._stopping:
            await deferLater(reactor, 0.02)

    def stop(self) -> None:
        """Send nothing more."""
        self._stopping = True


class KillTests(ClientCase, TestCase):
    """A broker that is killed again and again."""

    timeout = 600

    def test_kills(self) -> Deferred[None]:
        """After many kills all is there once and in order, no Deferred is left, and memory was bounded."""
        return Deferred.fromCoroutine(self._kills())

    async def _kills(self) -> None:
        moments = random.Random(SEED)
        topic = new_topic()
        broker = self.make_broker({"log.segment.bytes": "1048576"})
        await deferToThread(broker.start)
        producer = await Producer(
            bootstrap_servers=broker.bootstrap,
            buffer_memory=BUFFER_BYTES,
            retry_backoff_ms=20,
            retry_backoff_max_ms=100,
            delivery_timeout_ms=1000 * self.timeout,  # a start takes long on a loaded machine
            max_block_ms=1000 * self.timeout,
            reactor=reactor,
        ).start()
        self.addCleanup(producer.close, 0)
        load = Load(producer, topic)
        self.addCleanup(load.stop)
        running = Deferred.fromCoroutine(load.run())
        for _ in range(self.kills):
            await load.sends(SENT)
            await deferLater(reactor, moments.uniform(*LOAD_S))
            await deferToThread(broker.kill)
            await deferToThread(broker.start)
        load.stop()
        await running
        await producer.close()
        self.assertEqual([each for each in load.waiting if not each.called], [])
        self.assertGreaterEqual(load.sent, SENT * self.kills)
        offset = 0
        for each in load.waiting:
            told = await each
            self.assertEqual(told.base_offset if hasattr(told, "base_offset") else told.offset, offset)
            offset += getattr(told, "records", 1)
        stored: Any = await deferToThread(Confluent(broker.bootstrap).read, topic, load.sent)
        self.assertEqual([int(value) for _, value in stored], list(range(load.sent)))
        self.assertLess(load.most_bytes, BUFFER_BYTES + 20 * 64)
        self.assertEqual(producer._accumulator.used_bytes, 0)
