"""The messages of every client's test, and how each client library produces and reads them."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import Callable
from typing import Any

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 10_000
DEADLINE_S = 60.0


def new_topic() -> str:
    """A name that no other test uses."""
    return f"clients-{uuid.uuid4().hex[:12]}"


def messages(count: int = COUNT) -> list[tuple[bytes, bytes]]:
    """Keys and values of many sizes, some of them empty, with every byte in them."""
    every_byte = bytes(range(256))
    return [
        (b"key-%d" % (n % 97), b"%d|" % n + every_byte * (n % 3) + b"x" * (n % 50) if n % 100 else b"")
        for n in range(count)
    ]


class Confluent:
    """confluent-kafka, that is librdkafka."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic with the client's own admin call."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            made.result(DEADLINE_S)

    def produce(self, topic: str, codec: str, pairs: list[tuple[bytes, bytes]], **conf: Any) -> None:
        """Produce to partition 0, in order; every delivery is confirmed."""
        from confluent_kafka import Producer

        failed: list[Any] = []
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "compression.type": codec, "linger.ms": 5, **conf}
        )
        for key, value in pairs:
            producer.produce(
                topic,
                value,
                key,
                partition=0,
                on_delivery=lambda error, _message: failed.append(error) if error else None,
            )
            producer.poll(0)
        left = producer.flush(DEADLINE_S)
        if left or failed:
            raise AssertionError(f"{left} messages left, {failed[:1]}")

    def read(self, topic: str, count: int) -> list[tuple[bytes, bytes]]:
        """Read partition 0 from the beginning, by assignment."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "unused", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[tuple[bytes, bytes]] = []
        while len(found) < count:
            batch = consumer.consume(count, timeout=10)
            if not batch:
                raise AssertionError(f"only {len(found)} of {count} messages came")
            for message in batch:
                if message.error():
                    raise AssertionError(message.error())
                found.append((message.key(), message.value()))
        consumer.close()
        return found


class KafkaPython:
    """kafka-python, with its idempotent default."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic with the client's own admin call."""
        from kafka.admin import KafkaAdminClient, NewTopic

        admin = KafkaAdminClient(bootstrap_servers=self._bootstrap)
        admin.create_topics([NewTopic(topic, partitions, 1)])
        admin.close()

    def produce(self, topic: str, codec: str, pairs: list[tuple[bytes, bytes]]) -> None:
        """Produce to partition 0, in order; every delivery is confirmed."""
        from kafka import KafkaProducer

        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            compression_type=None if codec == "none" else codec,
            linger_ms=5,
        )
        sent = [producer.send(topic, value, key, partition=0) for key, value in pairs]
        producer.flush(DEADLINE_S)
        for future in sent:
            future.get(DEADLINE_S)
        producer.close()

    def read(self, topic: str, count: int) -> list[tuple[bytes, bytes]]:
        """Read partition 0 from the beginning, by assignment."""
        from kafka import KafkaConsumer, TopicPartition

        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=10_000
        )
        consumer.assign([TopicPartition(topic, 0)])
        found = []
        for message in consumer:
            found.append((message.key, message.value))
            if len(found) == count:
                break
        consumer.close()
        return found


class AioKafka:
    """aiokafka."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic with the client's own admin call."""

        async def go() -> None:
            from aiokafka.admin import AIOKafkaAdminClient, NewTopic

            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            await admin.create_topics([NewTopic(topic, partitions, 1)])
            await admin.close()

        asyncio.run(go())

    def produce(self, topic: str, codec: str, pairs: list[tuple[bytes, bytes]]) -> None:
        """Produce to partition 0, in order; every delivery is confirmed."""

        async def go() -> None:
            from aiokafka import AIOKafkaProducer

            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                compression_type=None if codec == "none" else codec,
                linger_ms=5,
            )
            await producer.start()
            sent = [await producer.send(topic, value, key, partition=0) for key, value in pairs]
            await producer.flush()
            await asyncio.gather(*sent)
            await producer.stop()

        asyncio.run(go())

    def read(self, topic: str, count: int) -> list[tuple[bytes, bytes]]:
        """Read partition 0 from the beginning, by assignment."""

        async def go() -> list[tuple[bytes, bytes]]:
            from aiokafka import AIOKafkaConsumer, TopicPartition

            consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, auto_offset_reset="earliest")
            consumer.assign([TopicPartition(topic, 0)])
            await consumer.start()
            found: list[tuple[bytes, bytes]] = []
            while len(found) < count:
                got = await consumer.getmany(timeout_ms=10_000)
                if not got:
                    break
                found += [(m.key, m.value) for batch in got.values() for m in batch]
            await consumer.stop()
            return found

        return asyncio.run(go())


CLIENTS: dict[str, Callable[[str], Any]] = {
    "confluent-kafka": Confluent,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
}


def kcat(*arguments: str, stdin: bytes = b"") -> bytes:
    """Run Debian's kcat and give what it wrote.

    :raises AssertionError: it failed, or is not installed (``apt-get install kcat``).
    """
    done = subprocess.run(
        ["kcat", *arguments], input=stdin, capture_output=True, timeout=DEADLINE_S, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    return done.stdout
