"""SimpleConsumer and ConsumerConnector, the consumers of the seeds, and real brokers."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Producer
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.admin.admin import Admin
from kafkatx.client.legacy.consumer_connector import ConsumerConnector
from kafkatx.client.legacy.message_streams import MessageStream
from kafkatx.client.legacy.simple_consumer import SimpleConsumer
from kafkatx.clientcore.errors import OffsetOutOfRange
from kafkatx.clientcore.legacy.topic_filter import Whitelist
from tests.integration.clients import DEADLINE_S, new_topic
from tests.integration.shared import ClientCase

PAUSE_S = 0.05


async def until(true: Callable[[], bool]) -> None:
    """Wait for something; trial's time-out ends it."""
    while not true():
        await deferLater(reactor, PAUSE_S)


async def produce(bootstrap: str, topic: str, values: Iterable[bytes], partition: int = 0) -> None:
    """Send with librdkafka, and wait until all are there."""

    def send() -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "zstd"})
        for value in values:
            producer.produce(topic, value, partition=partition)
        producer.flush(DEADLINE_S)

    await deferToThread(send)


class SeedsTestCase(ClientCase, TestCase):
    timeout = 90

    async def make_topic(self, partitions: int, name: str = "", bootstrap: str = "", **configs: str) -> str:
        """A new topic."""
        name = name or new_topic()
        admin = Admin(bootstrap_servers=bootstrap or self.bootstrap)
        try:
            await admin.start()
            named = {key.replace("_", "."): value for key, value in configs.items()}
            await admin.create_topic(name, partitions, configs=named)
            while name not in {topic.name for topic in await admin.list_topics()}:
                await deferLater(reactor, PAUSE_S)  # in KRaft a broker hears of it a little later
        finally:
            await admin.close()
        return name


class SimpleConsumerTests(SeedsTestCase):
    """:cvar tells_segments: whether the broker has ListOffsets 0, which Apache Kafka 4 has not."""

    tells_segments = True

    async def setUp(self) -> None:  # type: ignore[override]
        """Connect."""
        self.consumer = SimpleConsumer(bootstrap_servers=self.bootstrap)
        self.addCleanup(self.consumer.close)
        await self.consumer.start()

    async def test_fetch(self) -> None:
        """All records come, request by request; at the end there are none, and beyond it is an error."""
        topic = await self.make_topic(1)
        values = [b"%d" % number * 50 for number in range(2000)]
        await produce(self.bootstrap, topic, values)
        offset, seen = 0, []
        while offset < len(values):
            found = await self.consumer.fetch(topic, 0, offset, 10_000)
            seen += [record.value for record in found]
            offset = found.next_offset
        self.assertEqual(seen, values)
        self.assertEqual(list(await self.consumer.fetch(topic, 0, offset, max_wait_ms=10)), [])
        with self.assertRaises(OffsetOutOfRange):
            await self.consumer.fetch(topic, 0, offset + 1)

    async def test_waits(self) -> None:
        """A fetch at the end gets what comes while it waits."""
        topic = await self.make_topic(1)
        waiting = self.consumer.fetch(topic, 0, 0, max_wait_ms=20_000)
        await produce(self.bootstrap, topic, [b"a"])
        self.assertEqual([record.value for record in await waiting], [b"a"])

    async def test_multifetch(self) -> None:
        """Several partitions in one call, each with its own answer."""
        first, second = await self.make_topic(2), await self.make_topic(1)
        await produce(self.bootstrap, first, [b"a"])
        await produce(self.bootstrap, first, [b"b"], partition=1)
        await produce(self.bootstrap, second, [b"c"])
        found = await self.consumer.multifetch([(second, 0, 0), (first, 1, 0), (first, 9, 0), (first, 0, 0)])
        self.assertEqual([[r.value for r in one.records] for one in found], [[b"c"], [b"b"], [], [b"a"]])
        self.assertIsNotNone(found[2].error)

    async def test_offsets_before(self) -> None:
        """The offsets of segments, the largest first, as in Kafka 0.7."""
        topic = await self.make_topic(1, segment_bytes=str(1 << 20))
        for _ in range(5):
            await produce(self.bootstrap, topic, [os.urandom(900_000)])
        latest = await self.consumer.offsets_before(topic, 0, -1, 10)
        self.assertEqual((latest[0], latest[-1]), (5, 0))
        self.assertEqual(latest, sorted(latest, reverse=True))
        self.assertEqual(len(latest) > 2, self.tells_segments, latest)
        self.assertEqual(await self.consumer.offsets_before(topic, 0, -1, 2), latest[:2])
        self.assertEqual(await self.consumer.offsets_before(topic, 0, -2, 10), [0])
        early = await self.consumer.offsets_before(topic, 0, 1, 10)
        self.assertEqual(early, [] if self.tells_segments else [0])


class Readers:
    """Coroutines that read streams; ``seen`` counts the values."""

    def __init__(self) -> None:
        self.seen: Counter[Any] = Counter()
        self.running: list[Deferred[None]] = []

    def read(self, *streams: MessageStream) -> None:
        """Read these until they end."""
        self.running += [Deferred.fromCoroutine(self._read(stream)) for stream in streams]

    async def _read(self, stream: MessageStream) -> None:
        async for record in stream:
            self.seen[record.value] += 1


