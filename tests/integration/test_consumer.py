"""The Twisted consumer against real brokers: what it reads, kill -9 under load, memory, slow functions."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.consumer.record import Record
from tests.integration.clients import CLIENTS, CODECS, Confluent, messages, new_topic
from tests.integration.shared import ClientCase
from tests.measured import check_below

reactor: Any = installed_reactor
SEED = 20261124
LOAD_S = (0.1, 0.6)
READAHEAD_BYTES = 4 << 20
FILLED_BYTES = 100 << 20


def run(work: Coroutine[Any, Any, Any]) -> Deferred[Any]:
    """Return the Deferred that trial waits for."""
    return Deferred.fromCoroutine(work)


class ConsumerTests(ClientCase, TestCase):
    """One broker for all of them."""

    timeout = 120

    async def consumer(self, *topics: str, **settings: Any) -> Consumer:
        """A consumer that begins at the start, and is closed with the test."""
        consumer = Consumer(
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            reactor=reactor,
            **settings,
        )
        self.addCleanup(consumer.close)
        if topics:
            consumer.subscribe(topics)
        return await consumer.start()

    async def topic(self, partitions: int = 1) -> str:
        """A new topic."""
        name = new_topic()
        await deferToThread(Confluent(self.bootstrap).create, name, partitions)
        return name

    async def fill(self, topic: str, count: int, partitions: int = 1) -> None:
        """Numbered records, one partition after the other."""
        producer = await Producer(bootstrap_servers=self.bootstrap, reactor=reactor).start()
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=number % partitions)
        await producer.flush()
        await producer.close()

    async def _reads(self, client: str, codec: str) -> None:
        topic, pairs = new_topic(), messages(2000)
        other = CLIENTS[client](self.bootstrap)
        await deferToThread(other.create, topic, 1)
        await deferToThread(other.produce, topic, codec, pairs)
        consumer = await self.consumer()
        consumer.assign([(topic, 0)])
        found: list[Record] = []
        async for record in consumer:
            found.append(record)
            if len(found) == len(pairs):
                break
        self.assertEqual([(record.key, record.value) for record in found], pairs)
        self.assertEqual([record.offset for record in found], list(range(len(pairs))))

    def test_four_ways(self) -> Deferred[None]:
        """The loop, getmany, a function and a stream in a thread give the same records, each once."""

        async def ways() -> None:
            topic = await self.topic(3)
            await self.fill(topic, 3000, 3)
            expected = sorted(b"%d" % number for number in range(3000))
            for way in (self._loop, self._getmany, self._process, self._stream):
                consumer = await self.consumer(topic, group_id=new_topic())
                found = await way(consumer, 3000)
                self.assertEqual(sorted(r.value for r in found), expected, way.__name__)
                for partition in range(3):
                    offsets = [record.offset for record in found if record.partition == partition]
                    self.assertEqual(offsets, list(range(1000)), way.__name__)
                await consumer.close()

        return run(ways())

    async def _loop(self, consumer: Consumer, count: int) -> list[Record]:
        found: list[Record] = []
        async for record in consumer:
            found.append(record)
            if len(found) == count:
                break
        return found

    async def _getmany(self, consumer: Consumer, count: int) -> list[Record]:
        found: list[Record] = []
        while len(found) < count:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                found += records
        return found

    async def _process(self, consumer: Consumer, count: int) -> list[Record]:
        found: list[Record] = []
        all_come: Deferred[None] = Deferred()

        def work(record: Record) -> None:
            found.append(record)
            if len(found) == count:
                all_come.callback(None)

        processing = consumer.process(work)
        await all_come
        await consumer.close()
        await processing
        return found

    async def _stream(self, consumer: Consumer, count: int) -> list[Record]:
        found: list[Record] = []

        def iterate() -> None:
            for record in consumer.stream():
                found.append(record)
                if len(found) == count:
                    return

        await deferToThread(iterate)
        return found

    def test_stream_ends_with_the_consumer(self) -> Deferred[None]:
        """A thread that waits for records goes on when the consumer is closed."""

        async def ends() -> None:
            topic = await self.topic()
            await self.fill(topic, 10)
            consumer = await self.consumer(topic, group_id=new_topic())
            seen: list[Record] = []
            iterating = deferToThread(lambda: seen.extend(consumer.stream()))
            await self.until(lambda: len(seen) == 10)
            await consumer.close()
            await iterating

        return run(ends())

    def test_other_clients_see_commits(self) -> Deferred[None]:
        """Another client's member of the group continues at the committed offsets."""

        async def commits() -> None:
            topic, group = await self.topic(), new_topic()
            await self.fill(topic, 100)
            consumer = await self.consumer(topic, group_id=group, enable_auto_commit=False)
            seen = 0
            async for _ in consumer:
                seen += 1
                if seen == 40:
                    break
            await consumer.commit()
            await consumer.close()
            offset: Any = await deferToThread(self._committed, group, topic)
            self.assertEqual(offset, 40)

        return run(commits())

    def _committed(self, group: str, topic: str) -> int:
        from confluent_kafka import Consumer as Other
        from confluent_kafka import TopicPartition as Place

        other = Other({"bootstrap.servers": self.bootstrap, "group.id": group})
        (found,) = other.committed([Place(topic, 0)], 10)
        other.close()
        offset: int = found.offset
        return offset

    def test_slow_function(self) -> Deferred[None]:
        """A record that takes longer than max.poll.interval.ms costs the partitions; others get them."""

        async def slow() -> None:
            topic, group = await self.topic(), new_topic()
            await self.fill(topic, 3)
            how: Any = {"group_id": group, "max_poll_interval_ms": 1500, "session_timeout_ms": 6000}
            first = await self.consumer(topic, **how)
            hang: Deferred[None] = Deferred()
            begun: Deferred[None] = Deferred()
            seen: list[int] = []

            def work(record: Record) -> Deferred[None]:
                seen.append(record.offset)
                if not begun.called:
                    begun.callback(None)
                return hang

            first.process(work)
            await begun
            second = await self.consumer(topic, **how)
            record = await second.getone()
            self.assertEqual((record.offset, first.assignment()), (0, frozenset()))
            await second.close()
            hang.callback(None)
            await self.until(lambda: len(seen) >= 3)
            # The second has committed what it was given when it was closed; so the first goes on behind it.
            self.assertEqual(seen, [0, 1, 2])

        return run(slow())

    async def until(self, true: Any, seconds: float = 30.0) -> None:
        """Wait for something."""
        for _ in range(int(seconds / 0.05)):
            if true():
                return
            await deferLater(reactor, 0.05)
        self.fail("it did not come")


