"""The Twisted client's administration, and a real broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer as ConfluentProducer
from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.admin.admin import Admin
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource, ResourceType, Source
from kafkatx.clientcore.admin.groups import GroupInUse, UnknownGroup
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from tests.integration.clients import DEADLINE_S, new_topic
from tests.integration.shared import ClientCase
from tests.until import until

PAUSE_S = 0.02


class AdminTests(ClientCase, TestCase):
    timeout = 60

    async def setUp(self) -> None:  # type: ignore[override]
        """Connect, and make a topic of two partitions."""
        self.admin = Admin(bootstrap_servers=self.bootstrap)
        self.addCleanup(self.admin.close)
        await self.admin.start()
        self.topic = new_topic()
        await self.admin.create_topic(self.topic, 2, configs={"retention.ms": "77"})
        await self.partitions(2)
        self.first = TopicPartition(self.topic, 0)
        self.second = TopicPartition(self.topic, 1)

    async def partitions(self, count: int) -> None:
        """Wait until the topic has so many, or is gone (0). In KRaft a broker hears of it a little later."""
        while True:
            listed = {topic.name: len(topic.partitions) for topic in await self.admin.list_topics()}
            if listed.get(self.topic, 0) == count:
                return
            await deferLater(reactor, PAUSE_S)

    async def produce(self, count: int) -> None:
        """Produce *count* records into the first partition, with times from 1000 on."""

        def send() -> None:
            producer = ConfluentProducer({"bootstrap.servers": self.bootstrap})
            for number in range(count):
                producer.produce(self.topic, b"v%d" % number, partition=0, timestamp=1000 + number)
            producer.flush(DEADLINE_S)

        await deferToThread(send)

    async def refused(self, kind: type[Exception], waiting: Any) -> Any:
        """The error of a call."""
        with self.assertRaises(kind) as caught:
            await waiting
        return caught.exception

    async def test_topics(self) -> None:
        """A topic is listed (:meth:`partitions` sees to that), described, grows, and goes."""
        await self.produce(3)
        described = await self.admin.describe_topic(self.topic)
        self.assertEqual([(p.earliest, p.latest) for p in described.partitions], [(0, 3), (0, 0)])
        self.assertTrue(described.configs["retention.ms"].overridden)
        await self.admin.create_partitions(self.topic, 3)
        await self.partitions(3)
        self.assertEqual(len((await self.admin.describe_topic(self.topic)).partitions), 3)
        error = await self.refused(RequestError, self.admin.create_topic(self.topic))
        self.assertEqual(error.code, ErrorCode.TOPIC_ALREADY_EXISTS)
        await self.admin.create_topic(f"{self.topic}-not", validate_only=True)
        await self.admin.delete_topic(self.topic)
        await self.partitions(0)
        for call in (self.admin.delete_topic, self.admin.describe_topic):
            await self.refused(UnknownTopic, call(self.topic))
        await self.refused(UnknownTopic, self.admin.describe_topic(f"{self.topic}-not"))

    async def test_records(self) -> None:
        """Offsets are found by time; records are deleted."""
        await self.produce(5)
        for time, offset in ((-1, (5, -1)), (-2, (0, -1)), (1002, (2, 1002)), (2000, (-1, -1))):
            found = await self.admin.list_offsets({self.first: time})
            self.assertEqual(found, {self.first: offset}, time)
        self.assertEqual(
            await self.admin.delete_records({self.first: 2, self.second: -1}),
            {
                self.first: 2,
                self.second: 0,
            },
        )
        self.assertEqual((await self.admin.list_offsets({self.first: -2}))[self.first], (2, -1))
        error = await self.refused(RequestError, self.admin.delete_records({self.first: 99}))
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)

    async def test_transactions(self) -> None:
        """An open transaction is listed, described and found at its partition's leader; a fence aborts it."""
        name = f"of {self.topic}"

        def begin() -> ConfluentProducer:
            producer = ConfluentProducer({"bootstrap.servers": self.bootstrap, "transactional.id": name})
            producer.init_transactions(DEADLINE_S)
            producer.begin_transaction()
            producer.produce(self.topic, b"v", partition=0)
            producer.flush(DEADLINE_S)
            return producer

        producer = await deferToThread(begin)
        tools = self.admin.transactions
        (listed,) = [one for one in await tools.listings(["Ongoing"]) if one.transactional_id == name]
        described = await tools.describe(name)
        self.assertEqual((described.state, described.partitions), ("Ongoing", (self.first,)))
        self.assertEqual(described.producer_id, listed.producer_id)
        (seen,) = (await tools.producers([self.first]))[self.first]
        self.assertEqual((seen.producer_id, seen.start_offset), (listed.producer_id, 0))
        fenced = await tools.fence(name)
        self.assertEqual(fenced.producer_id, listed.producer_id)
        self.assertGreater(fenced.epoch, described.producer_epoch)
        while await tools.open([self.first, self.second]):
            await deferLater(reactor, PAUSE_S)
        del producer
        error = await self.refused(RequestError, tools.describe(f"{name} not"))
        self.assertEqual(error.code, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    async def test_log_dirs(self) -> None:
        """Each broker has its partitions somewhere, with their sizes."""
        await self.produce(1)
        found = (await self.admin.describe_log_dirs()).values()
        dirs = [one for of_broker in found for one in of_broker]
        sizes = {at: size for one in dirs for at, size in one.sizes.items() if at.topic == self.topic}
        self.assertEqual(set(sizes), {self.first, self.second})
        self.assertGreater(sizes[self.first], 0)

    async def test_configs(self) -> None:
        """Settings of a topic and of a broker are changed and taken back."""
        topic = Resource(ResourceType.TOPIC, self.topic)
        await self.admin.configs.alter(topic, {"segment.ms": "99999"}, ["retention.ms"])
        found = await self.described(topic, lambda found: not found["retention.ms"].overridden)
        self.assertEqual((found["segment.ms"].value, found["segment.ms"].source), ("99999", Source.TOPIC))
        self.assertTrue(found["segment.ms"].synonyms)
        error = await self.refused(RequestError, self.admin.configs.alter(topic, {"segment.ms": "soon"}))
        self.assertEqual(error.code, ErrorCode.INVALID_CONFIG)
        broker = Resource(ResourceType.BROKER, str(min(await self.admin.describe_log_dirs())))
        await self.admin.configs.alter(broker, {"max.connections": "5000"})
        try:
            await self.described(broker, lambda found: found["max.connections"].source is Source.BROKER)
        finally:
            await self.admin.configs.alter(broker, deleted=["max.connections"])

    async def described(
        self, resource: Resource, so: Callable[[dict[str, ConfigEntry]], bool]
    ) -> dict[str, ConfigEntry]:
        """A resource's settings, once they are so; see :meth:`partitions`."""
        while not so(found := await self.admin.configs.describe(resource, synonyms=True)):
            await deferLater(reactor, PAUSE_S)
        return found

    async def test_quotas(self) -> None:
        """Quotas are set, read and removed."""
        entity = {"client-id": self.topic}
        await self.admin.quotas.alter(entity, {"producer_byte_rate": 1e9})
        while not (found := await self.admin.quotas.describe(entity)):
            await deferLater(reactor, PAUSE_S)
        self.assertEqual([one.values for one in found], [{"producer_byte_rate": 1e9}])
        await self.admin.quotas.alter(entity, deleted=["producer_byte_rate"])
        while await self.admin.quotas.describe(entity):
            await deferLater(reactor, PAUSE_S)

    async def test_offsets(self) -> None:
        """A group comes into being with its first offset; offsets go one by one, and the group as a whole."""
        group = f"group-{self.topic}"
        await self.produce(5)
        offsets = {self.first: OffsetAndMetadata(3, "note", 0), self.second: OffsetAndMetadata(0)}
        await self.admin.groups.commit(group, offsets)
        self.assertEqual(await self.admin.groups.offsets(group), offsets)
        (first, second) = await self.admin.groups.progress(group)
        self.assertEqual((first.lag, second.lag), (2, 0))
        await self.admin.groups.delete_offsets(group, [self.second])
        self.assertEqual(list(await self.admin.groups.offsets(group)), [self.first])
        self.assertEqual((await self.admin.groups.describe(group)).state, "Empty")
        await self.admin.groups.delete(group)
        await self.refused(UnknownGroup, self.admin.groups.delete(group))
        self.assertEqual((await self.admin.groups.describe(group)).state, "Dead")

    async def test_classic(self) -> None:
        """A classic group is shown with its member, and cannot be deleted."""
        await self.check_group("classic")

    async def test_consumer(self) -> None:
        """A group of KIP-848 is described in the same way."""
        await self.check_group("consumer")

    async def check_group(self, protocol: str) -> None:
        """Make librdkafka join, and describe the group."""
        group = f"{protocol}-{self.topic}"
        settings = {"bootstrap.servers": self.bootstrap, "group.id": group, "group.protocol": protocol}
        consumer = ConfluentConsumer({**settings, "auto.offset.reset": "earliest"})

        def join() -> None:
            consumer.subscribe([self.topic])
            until(lambda: consumer.poll(0.2) is None and bool(consumer.assignment()), "it has joined")

        await deferToThread(join)
        try:
            listed = {one.group_id: one for one in await self.admin.groups.listings()}
            self.assertEqual((listed[group].type, listed[group].state), (protocol, "Stable"))
            described = await self.admin.groups.describe(group)
            self.assertEqual(described.type, protocol)
            self.assertIn(described.coordinator.id, await self.admin.describe_log_dirs())
            (member,) = described.members
            self.assertEqual(member.partitions, (self.first, self.second))
            await self.refused(GroupInUse, self.admin.groups.delete(group))
            offsets = {self.first: OffsetAndMetadata(0)}
            await self.refused(GroupInUse, self.admin.groups.commit(group, offsets))
            self.assertEqual(len(await self.admin.groups.progress(group)), 2)
        finally:
            await deferToThread(consumer.close)
