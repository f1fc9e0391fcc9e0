"""The scenario of our own client, the Twisted one.

Variants: ``now``, with Consumer; ``0.7``, which reads by SimpleConsumer and in groups by ConsumerConnector.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from zope.interface import implementer

from kafkatx import __version__
from kafkatx.client import (
    Admin,
    Consumer,
    ConsumerConnector,
    MessageStream,
    OffsetAndMetadata,
    Producer,
    RebalanceListener,
    Record,
    Resource,
    ResourceType,
    SimpleConsumer,
)
from kafkatx.client.facades.reactor_thread import ReactorThread
from kafkatx.client.legacy.group_balancer import GroupBalancer
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IBalancer
from kafkatx.types import TopicPartition
from tests.clients.features import PARTITIONS
from tests.clients.scenario import (
    BIG,
    POLL_S,
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

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EARLIEST, LATEST = -2, -1


def in_reactor(
    method: Callable[[Ours], Coroutine[Any, Any, str | None]],
) -> Callable[[Ours], str | None]:
    """A feature that is a coroutine, as the runner calls it."""

    @wraps(method)
    def call(self: Ours) -> str | None:
        return self.thread.call(lambda: Deferred.fromCoroutine(method(self)), 3 * WAIT_S)

    return call


class Telling(RebalanceListener):
    """Tell the runner what a member owns, and then the other listeners."""

    def __init__(self, told: Told, other: Any = None) -> None:
        self._told = told
        self._other = other or RebalanceListener()

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> Any:
        """Called with what is new."""
        self._told.assigned(place.partition for place in partitions)
        return self._other.on_partitions_assigned(partitions)

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> Any:
        """Called with what goes."""
        self._told.revoked(place.partition for place in partitions)
        return self._other.on_partitions_revoked(partitions)

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> Any:
        """Called with what has gone."""
        self._told.revoked(place.partition for place in partitions)
        return self._other.on_partitions_lost(partitions)


@implementer(IBalancer)
class TellingBalancer(GroupBalancer):
    """Do nothing: the balancer of a connector owns its partitions."""

    def __init__(self, told: Told) -> None:
        super().__init__()
        self._told = told

    def join(self, consumer: Consumer, subscription: Any, listener: Any) -> Deferred[None]:
        """Implement the balancer as the built-in one does."""
        return super().join(consumer, subscription, Telling(self._told, listener))


class Ours(Scenario):
    """kafkatx.client."""

    def __init__(self, variant: str, bootstrap: str) -> None:
        super().__init__(variant, bootstrap)
        self.thread = ReactorThread("scenario")
        self.settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "reactor": self.thread.reactor}

    def version(self) -> str:
        """Return the version of kafkatx."""
        return __version__

    # -- clients, and what features do with them

    @asynccontextmanager
    async def admin(self) -> AsyncIterator[Admin]:
        """An admin client."""
        admin = Admin(**self.settings)
        try:
            yield await admin.start()
        finally:
            await admin.close()

    @asynccontextmanager
    async def consumer(self, *topics: str, **conf: Any) -> AsyncIterator[Consumer]:
        """A consumer that starts at the beginning."""
        how = {**self.settings, "auto_offset_reset": "earliest", "enable_auto_commit": False, **conf}
        consumer = Consumer(**how)
        try:
            if topics:
                consumer.subscribe(topics)
            yield await consumer.start()
        finally:
            await consumer.close()

    @asynccontextmanager
    async def stream(self, topic: str, group: str, **conf: Any) -> AsyncIterator[Any]:
        """A connector with one stream, and that."""
        how = {**self.settings, "auto_offset_reset": "earliest", "enable_auto_commit": False, **conf}
        connector = ConsumerConnector(**how, group_id=group)
        try:
            await connector.start()
            (stream,) = connector.create_message_streams({topic: 1})[topic]
            yield connector, stream
        finally:
            await connector.shutdown()

    async def eventually(self, what: str, done: Callable[[], Awaitable[object]]) -> None:
        """Ask again and again until something is so."""
        end = time.monotonic() + WAIT_S
        while not await done():
            if time.monotonic() > end:
                raise AssertionError(f"not within {WAIT_S:.0f} s: {what}")
            await deferLater(self.thread.reactor, 0.02)

    async def new_topic(self, **config: str) -> str:
        """A topic of 6 partitions, whose leaders are ready: see topics.py."""
        topic = new_name()
        async with self.admin() as admin:
            await admin.create_topic(topic, PARTITIONS, copies(), configs=config)

            async def known() -> bool:
                return topic in {told.name for told in await admin.list_topics()}

            await self.eventually("the broker has heard of it", known)
            ends = await admin.list_offsets(dict.fromkeys(self.places(topic), LATEST))
            same({offset for offset, _ in ends.values()}, {0}, "ends")
        return topic

    def places(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic."""
        return [TopicPartition(topic, partition) for partition in range(PARTITIONS)]

    async def produce(
        self, topic: str, pairs: Sequence[Pair], timestamp: int | None = None, **conf: Any
    ) -> None:
        """Produce by key; every delivery is confirmed."""
        producer = Producer(**self.settings, **conf)
        try:
            await producer.start()
            sent = [producer.send(topic, value, key, timestamp_ms=timestamp) for key, value in pairs]
            await gatherResults(sent)
        finally:
            await producer.close()

    async def read(self, consumer: Consumer, count: int) -> list[Record]:
        """The next *count* records."""
        found: list[Record] = []
        while len(found) < count:
            batches = await consumer.getmany(count - len(found), int(WAIT_S * 1000))
            if not batches:
                raise AssertionError(f"only {len(found)} of {count} records came")
            for batch in batches.values():
                found += batch
        return found

    async def read_all(self, topic: str) -> list[Record]:
        """All of a topic, without a group."""
        if self.variant == "0.7":
            return await self.fetch_all(topic)
        async with self.consumer() as consumer:
            ends = await consumer.end_offsets(*self.places(topic))
            consumer.assign(ends)
            return await self.read(consumer, sum(ends.values()))

    async def fetch_all(self, topic: str) -> list[Record]:
        """All of a topic, request by request."""
        found: list[Record] = []
        simple = SimpleConsumer(**self.settings)
        try:
            await simple.start()
            ends = {p: (await simple.offsets_before(topic, p, LATEST))[0] for p in range(PARTITIONS)}
            left = {p: (await simple.offsets_before(topic, p, EARLIEST))[0] for p in range(PARTITIONS)}
            while left := {p: offset for p, offset in left.items() if offset < ends[p]}:
                for messages in await simple.multifetch([(topic, p, offset) for p, offset in left.items()]):
                    found += messages
                    left[messages.request.partition] = messages.next_offset
        finally:
            await simple.close()
        return found

    async def read_stream(self, stream: MessageStream, count: int) -> list[Record]:
        """The next *count* records of a stream."""

        async def read() -> list[Record]:
            found: list[Record] = []
            async for record in stream:
                found.append(record)
                if len(found) == count:
                    break
            return found

        return await Deferred.fromCoroutine(read()).addTimeout(WAIT_S, self.thread.reactor)

    def check(self, found: Sequence[Record], sent: Sequence[Pair]) -> None:
        """Raise unless these records are those that were sent."""
        check_keyed([(record.partition, record.key or b"", record.value) for record in found], sent)

    # -- features

    @in_reactor
    async def create_topics(self) -> None:
        """``create_topic`` and ``list_topics``."""
        topic = await self.new_topic(**{"retention.ms": "3600000"})
        async with self.admin() as admin:
            listed = {told.name: len(told.partitions) for told in await admin.list_topics()}
            same(listed.get(topic), PARTITIONS, "partitions")
            described = await admin.describe_topic(topic)
            same(described.configs["retention.ms"].value, "3600000", "retention.ms")

    @in_reactor
    async def produce_keyed(self) -> None:
        """``send`` with a key."""
        topic = await self.new_topic()
        await self.produce(topic, SENT)
        self.check(await self.read_all(topic), SENT)

    @in_reactor
    async def produce_compressed(self) -> str:
        """``compression.type``."""
        for codec in CODECS:
            topic = await self.new_topic()
            await self.produce(topic, BIG, compression_type=codec)
            self.check(await self.read_all(topic), BIG)
        return ", ".join(CODECS)

    @in_reactor
    async def consume(self) -> str:
        """``assign`` and ``getmany``, or ``multifetch`` and ``offsets_before``."""
        topic = await self.new_topic()
        await self.produce(topic, SENT)
        found = [(record.partition, record.offset) for record in await self.read_all(topic)]
        async with self.admin() as admin:
            ends = await admin.list_offsets(dict.fromkeys(self.places(topic), LATEST))
        for place, (end, _) in ends.items():
            offsets = [offset for partition, offset in found if partition == place.partition]
            same(offsets, list(range(end)), "offsets")
        return "SimpleConsumer" if self.variant == "0.7" else ""

    @in_reactor
    async def commit(self) -> str:
        """``commit`` with metadata and ``committed``, or ``commit_offsets``."""
        topic, group = await self.new_topic(), new_name("group")
        await self.produce(topic, SENT)
        if self.variant == "0.7":
            return await self._commit_by_connector(topic, group)
        async with self.consumer(topic, group_id=group) as first:
            seen = {(r.partition, r.offset) for r in await self.read(first, 100)}
            noted = {
                place: OffsetAndMetadata(end, f"at {end}") for place, end in self.ends(topic, seen).items()
            }
            await first.commit(noted)
            told = await first.committed(*noted)
            same({p: (at.offset, at.metadata) for p, at in told.items() if at}, _bare(noted), "committed")
        async with self.consumer(topic, group_id=group) as second:
            rest = {(r.partition, r.offset) for r in await self.read(second, len(SENT) - 100)}
        same((len(rest), rest & seen), (len(SENT) - 100, set()), "the rest")
        return ""

    async def _commit_by_connector(self, topic: str, group: str) -> str:
        async with self.stream(topic, group) as (connector, stream):
            seen = {(r.partition, r.offset) for r in await self.read_stream(stream, 100)}
            await connector.commit_offsets()
        async with self.admin() as admin:
            told = await admin.groups.offsets(group)
            same({place: at.offset for place, at in told.items()}, self.ends(topic, seen), "committed")
        async with self.stream(topic, group) as (_, stream):
            rest = {(r.partition, r.offset) for r in await self.read_stream(stream, len(SENT) - 100)}
        same((len(rest), rest & seen), (len(SENT) - 100, set()), "the rest")
        return "ConsumerConnector, which has no metadata"

    def ends(self, topic: str, seen: set[tuple[int, int]]) -> dict[TopicPartition, int]:
        """The offsets behind these records."""
        return {
            place: max((offset for partition, offset in seen if partition == place.partition), default=-1) + 1
            for place in self.places(topic)
        }

    @in_reactor
    async def seek_by_time(self) -> None:
        """``offsets_for_times``, then ``seek``."""
        topic, now = await self.new_topic(), int(time.time() * 1000)
        await self.produce(topic, SENT, now - 60_000)
        await self.produce(topic, BIG, now)
        async with self.consumer() as consumer:
            consumer.assign(self.places(topic))
            starts = await consumer.offsets_for_times(dict.fromkeys(self.places(topic), now - 1000))
            for place, start in starts.items():
                if start is None:
                    consumer.seek_to_end(place)
                else:
                    consumer.seek(place, start.offset)
            found = await self.read(consumer, len(BIG))
        self.check(found, BIG)
        same({record.timestamp_ms for record in found}, {now}, "timestamps")

    @in_reactor
    async def configs(self) -> None:
        """``configs.describe`` and ``configs.alter``."""
        topic = await self.new_topic(**{"retention.ms": "3600000"})
        resource = Resource(ResourceType.TOPIC, topic)
        async with self.admin() as admin:
            await admin.configs.alter(resource, {"max.message.bytes": "54321"})

            async def changed() -> bool:
                return (await admin.configs.describe(resource))["max.message.bytes"].value == "54321"

            await self.eventually("the change", changed)
            told = await admin.configs.describe(resource)
            same(told["retention.ms"].value, "3600000", "retention.ms")
            same(told["max.message.bytes"].overridden, True, "overridden")
            broker = str((await admin.metadata()).controller_id)
            if "log.dirs" not in await admin.configs.describe(Resource(ResourceType.BROKER, broker)):
                raise AssertionError("the broker tells no log.dirs")

    @in_reactor
    async def transactions(self) -> None:
        """``transaction()``; one that is left by an error is aborted; both commit offsets of a group."""
        topic, group = await self.new_topic(), new_name("group")
        place = TopicPartition(topic, 0)
        producer = Producer(**self.settings, transactional_id=new_name("id"))
        async with self.consumer(group_id=group, isolation_level="read_committed") as consumer:
            try:
                await producer.start()
                with suppress(ZeroDivisionError):
                    await self._transaction(producer, topic, BIG, {place: 9}, group, ZeroDivisionError())
                await self._transaction(producer, topic, SENT, {place: 7}, group)
            finally:
                await producer.close()
            consumer.assign(self.places(topic))
            self.check(await self.read(consumer, len(SENT)), SENT)
            told = await consumer.committed(place)
            same({p: at.offset for p, at in told.items() if at}, {place: 7}, "committed")

    async def _transaction(
        self,
        producer: Producer,
        topic: str,
        pairs: Sequence[Pair],
        offsets: dict[TopicPartition, int],
        group: str,
        error: Exception | None = None,
    ) -> None:
        async with producer.transaction():
            await gatherResults([producer.send(topic, value, key) for key, value in pairs])
            await producer.send_offsets(offsets, group)
            if error is not None:
                raise error

    @in_reactor
    async def create_partitions(self) -> None:
        """``create_partitions``."""
        topic = await self.new_topic()
        async with self.admin() as admin:
            await admin.create_partitions(topic, 8)

            async def grown() -> bool:
                return len((await admin.describe_topic(topic)).partitions) == 8

            await self.eventually("8 partitions", grown)

    @in_reactor
    async def manage_groups(self) -> None:
        """All of ``groups``."""
        topic, group = await self.new_topic(), new_name("group")
        async with self.admin() as admin:
            groups = admin.groups

            async def state() -> tuple[str, int]:
                described = await groups.describe(group)
                return described.state, sum(len(member.partitions) for member in described.members)

            async def stable() -> bool:
                return await state() == ("Stable", PARTITIONS)

            async with self.consumer(topic, group_id=group):
                await self.eventually("an assignment", stable)
            same(await state(), ("Empty", 0), "after leaving")
            await groups.commit(group, {TopicPartition(topic, 0): OffsetAndMetadata(5)})
            told = await groups.offsets(group)
            same({place: at.offset for place, at in told.items()}, {TopicPartition(topic, 0): 5}, "offsets")
            same(group in {one.group_id for one in await groups.listings()}, True, "listed")
            await groups.delete(group)
            same(group in {one.group_id for one in await groups.listings()}, False, "listed after deleting")

    @in_reactor
    async def delete_records(self) -> None:
        """``delete_records``, and ``list_offsets``."""
        topic = await self.new_topic()
        await self.produce(topic, SENT)
        place = TopicPartition(topic, 0)
        async with self.admin() as admin:
            same(await admin.delete_records({place: 5}), {place: 5}, "low watermark")
            same((await admin.list_offsets({place: EARLIEST}))[place][0], 5, "earliest")

    @in_reactor
    async def delete_topics(self) -> None:
        """``delete_topic``."""
        topic = await self.new_topic()
        async with self.admin() as admin:
            await admin.delete_topic(topic)

            async def gone() -> bool:
                return topic not in {told.name for told in await admin.list_topics()}

            await self.eventually("the topic is gone", gone)

    # -- members of groups

    def produce_numbered(self, numbered: Numbered) -> None:
        """``send``; idempotent."""
        self.thread.call(lambda: Deferred.fromCoroutine(self._produce_numbered(numbered)))

    async def _produce_numbered(self, numbered: Numbered) -> None:
        producer = Producer(**self.settings, enable_idempotence=True, acks="all")

        async def settle(number: int, sent: Any) -> None:
            try:
                told = await sent
            except KafkaTXError as error:
                numbered.failed(number, error)
            else:
                numbered.acknowledged(number, told.partition, told.offset)

        try:
            await producer.start()
            settling = []
            for number, partition, value in numbered.records():
                await deferLater(self.thread.reactor, numbered.due_s(number))
                sent = producer.send(numbered.topic, value, partition=partition)
                settling.append(Deferred.fromCoroutine(settle(number, sent)))
            await gatherResults(settling)
        finally:
            await producer.close()

    def member(self, told: Told, group: str, topic: str, session_ms: int) -> None:
        """``subscribe`` with a listener, or a connector's streams; commits what it has processed."""
        conf: dict[str, Any] = {}
        if session_ms:
            conf = {"session_timeout_ms": session_ms, "heartbeat_interval_ms": 300}
        if self.variant == "0.7":
            conf["kafkatx_balancer"] = TellingBalancer(told)
        be = self._connected if self.variant == "0.7" else self._subscribed
        self.thread.call(lambda: Deferred.fromCoroutine(be(told, topic, group, conf)))

    async def _subscribed(self, told: Told, topic: str, group: str, conf: dict[str, Any]) -> None:
        async with self.consumer(group_id=group, **conf) as consumer:
            consumer.subscribe([topic], listener=Telling(told))
            while not told.leave.is_set():
                batches = await consumer.getmany(timeout_ms=int(POLL_S * 1000))
                if batches:
                    told.read((r.partition, r.offset) for batch in batches.values() for r in batch)
                    await _commit(consumer.commit)

    async def _connected(self, told: Told, topic: str, group: str, conf: dict[str, Any]) -> None:
        async def read(stream: MessageStream) -> None:
            async for record in stream:
                told.read([(record.partition, record.offset)])

        async with self.stream(topic, group, **conf) as (connector, stream):
            reading = Deferred.fromCoroutine(read(stream))
            while not told.leave.is_set():
                await deferLater(self.thread.reactor, POLL_S)
                await _commit(connector.commit_offsets)
        await reading


async def _commit(commit: Callable[[], Deferred[None]]) -> None:
    """Commit; during a rebalance the next owner of the partition reads these records again."""
    try:
        await commit()
    except KafkaTXError:
        return


def _bare(noted: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, tuple[int, str]]:
    """Offsets and metadata alone."""
    return {place: (at.offset, at.metadata) for place, at in noted.items()}


if __name__ == "__main__":
    main(Ours)