def _add_cases() -> None:
    for client in CLIENTS:
        for codec in CODECS:

            def test(self: ConsumerTests, client: str = client, codec: str = codec) -> Deferred[None]:
                return run(self._reads(client, codec))

            test.__doc__ = f"What {client} has sent with {codec} comes whole and in order."
            setattr(ConsumerTests, f"test_reads_{client.replace('-', '_')}_{codec}", test)


_add_cases()

SLOW = """
import json, resource, sys
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from kafkatx.client import Consumer

bootstrap, topic, readahead = sys.argv[1:]
seen = most = 0

def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()

async def main():
    global most
    consumer = Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest",
                        kafkatx_readahead_bytes=int(readahead))
    await consumer.start()
    before = rss()
    consumer.assign([(topic, number) for number in range(4)])

    def work(record):
        global seen
        seen += 1
        return deferLater(reactor, 0.01)

    consumer.process(work)
    for _ in range(30):
        await deferLater(reactor, 0.1)
        most = max(most, rss() - before)
    await consumer.close()
    print(json.dumps({"seen": seen, "grown": most}))
    reactor.stop()

reactor.callWhenRunning(lambda: Deferred.fromCoroutine(main()))
reactor.run()
"""


class MemoryTests(ClientCase, TestCase):
    """A consumer in a process of its own."""

    timeout = 120

    def test_slow_processor(self) -> Deferred[None]:
        """The process of a slow function grows by little more than its read-ahead, however much there is."""

        async def slow() -> None:
            bootstrap, topic = self.bootstrap, new_topic()
            await deferToThread(Confluent(bootstrap).create, topic, 4)
            producer = await Producer(bootstrap_servers=bootstrap, reactor=reactor).start()
            values = [b"v" * 1000] * 100
            for number in range(FILLED_BYTES // 100_000):
                await producer.ready()
                producer.send_batch(topic, values, partition=number % 4)
            await producer.flush()
            await producer.close()
            command = [sys.executable, "-c", SLOW, bootstrap, topic, str(READAHEAD_BYTES)]
            done: Any = await deferToThread(subprocess.run, command, capture_output=True, text=True)
            told = json.loads(done.stdout.splitlines()[-1])
            self.assertGreater(told["seen"], 100)
            check_below(self, told["grown"], 5 * READAHEAD_BYTES, "growth of the consumer, bytes")

        return run(slow())


class Numbers:
    """Sends numbered records until it is told to stop."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self.sent = 0
        self.stopping = False
        self._producer = producer
        self._topic = topic

    async def run(self) -> None:
        """Send; records of each partition are in order."""
        while not self.stopping:
            await self._producer.ready()
            for _ in range(20):
                self._producer.send(self._topic, b"%d" % self.sent, partition=self.sent % 3)
                self.sent += 1
            await deferLater(reactor, 0.005)


class KillTests(ClientCase, TestCase):
    """A broker that is killed again and again."""

    timeout = 300

    def test_kills(self) -> Deferred[None]:
        """After many kills under load a group that commits after its work has lost and doubled nothing."""
        return run(self._kills())

    async def _kills(self) -> None:
        moments = random.Random(SEED)
        broker = self.make_broker(
            {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
        )
        await deferToThread(broker.start)
        self.topic, self.group, self.at = new_topic(), new_topic(), broker.bootstrap
        await deferToThread(Confluent(broker.bootstrap).create, self.topic, 3)
        producer = await Producer(
            bootstrap_servers=broker.bootstrap, retry_backoff_ms=20, reactor=reactor
        ).start()
        numbers = Numbers(producer, self.topic)
        sending = Deferred.fromCoroutine(numbers.run())
        self.seen: list[list[int]] = [[], [], []]
        self.most_bytes = 0
        self.stopping = False
        self.renewed: Deferred[None] = Deferred()
        self.renewed.callback(None)
        working = Deferred.fromCoroutine(self._work())
        for number in range(self.kills):
            await deferLater(reactor, moments.uniform(*LOAD_S))
            await deferToThread(broker.kill)
            await deferToThread(broker.start)
            if number % 4 == 3:
                self.renewed = Deferred()
                await self.renewed
        numbers.stopping = True
        await sending
        await producer.close()
        for _ in range(600):
            if sum(map(len, self.seen)) >= numbers.sent:
                break
            await deferLater(reactor, 0.1)
        self.stopping = True
        await working
        expected = [list(range(partition, numbers.sent, 3)) for partition in range(3)]
        self.assertEqual([len(seen) for seen in self.seen], [len(numbers) for numbers in expected])
        self.assertEqual(self.seen, expected)
        self.assertLess(self.most_bytes, READAHEAD_BYTES)

    async def _work(self) -> None:
        """Read, work, commit; where the test says so a new consumer goes on from what was committed."""
        while not self.stopping:
            consumer = Consumer(
                bootstrap_servers=self.at,
                group_id=self.group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                retry_backoff_ms=20,
                kafkatx_readahead_bytes=READAHEAD_BYTES,
                reactor=reactor,
            )
            consumer.subscribe([self.topic])
            await consumer.start()
            if not self.renewed.called:
                await self._some(consumer)
                self.renewed.callback(None)
            while self.renewed.called and not self.stopping:
                await self._some(consumer)
            await consumer.close()

    async def _some(self, consumer: Consumer) -> None:
        """Some records, or none in 100 ms."""
        found = await consumer.getmany(timeout_ms=100)
        for place, records in found.items():
            self.seen[place.partition] += [int(record.value) for record in records]
        self.most_bytes = max(self.most_bytes, consumer._parts.subscriptions.buffer.buffered_bytes)
        if found:
            await consumer.commit()