class ConnectorTests(SeedsTestCase):
    async def connector(self, group: str, bootstrap: str = "", **settings: Any) -> ConsumerConnector:
        """A connector that begins at the start of topics; shut down when the test is over."""
        connector = ConsumerConnector(
            {"bootstrap.servers": bootstrap or self.bootstrap, "group.id": group, **settings},
            auto_offset_reset="earliest",
            partition_assignment_strategy="range",
            reactor=reactor,
        )
        self.addCleanup(connector.shutdown)
        await connector.start()
        return connector

    async def test_share(self) -> None:
        """Two connectors share a topic; when one is shut down the other reads all, and nothing is lost."""
        topic = await self.make_topic(4)
        readers = Readers()
        first, second = await self.connector(topic), await self.connector(topic)
        readers.read(*first.create_message_streams({topic: 2})[topic])
        readers.read(*second.create_message_streams({topic: 2})[topic])
        for partition in range(4):
            await produce(self.bootstrap, topic, [b"%d-%d" % (partition, n) for n in range(500)], partition)
        await until(lambda: len(readers.seen) == 2000)
        await first.commit_offsets()
        await first.shutdown()
        for running in readers.running[:2]:
            await running
        for partition in range(4):
            await produce(
                self.bootstrap, topic, [b"%d-%d" % (partition, n) for n in range(500, 600)], partition
            )
        await until(lambda: len(readers.seen) == 2400)
        self.assertEqual(readers.seen.total(), 2400)

    async def test_filter(self) -> None:
        """Topics that come later are read, too."""
        prefix = new_topic()
        await self.make_topic(1, f"{prefix}-a")
        await produce(self.bootstrap, f"{prefix}-a", [b"a"])
        connector = await self.connector(prefix, metadata_max_age_ms=500)
        readers = Readers()
        readers.read(*connector.create_message_streams_by_filter(Whitelist(f"{prefix}-.*"), 2))
        await until(lambda: readers.seen == {b"a": 1})
        await self.make_topic(1, f"{prefix}-b")
        await produce(self.bootstrap, f"{prefix}-b", [b"b"])
        await until(lambda: readers.seen == {b"a": 1, b"b": 1})

    async def test_threads(self) -> None:
        """The paper's loop: a thread iterates over a stream, and ends with the connector."""
        topic = await self.make_topic(2)
        connector = await self.connector(topic)
        streams = connector.create_message_streams({topic: 2})[topic]
        seen: list[list[bytes]] = [[], []]

        def loop(number: int) -> str:
            for message in streams[number]:
                seen[number].append(message.value)
            return "ended"

        threads = [deferToThread(loop, number) for number in range(2)]
        values = [b"%d" % number for number in range(3000)]
        await produce(self.bootstrap, topic, values)
        await produce(self.bootstrap, topic, values, partition=1)
        await until(lambda: all(len(one) == 3000 for one in seen))
        self.assertEqual(seen, [values, values])
        await connector.shutdown()
        self.assertEqual([await thread for thread in threads], ["ended", "ended"])
        other = await self.connector(topic)
        readers = Readers()
        readers.read(*other.create_message_streams({topic: 1})[topic])
        await produce(self.bootstrap, topic, [b"last"])
        await until(lambda: readers.seen.total() > 0)
        self.assertEqual(readers.seen, {b"last": 1})

    async def test_slow_thread(self) -> None:
        """A thread that gets on keeps its partitions, however long all that it was given takes."""
        topic = await self.make_topic(1)
        values = [b"%d" % number for number in range(8)]
        await produce(self.bootstrap, topic, values)
        connector = await self.connector(topic, max_poll_interval_ms=2000, session_timeout_ms=6000)
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        seen: list[bytes] = []

        def loop() -> None:
            for message in stream:
                seen.append(message.value)
                time.sleep(0.6)

        thread = deferToThread(loop)
        await until(lambda: len(seen) == len(values))
        self.assertEqual(seen, values)
        await connector.shutdown()
        await thread

    async def test_kill(self) -> None:
        """A broker that is killed and started again: streams wait, and go on without a gap."""
        broker = self.make_broker()
        await deferToThread(broker.start)
        topic = await self.make_topic(2, bootstrap=broker.bootstrap)
        connector = await self.connector("g", broker.bootstrap, session_timeout_ms=6000)
        readers = Readers()
        readers.read(*connector.create_message_streams({topic: 2})[topic])
        for turn in range(3):
            for partition in range(2):
                values = [b"%d-%d-%d" % (turn, partition, number) for number in range(300)]
                await produce(broker.bootstrap, topic, values, partition)
            await until(lambda: len(readers.seen) == 600 * (turn + 1))  # noqa: B023
            await deferToThread(broker.kill)
            await deferToThread(broker.start)
        self.assertEqual(len(readers.seen), 1800)
        self.assertEqual([one for one in readers.running if one.called], [])
