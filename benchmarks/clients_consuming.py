"""Consumers of Python clients beside ours: the loads of ``benchmarks.clients_twisted consume``.

Each reads the same partition from its start, in a process of its own; what is measured begins with the first
record. Every record is touched by the loop, none is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from benchmarks.measurement import Stopwatch, run_twisted
from kafkatx.blocking import Cluster, Writer

SIZE = 200
LISTS = {"50 a batch": 50, "1000 a batch": 1000}
"""How many records a batch of the log holds."""


def fill(port: int, topic: str, messages: int, batch: int) -> None:
    """Write messages to partition 0, so many a batch."""
    values = [b"x" * SIZE] * batch
    with Cluster(f"127.0.0.1:{port}") as cluster, Writer(cluster, topic) as writer:
        for _ in range(messages // batch):
            writer.send_values(values, partition=0)
            writer.flush()


def twisted_for(port: int, topic: str, messages: int) -> dict[str, float]:
    """``async for``."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Consumer

        consumer = Consumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
        consumer.assign([(topic, 0)])
        await consumer.start()
        await consumer.getone()
        watch, seen = Stopwatch(), 1
        async for _ in consumer:
            seen += 1
            if seen == messages:
                break
        measured = watch.stop(messages)
        await consumer.close()
        return measured

    return run_twisted(main)


def twisted_many(port: int, topic: str, messages: int) -> dict[str, float]:
    """``getmany``."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Consumer

        consumer = Consumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
        consumer.assign([(topic, 0)])
        await consumer.start()
        await consumer.getone()
        watch, seen = Stopwatch(), 1
        while seen < messages:
            for records in (await consumer.getmany(timeout_ms=5000)).values():
                for _ in records:
                    seen += 1
        measured = watch.stop(messages)
        await consumer.close()
        return measured

    return run_twisted(main)


def twisted_process(port: int, topic: str, messages: int) -> dict[str, float]:
    """``process`` with a function that returns at once."""

    async def main(reactor: Any) -> dict[str, float]:
        from twisted.internet.defer import Deferred

        from kafkatx.client import Consumer

        consumer = Consumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
        consumer.assign([(topic, 0)])
        await consumer.start()
        await consumer.getone()
        enough: Deferred[None] = Deferred()
        watch, seen = Stopwatch(), 1

        def work(record: Any) -> None:
            nonlocal seen
            seen += 1
            if seen == messages:
                enough.callback(None)

        processing = consumer.process(work)
        await enough
        measured = watch.stop(messages)
        await consumer.close()
        await processing
        return measured

    return run_twisted(main)


def kafka_python(port: int, topic: str, messages: int) -> dict[str, float]:
    """kafka-python's iteration."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    next(consumer)
    watch, seen = Stopwatch(), 1
    for _ in consumer:
        seen += 1
        if seen == messages:
            break
    measured = watch.stop(messages)
    consumer.close()
    return measured


def aiokafka_for(port: int, topic: str, messages: int) -> dict[str, float]:
    """aiokafka's iteration."""

    async def main() -> dict[str, float]:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        consumer = AIOKafkaConsumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
        consumer.assign([TopicPartition(topic, 0)])
        await consumer.start()
        await consumer.getone()
        watch, seen = Stopwatch(), 1
        async for _ in consumer:
            seen += 1
            if seen == messages:
                break
        measured = watch.stop(messages)
        await consumer.stop()
        return measured

    return asyncio.run(main())


def aiokafka_many(port: int, topic: str, messages: int) -> dict[str, float]:
    """aiokafka's ``getmany``."""

    async def main() -> dict[str, float]:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        consumer = AIOKafkaConsumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
        consumer.assign([TopicPartition(topic, 0)])
        await consumer.start()
        await consumer.getone()
        watch, seen = Stopwatch(), 1
        while seen < messages:
            for records in (await consumer.getmany(timeout_ms=5000)).values():
                for _ in records:
                    seen += 1
        measured = watch.stop(messages)
        await consumer.stop()
        return measured

    return asyncio.run(main())


CONSUMERS: dict[str, Callable[[int, str, int], dict[str, float]]] = {
    "kafkatx async for": twisted_for,
    "kafkatx getmany": twisted_many,
    "kafkatx process": twisted_process,
    "kafka-python for": kafka_python,
    "aiokafka async for": aiokafka_for,
    "aiokafka getmany": aiokafka_many,
}
PART = {"kafka-python for": 4, "aiokafka async for": 2}
"""Who reads only such a part of the messages: it would take too long."""
