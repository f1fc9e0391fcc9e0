"""Loads from real clients, each in a process of its own; prints what it measured as JSON.

All but ``each`` are librdkafka; with ten thousand partitions it would measure itself.

python -m benchmarks.clients fill PORT TOPIC MB SIZE
python -m benchmarks.clients paced PORT TOPIC RATE SECONDS
python -m benchmarks.clients each PORT TOPIC RATE REQUESTS PARTITIONS
python -m benchmarks.clients drain PORT TOPIC MESSAGES [START]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from kafkatx.blocking import Cluster
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

WARM_UP_S = 1.0


def fill(port: int, topic: str, megabytes: int, size: int) -> dict[str, float]:
    """Produce so many MB of messages of *size* bytes to partition 0, as fast as it goes."""
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 500_000,
            "batch.size": 900_000,
            "linger.ms": 5,
        }
    )
    count, value = megabytes * 1_000_000 // size, b"x" * size
    start = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=0)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 1000 == 0:
            producer.poll(0)
    left = producer.flush(300)
    seconds = time.perf_counter() - start
    return {"messages": count - left, "mb_per_s": (count - left) * size / seconds / 1e6}


def paced(port: int, topic: str, rate: int, seconds: float) -> dict[str, float]:
    """Produce *rate* messages of 200 B a second; how long after produce() each was acknowledged, in ms."""
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "linger.ms": 0, "acks": "all"})
    latencies_ms: list[float] = []
    failed = 0
    value = b"x" * 200
    start = time.perf_counter()

    def told(sent_s: float) -> Any:
        def delivered(error: object, _: object) -> None:
            nonlocal failed
            if error is not None:
                failed += 1
            elif sent_s - start > WARM_UP_S:
                latencies_ms.append((time.perf_counter() - sent_s) * 1000)

        return delivered

    number = 0
    while (now := time.perf_counter()) - start < seconds:
        while number < (now - start) * rate:
            producer.produce(topic, value, partition=0, on_delivery=told(time.perf_counter()))
            number += 1
        producer.poll(0.0002)
    producer.flush(60)
    return {"failed": failed, **percentiles(latencies_ms)}


def each(port: int, topic: str, rate: int, requests: int, partitions: int) -> dict[str, float]:
    """Produce to one partition after the other, a request of one record at a time, *rate* a second."""
    data = build_values([b"x" * 200], int(time.time() * 1000))
    latencies_ms = []
    with Cluster(f"127.0.0.1:{port}", timeout_s=120) as cluster:
        channel = cluster.leader_connection(topic, 0)
        start = time.perf_counter()
        for number in range(requests):
            time.sleep(max(0.0, start + number / rate - time.perf_counter()))
            part = PartitionProduceData(number * 7919 % partitions, data)
            sent_s = time.perf_counter()
            response = channel.request(ProduceRequest(None, -1, 1000, [TopicProduceData(topic, [part])]))
            latencies_ms.append((time.perf_counter() - sent_s) * 1000)
            (result,) = response.responses[0].partition_responses
            if result.error_code:
                raise RuntimeError(f"error {result.error_code}: {result.error_message}")
    return percentiles(latencies_ms)


def percentiles(latencies_ms: list[float]) -> dict[str, float]:
    """Return the percentiles of a sample."""
    latencies_ms.sort()
    at = len(latencies_ms) / 100
    return {
        "messages": len(latencies_ms),
        "p50_ms": latencies_ms[int(50 * at)],
        "p99_ms": latencies_ms[int(99 * at)],
        "max_ms": latencies_ms[-1],
    }


def drain(port: int, topic: str, messages: int, start_offset: int = 0) -> dict[str, float]:
    """Consume so many messages of partition 0 from an offset on."""
    consumer = Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "group.id": "drain",
            "enable.auto.commit": False,
            "queued.min.messages": 1_000_000,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.assign([TopicPartition(topic, 0, start_offset)])
    got = total = 0
    start = time.perf_counter()
    while got < messages:
        batch = consumer.consume(10_000, timeout=10)
        if not batch:
            break
        got += len(batch)
        total += sum(len(message.value() or b"") for message in batch[:1]) * len(batch)
    seconds = time.perf_counter() - start
    consumer.close()
    return {"messages": got, "mb_per_s": total / seconds / 1e6, "seconds": seconds}


def begin(*arguments: object, idle: bool = False) -> subprocess.Popen[str]:
    """Start one of these in a separate process.

    :param idle: it gets the processor only when no other process wants it (``chrt --idle``): else it would be
        on another machine.
    """
    command = ["chrt", "--idle", "0"] if idle else []
    command += [sys.executable, "-m", "benchmarks.clients", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome(process: subprocess.Popen[str]) -> dict[str, float]:
    """Wait for what it measured.

    :raises RuntimeError: it failed.
    """
    printed, _ = process.communicate(timeout=900)
    if process.returncode:
        raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
    measured: dict[str, float] = json.loads(printed)
    return measured


if __name__ == "__main__":
    loads: dict[str, Any] = {"fill": fill, "paced": paced, "each": each, "drain": drain}
    name, port, topic, *numbers = sys.argv[1:]
    print(json.dumps(loads[name](int(port), topic, *map(int, numbers))))
