"""The Twisted client beside other Python clients, each in a process of its own, on one broker in one run.

python -m benchmarks.clients_twisted [MESSAGES] [ROUNDS]
python -m benchmarks.clients_twisted consume [MESSAGES] [ROUNDS]

Every load is measured ROUNDS times, all clients in turn, and the best of each is printed: on a machine that
does other things as well the best is what says most. "cpu" is the client's own, user and system, per message.
That all messages are in the log is seen from the offset of one that is sent after them.

"kafkatx send_batch" puts as many lists into one batch as batch.size allows, as every client does with single
records. "kafkatx 50 a request" may not: its requests hold one list each, as aiokafka's batches do.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from benchmarks.clients_consuming import CONSUMERS, LISTS, PART, fill
from benchmarks.measurement import Stopwatch, run_twisted

SIZE, LIST = 200, 50
VALUE = b"x" * SIZE
BATCH_SIZES = (16_384, 131_072)
"""The defaults of Apache Kafka's client and of kafkatx's."""


def twisted_lists(port: int, topic: str, messages: int, batch_size: int, **settings: Any) -> dict[str, float]:
    """Lists of 50 by ``send_batch``, as fast as there is room."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Producer

        producer = Producer(bootstrap_servers=f"127.0.0.1:{port}", batch_size=batch_size, **settings)
        await producer.start()
        await producer.send(topic, VALUE)
        values, watch = [VALUE] * LIST, Stopwatch()
        for _ in range(messages // LIST):
            room = producer.ready()
            if not room.called:
                await room
            producer.send_batch(topic, values)
        await producer.flush()
        measured = watch.stop(messages)
        last = await producer.send(topic, VALUE)
        await producer.close()
        return measured if last.offset == messages + 1 else {}

    return run_twisted(main)


def twisted_strict(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """Lists of 50, each a request of its own: no larger request is allowed."""
    return twisted_lists(port, topic, messages, batch_size, max_request_size=LIST * (SIZE + 30))


def twisted_each(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """One by one by ``send``."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Producer

        producer = Producer(bootstrap_servers=f"127.0.0.1:{port}", batch_size=batch_size)
        await producer.start()
        await producer.send(topic, VALUE)
        watch = Stopwatch()
        for _ in range(messages):
            room = producer.ready()
            if not room.called:
                await room
            producer.send(topic, VALUE)
        await producer.flush()
        measured = watch.stop(messages)
        last = await producer.send(topic, VALUE)
        await producer.close()
        return measured if last.offset == messages + 1 else {}

    return run_twisted(main)


def kafka_python(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """kafka-python's ``send``: it has nothing for lists."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=f"127.0.0.1:{port}", batch_size=batch_size, linger_ms=5)
    producer.send(topic, VALUE).get(30)
    watch = Stopwatch()
    for _ in range(messages):
        producer.send(topic, VALUE)
    producer.flush(300)
    measured = watch.stop(messages)
    last = producer.send(topic, VALUE).get(30)
    producer.close()
    return measured if last.offset == messages + 1 else {}


def aiokafka_each(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """aiokafka's ``send``."""

    async def main() -> dict[str, float]:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=f"127.0.0.1:{port}",
            max_batch_size=batch_size,
            linger_ms=5,
            enable_idempotence=True,
        )
        await producer.start()
        await producer.send_and_wait(topic, VALUE)
        watch = Stopwatch()
        for _ in range(messages):
            await producer.send(topic, VALUE)
        await producer.flush()
        measured = watch.stop(messages)
        last = await producer.send_and_wait(topic, VALUE)
        await producer.stop()
        return measured if last.offset == messages + 1 else {}

    return asyncio.run(main())


def aiokafka_lists(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """aiokafka's batches of 50, made by the application."""

    async def main() -> dict[str, float]:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=f"127.0.0.1:{port}", max_batch_size=batch_size, enable_idempotence=True
        )
        await producer.start()
        await producer.send_and_wait(topic, VALUE)
        watch = Stopwatch()
        for _ in range(messages // LIST):
            batch = producer.create_batch()
            for _ in range(LIST):
                batch.append(key=None, value=VALUE, timestamp=None)
            batch.close()
            await producer.send_batch(batch, topic, partition=0)
        await producer.flush()
        measured = watch.stop(messages)
        last = await producer.send_and_wait(topic, VALUE)
        await producer.stop()
        return measured if last.offset == messages + 1 else {}

    return asyncio.run(main())


PRODUCERS: dict[str, Callable[[int, str, int, int], dict[str, float]]] = {
    "kafkatx send_batch": twisted_lists,
    "kafkatx 50 a request": twisted_strict,
    "aiokafka send_batch": aiokafka_lists,
    "kafkatx send": twisted_each,
    "kafka-python send": kafka_python,
    "aiokafka send": aiokafka_each,
}
SHARE = {"kafkatx send_batch": 20, "kafkatx 50 a request": 8, "aiokafka send_batch": 4, "kafkatx send": 4}
"""How many times as many messages, so that no load is over too soon to measure."""


def measure(name: str, port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """Run one load in a process of its own.

    :raises RuntimeError: it failed, or a message was not delivered.
    """
    arguments = (name, port, topic, messages * SHARE.get(name, 1), batch_size)
    command = [sys.executable, "-m", "benchmarks.clients_twisted", "--load", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600)
    lines = done.stdout.splitlines()
    measured: dict[str, float] = json.loads(lines[-1]) if done.returncode == 0 and lines else {}
    if not measured:
        raise RuntimeError(f"{name} failed")
    return measured


def compare(messages: int, rounds: int) -> None:
    """All producers in turn; prints a line for each at its best."""
    best: dict[tuple[str, int], dict[str, float]] = {}
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="kafkatx-") as directory,
        Measured(kafkatx_command(directory, port, ["log.retention.bytes=500000000"]), port) as broker,
    ):
        broker.wait_until_listening()
        for number in range(rounds):
            for name in PRODUCERS:
                for batch_size in BATCH_SIZES:
                    topic = f"{name.replace(' ', '-')}-{batch_size}-{number}"
                    measured = measure(name, port, topic, messages, batch_size)
                    known = best.get((name, batch_size))
                    if known is None or measured["per_s"] > known["per_s"]:
                        best[name, batch_size] = measured
    print(f"{'producer':24}{'batch.size':>12}{'msg/s':>12}{'client cpu':>16}")
    for (name, batch_size), found in best.items():
        print(f"{name:24}{batch_size:12,}{found['per_s']:12,.0f}{found['cpu_us']:10.2f} us/msg")
    top = {name: max(best[name, size]["per_s"] for size in BATCH_SIZES) for name in PRODUCERS}
    others = max(top["aiokafka send_batch"], top["aiokafka send"])
    print(f"send_batch: {top['kafkatx send_batch'] / top['kafka-python send']:.1f} times kafka-python's best,"
          f" {top['kafkatx send_batch'] / others:.1f} times aiokafka's")  # fmt: skip
    print(f"send: {top['kafkatx send'] / top['kafka-python send']:.1f} times kafka-python's,"
          f" {top['kafkatx send'] / top['aiokafka send']:.1f} times aiokafka's")  # fmt: skip


def measure_consumer(name: str, port: int, topic: str, messages: int) -> dict[str, float]:
    """Run one load in a process of its own.

    :raises RuntimeError: it failed.
    """
    arguments = (name, port, topic, messages // PART.get(name, 1))
    command = [sys.executable, "-m", "benchmarks.clients_twisted", "--consume", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{name} failed")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def compare_consumers(messages: int, rounds: int) -> None:
    """All consumers in turn; prints a line for each at its best."""
    best: dict[tuple[str, str], dict[str, float]] = {}
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="kafkatx-") as directory,
        Measured(kafkatx_command(directory, port), port) as broker,
    ):
        broker.wait_until_listening()
        for kind, batch in LISTS.items():
            topic = kind.replace(" ", "-")
            fill(port, topic, messages, batch)
            for _ in range(rounds):
                for name in CONSUMERS:
                    measured = measure_consumer(name, port, topic, messages)
                    known = best.get((name, kind))
                    if known is None or measured["cpu_us"] < known["cpu_us"]:
                        best[name, kind] = measured
    print(f"{'consumer':24}{'log':>16}{'msg/s':>12}{'client cpu':>16}")
    for (name, kind), found in best.items():
        print(f"{name:24}{kind:>16}{found['per_s']:12,.0f}{found['cpu_us']:10.2f} us/msg")
    for kind in LISTS:
        took = {name: best[name, kind]["cpu_us"] for name in CONSUMERS}
        ours = took["kafkatx async for"]
        print(f"{kind}: async for needs {ours / took['kafka-python for']:.0%} of kafka-python's CPU time,"
              f" {ours / took['aiokafka async for']:.0%} of aiokafka's;"
              f" getmany {took['kafkatx getmany'] / took['aiokafka getmany']:.0%} of aiokafka's")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--consume"]:
        name, port, topic, messages = sys.argv[2:]
        print(json.dumps(CONSUMERS[name](int(port), topic, int(messages))))
    elif sys.argv[1:2] == ["consume"]:
        numbers = [int(argument) for argument in sys.argv[2:]]
        compare_consumers(*(numbers + [400_000, 3][len(numbers) :]))
    elif sys.argv[1:2] == ["--load"]:
        name, port, topic, messages, batch_size = sys.argv[2:]
        print(json.dumps(PRODUCERS[name](int(port), topic, int(messages), int(batch_size))))
    else:
        numbers = [int(argument) for argument in sys.argv[1:]]
        compare(*(numbers + [50_000, 3][len(numbers) :]))
