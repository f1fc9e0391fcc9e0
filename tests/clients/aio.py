"""The scenario of aiokafka. It has one variant."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
    __version__,
)
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from tests.clients.features import PARTITIONS
from tests.clients.scenario import (
    BIG,
    SENT,
    WAIT_S,
    Numbered,
    Pair,
    Scenario,
    Told,
    check_keyed,
    copies,
    main,
    new_name,
    same,
)

CODECS = ("gzip", "snappy", "lz4", "zstd")


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """Tells the runner what a member owns."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def on_partitions_assigned(self, assigned: Any) -> None:
        """Called with all."""
        self._told.assigned(place.partition for place in assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        """Called with all."""
        self._told.revoked(place.partition for place in revoked)


async def eventually(what: str, done: Callable[[], Awaitable[object]]) -> None:
    """Ask again and again until something is so."""
    end = time.monotonic() + WAIT_S
    while not await done():
        if time.monotonic() > end:
            raise AssertionError(f"not within {WAIT_S:.0f} s: {what}")
        await asyncio.sleep(0.02)


class AioKafka(Scenario):
    """aiokafka."""

    def version(self) -> str:
        """The library's."""
        return str(__version__)

    @asynccontextmanager
    async def admin(self) -> AsyncIterator[Any]:
        """An admin client."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    @asynccontextmanager
    async def consumer(self, *topics: str, **conf: Any) -> AsyncIterator[Any]:
        """A consumer that starts at the beginning."""
        settings = {"enable_auto_commit": False, "auto_offset_reset": "earliest", **conf}
        consumer = AIOKafkaConsumer(*topics, bootstrap_servers=self.bootstrap, **settings)
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()

    async def new_topic(self, **config: str) -> str:
        """A topic of 6 partitions."""
        topic = new_name()
        async with self.admin() as admin:
            told = await admin.create_topics([NewTopic(topic, PARTITIONS, copies(), topic_configs=config)])
            same([error[1] for error in told.topic_errors], [0], "errors")
            await eventually("leaders", lambda: self.has_leaders(admin, topic))
        async with self.consumer() as consumer:
            await consumer.end_offsets(
                self.places(topic)
            )  # answered by leaders that are ready: see topics.py
        return topic

    async def has_leaders(self, admin: Any, topic: str) -> bool:
        """Return True if each partition of a topic has a leader."""
        (told,) = await admin.describe_topics([topic])
        leaders = [partition["leader"] for partition in told["partitions"]]
        return len(leaders) == PARTITIONS and -1 not in leaders

    async def produce(
        self, topic: str, pairs: Sequence[Pair], timestamp: int | None = None, **conf: Any
    ) -> None:
        """Produce by key; every delivery is confirmed."""
        settings = {"enable_idempotence": True, "linger_ms": 5, **conf}
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap, **settings) as producer:
            sent = [await producer.send(topic, value, key, timestamp_ms=timestamp) for key, value in pairs]
            await asyncio.gather(*sent)

    def places(self, topic: str) -> list[Any]:
        """All partitions of a topic."""
        return [TopicPartition(topic, partition) for partition in range(PARTITIONS)]

    async def read(self, consumer: Any, count: int) -> list[Any]:
        """The next *count* messages."""
        found: list[Any] = []
        while len(found) < count:
            batches = await consumer.getmany(timeout_ms=int(WAIT_S * 1000), max_records=count - len(found))
            if not batches:
                raise AssertionError(f"only {len(found)} of {count} messages came")
            for batch in batches.values():
                found += batch
        return found

    async def read_all(self, topic: str, count: int, **conf: Any) -> list[Any]:
        """All of a topic, by assignment."""
        async with self.consumer(**conf) as consumer:
            consumer.assign(self.places(topic))
            return await self.read(consumer, count)

    def check(self, found: Sequence[Any], sent: Sequence[Pair]) -> None:
        """Raise unless these messages are those that were sent."""
        check_keyed([(message.partition, message.key, message.value) for message in found], sent)

    def create_topics(self) -> None:
        """``create_topics`` and ``describe_topics``."""

        async def go() -> None:
            topic = await self.new_topic(**{"retention.ms": "3600000"})
            async with self.admin() as admin:
                same(
                    (await self.config(admin, ConfigResourceType.TOPIC, topic))["retention.ms"],
                    "3600000",
                    "set",
                )

        asyncio.run(go())

    def produce_keyed(self) -> None:
        """``send`` with a key."""

        async def go() -> None:
            topic = await self.new_topic()
            await self.produce(topic, SENT)
            self.check(await self.read_all(topic, len(SENT)), SENT)

        asyncio.run(go())

    def produce_compressed(self) -> str:
        """``compression_type``."""

        async def go() -> None:
            for codec in CODECS:
                topic = await self.new_topic()
                await self.produce(topic, BIG, compression_type=codec)
                self.check(await self.read_all(topic, len(BIG)), BIG)

        asyncio.run(go())
        return ", ".join(CODECS)

    def consume(self) -> None:
        """``assign`` and ``getmany``, and the ends by ``end_offsets``."""

        async def go() -> None:
            topic = await self.new_topic()
            await self.produce(topic, SENT)
            found = [(m.partition, m.offset) for m in await self.read_all(topic, len(SENT))]
            async with self.consumer() as consumer:
                ends = await consumer.end_offsets(self.places(topic))
            for place, end in ends.items():
                offsets = [offset for partition, offset in found if partition == place.partition]
                same(offsets, list(range(end)), "offsets")

        asyncio.run(go())

    def commit(self) -> None:
        """``commit`` with metadata, and ``committed``."""

        async def go() -> None:
            topic, group = await self.new_topic(), new_name("group")
            await self.produce(topic, SENT)
            async with self.consumer(topic, group_id=group) as first:
                seen = {(m.partition, m.offset) for m in await self.read(first, 100)}
                ends = {p: max((o for q, o in seen if q == p), default=-1) + 1 for p in range(PARTITIONS)}
                await first.commit({TopicPartition(topic, p): (end, f"at {end}") for p, end in ends.items()})
            async with self.admin() as admin:
                told = await admin.list_consumer_group_offsets(group)
                same({p.partition: o for p, o in told.items()}, self.noted(ends), "committed")
            async with self.consumer(topic, group_id=group) as second:
                rest = {(m.partition, m.offset) for m in await self.read(second, len(SENT) - 100)}
                same((len(rest), rest & seen), (len(SENT) - 100, set()), "the rest")

        asyncio.run(go())

    def noted(self, ends: dict[int, int]) -> dict[int, Any]:
        """Offsets with the metadata that ``commit`` gave them."""
        return {partition: OffsetAndMetadata(end, f"at {end}") for partition, end in ends.items()}

    def seek_by_time(self) -> None:
        """``offsets_for_times``, then ``seek``."""

        async def go() -> None:
            topic, now = await self.new_topic(), int(time.time() * 1000)
            await self.produce(topic, SENT, now - 60_000)
            await self.produce(topic, BIG, now)
            async with self.consumer() as consumer:
                consumer.assign(self.places(topic))
                starts = await consumer.offsets_for_times(dict.fromkeys(self.places(topic), now - 1000))
                for place, start in starts.items():
                    if start is None:
                        await consumer.seek_to_end(place)
                    else:
                        consumer.seek(place, start.offset)
                found = await self.read(consumer, len(BIG))
            self.check(found, BIG)
            same({message.timestamp for message in found}, {now}, "timestamps")

        asyncio.run(go())

    async def config(self, admin: Any, kind: Any, name: str) -> dict[str, str]:
        """The settings of a topic or a broker."""
        (told,) = await admin.describe_configs([ConfigResource(kind, name)])
        ((error, _message, _kind, _name, entries),) = told.resources
        same(error, 0, "error")
        return {entry[0]: entry[1] for entry in entries}

    def configs(self) -> None:
        """``describe_configs`` and ``alter_configs``."""

        async def go() -> None:
            topic = await self.new_topic(**{"retention.ms": "3600000"})
            async with self.admin() as admin:
                change = ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": "54321"})
                (told,) = await admin.alter_configs([change])
                same([resource[0] for resource in told.resources], [0], "errors")
                await eventually("the change", lambda: self.altered(admin, topic))
                settings = await self.config(admin, ConfigResourceType.TOPIC, topic)
                # AlterConfigs replaces all: what is not named goes back to its default
                same(settings["retention.ms"], "604800000", "retention.ms")
                broker = (await admin.describe_cluster())["brokers"][0]["node_id"]
                if "log.dirs" not in await self.config(admin, ConfigResourceType.BROKER, str(broker)):
                    raise AssertionError("the broker tells no log.dirs")

        asyncio.run(go())

    async def altered(self, admin: Any, topic: str) -> bool:
        """Return True if the change of ``configs`` is seen."""
        return (await self.config(admin, ConfigResourceType.TOPIC, topic))["max.message.bytes"] == "54321"

    def create_partitions(self) -> None:
        """``create_partitions``."""

        async def go() -> None:
            topic = await self.new_topic()
            async with self.admin() as admin:
                told = await admin.create_partitions({topic: NewPartitions(8)})
                same([error[1] for error in told.topic_errors], [0], "errors")
                await eventually("8 partitions", lambda: self.has_partitions(admin, topic, 8))

        asyncio.run(go())

    async def has_partitions(self, admin: Any, topic: str, count: int) -> bool:
        """Return True if a topic has this many partitions."""
        (told,) = await admin.describe_topics([topic])
        return len(told["partitions"]) == count

    def manage_groups(self) -> str:
        """``list_consumer_groups`` and ``describe_consumer_groups``."""

        async def go() -> None:
            topic, group = await self.new_topic(), new_name("group")
            async with self.admin() as admin:
                async with self.consumer(topic, group_id=group) as consumer:
                    same(len(consumer.assignment()), PARTITIONS, "assignment")
                    same(await self.describe(admin, group), ("Stable", 1), "state, members")
                    same(group in {told[0] for told in await admin.list_consumer_groups()}, True, "listed")
                same((await self.describe(admin, group))[1], 0, "members after leaving")

        asyncio.run(go())
        return "list and describe; the client has no more"

    async def describe(self, admin: Any, group: str) -> tuple[str, int]:
        """State of a group, and how many members it has."""
        (told,) = await admin.describe_consumer_groups([group])
        (described,) = told.groups
        _error, _group, state, _type, _protocol, members, *_ = described
        return state, len(members)

    def delete_records(self) -> None:
        """``delete_records``, and ``beginning_offsets``."""

        async def go() -> None:
            topic = await self.new_topic()
            await self.produce(topic, SENT)
            place = TopicPartition(topic, 0)
            async with self.admin() as admin:
                same(await admin.delete_records({place: RecordsToDelete(5)}), {place: 5}, "low watermark")
            async with self.consumer() as consumer:
                same(await consumer.beginning_offsets([place]), {place: 5}, "earliest")

        asyncio.run(go())

    def delete_topics(self) -> None:
        """``delete_topics``."""

        async def go() -> None:
            topic = await self.new_topic()
            async with self.admin() as admin:
                told = await admin.delete_topics([topic])
                same([error[1] for error in told.topic_error_codes], [0], "errors")
                await eventually("the topic is gone", lambda: self.gone(admin, topic))

        asyncio.run(go())

    async def gone(self, admin: Any, topic: str) -> bool:
        """Return True if a topic is not listed."""
        return topic not in await admin.list_topics()

    def transactions(self) -> None:
        """``transaction()``; one that raises is aborted; one that also commits offsets."""

        async def go() -> None:
            topic, group = await self.new_topic(), new_name("group")
            async with AIOKafkaProducer(
                bootstrap_servers=self.bootstrap, transactional_id=new_name("id")
            ) as producer:
                for pairs, end in ((BIG, producer.abort_transaction), (SENT, producer.commit_transaction)):
                    await producer.begin_transaction()
                    await asyncio.gather(*[await producer.send(topic, value, key) for key, value in pairs])
                    await end()
                async with producer.transaction():
                    await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 7}, group)
            self.check(await self.read_all(topic, len(SENT), isolation_level="read_committed"), SENT)
            async with self.consumer(topic, group_id=group) as consumer:
                place = TopicPartition(topic, 0)

                async def is_there() -> bool:  # the client does not wait for stable offsets (KIP-447)
                    return bool(await consumer.committed(place) == 7)

                await eventually("the offset is committed", is_there)

        asyncio.run(go())

    def produce_numbered(self, numbered: Numbered) -> None:
        """``send``; idempotent."""

        async def go() -> None:
            async with AIOKafkaProducer(
                bootstrap_servers=self.bootstrap, enable_idempotence=True
            ) as producer:

                async def settle(number: int, sent: Any) -> None:
                    try:
                        told = await sent
                    except KafkaError as error:
                        numbered.failed(number, error)
                    else:
                        numbered.acknowledged(number, told.partition, told.offset)

                settling = []
                for number, partition, value in numbered.records():
                    await asyncio.sleep(numbered.due_s(number))
                    sent = await producer.send(numbered.topic, value, partition=partition)
                    settling.append(asyncio.ensure_future(settle(number, sent)))
                await asyncio.gather(*settling)

        asyncio.run(go())

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """``subscribe`` with a listener; commits what it has processed."""

        async def go() -> None:
            conf: dict[str, Any] = {}
            if session_ms:
                conf = {"session_timeout_ms": session_ms, "heartbeat_interval_ms": 300}
            async with self.consumer(group_id=group, **conf) as consumer:
                consumer.subscribe([topic], listener=Listener(told))
                while not told.leave.is_set():
                    batches = await consumer.getmany(timeout_ms=100)
                    if not batches:
                        continue
                    told.read((m.partition, m.offset) for batch in batches.values() for m in batch)
                    try:
                        await consumer.commit()
                    except KafkaError:
                        continue  # a rebalance has begun: the next owner of the partition reads these again

        asyncio.run(go())


if __name__ == "__main__":
    main(AioKafka)
