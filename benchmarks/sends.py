"""One record a call: kafkatx's ``send`` and ``produce`` beside confluent-kafka's ``produce``, on one broker.

python -m benchmarks.sends [MESSAGES] [ROUNDS]
python -m benchmarks.sends profile [MESSAGES]

Records of 200 B without a key, linger.ms=5, acks=all and idempotence for all; the broker on one core, each
client in a process of its own on another. All loads are measured in turn, ROUNDS times; the table has the
median and the range. That all records are in the log is seen from the offset of one that is sent after them.
The last line says how busy other processes and the machine's host were meanwhile. ``profile`` shows where
``produce`` and ``send`` spend their time.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from benchmarks.measurement import Stopwatch, run_twisted

VALUE = b"x" * 200
BATCH_SIZES = (16_384, 131_072, 1_000_000)
"""The defaults of Apache Kafka's client, of kafkatx's, and of librdkafka."""

CORES = sorted(os.sched_getaffinity(0))
BROKER_CORE, CLIENT_CORE = CORES[0], CORES[-1]


def kafkatx_send(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """Send each record with a Deferred that nothing waits for."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Producer

        producer = Producer(bootstrap_servers=f"127.0.0.1:{port}", batch_size=batch_size)
        await producer.start()
        await producer.send(topic, VALUE)
        send, ready = producer.send, producer.ready
        watch = Stopwatch()
        for number in range(messages):
            if number % 100 == 0:
                room = ready()
                if not room.called:
                    await room
            send(topic, VALUE)
        await producer.flush()
        measured = watch.stop(messages)
        last = await producer.send(topic, VALUE)
        await producer.close()
        return measured if last.offset == messages + 1 else {}

    return run_twisted(main)


def kafkatx_produce(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """No Deferred; failures would come out of ``flush``."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Producer
        from kafkatx.clientcore.errors import BufferExhausted

        producer = Producer(bootstrap_servers=f"127.0.0.1:{port}", batch_size=batch_size)
        await producer.start()
        await producer.send(topic, VALUE)
        produce = producer.produce
        watch = Stopwatch()
        for _ in range(messages):
            try:
                produce(topic, VALUE)
            except BufferExhausted:
                await producer.ready()
                produce(topic, VALUE)
        await producer.flush()
        measured = watch.stop(messages)
        last = await producer.send(topic, VALUE)
        await producer.close()
        return measured if last.offset == messages + 1 else {}

    return run_twisted(main)


def confluent_produce(port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """librdkafka's queue, without a callback for a record."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "linger.ms": 5,
            "batch.size": batch_size,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    producer.produce(topic, VALUE)
    producer.flush()
    offsets: list[int] = []
    produce = producer.produce
    watch = Stopwatch()
    for number in range(messages):
        while True:
            try:
                produce(topic, VALUE)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush(300)
    measured = watch.stop(messages)
    producer.produce(topic, VALUE, on_delivery=lambda error, message: offsets.append(message.offset()))
    producer.flush(30)
    return measured if offsets == [messages + 1] else {}


LOADS: dict[str, Callable[[int, str, int, int], dict[str, float]]] = {
    "kafkatx send": kafkatx_send,
    "kafkatx produce": kafkatx_produce,
    "confluent-kafka produce": confluent_produce,
}


def measure(name: str, port: int, topic: str, messages: int, batch_size: int) -> dict[str, float]:
    """Run one load in a process of its own.

    :raises RuntimeError: it failed, or a message was not delivered.
    """
    arguments = (name, port, topic, messages, batch_size)
    command = [sys.executable, "-m", "benchmarks.sends", "--load", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600)
    lines = done.stdout.splitlines()
    measured: dict[str, float] = json.loads(lines[-1]) if done.returncode == 0 and lines else {}
    if not measured:
        raise RuntimeError(f"{name} failed")
    return measured


def machine() -> tuple[float, float]:
    """Seconds that all cores were busy, and that the host took, since the machine's start."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(field) for field in stat.readline().split()[1:9]]
    per_s = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / per_s, ticks[7] / per_s


def compare(messages: int, rounds: int) -> None:
    """All loads in turn; print a line for each."""
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    port = free_port()
    before = machine()
    ours_s = 0.0
    with tempfile.TemporaryDirectory(prefix="kafkatx-") as directory:
        command = ["taskset", "-c", str(BROKER_CORE)]
        command += kafkatx_command(directory, port, ["log.retention.bytes=500000000"])
        with Measured(command, port) as broker:
            broker.wait_until_listening()
            for number in range(rounds):
                for name in LOADS:
                    for batch_size in BATCH_SIZES:
                        topic = f"{name.replace(' ', '-')}-{batch_size}-{number}"
                        measured = measure(name, port, topic, messages, batch_size)
                        found.setdefault((name, batch_size), []).append(measured)
                        ours_s += measured["cpu_us"] * messages / 1e6
            ours_s += broker.cpu_s()
    busy_s, stolen_s = (after - start for after, start in zip(machine(), before, strict=True))
    print(f"{'':24}{'batch.size':>12}{'msg/s, median (range)':>36}{'client cpu':>16}")
    for (name, batch_size), rows in found.items():
        rates = sorted(row["per_s"] for row in rows)
        middle = f"{statistics.median(rates):,.0f} ({rates[0]:,.0f}-{rates[-1]:,.0f})"
        cpu_us = statistics.median(row["cpu_us"] for row in rows)
        print(f"{name:24}{batch_size:12,}{middle:>36}{cpu_us:10.2f} us/msg")
    print(f"{rounds} rounds of {messages:,}; the loads and the broker used {ours_s:.0f} s of the cores,"
          f" all processes together {busy_s:.0f} s, of which the host took {stolen_s:.1f} s")  # fmt: skip


def profile(messages: int) -> None:
    """Print where the time of kafkatx's loads goes."""
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="kafkatx-") as directory,
        Measured(kafkatx_command(directory, port), port) as broker,
    ):
        broker.wait_until_listening()
        for name in ("kafkatx send", "kafkatx produce"):
            command = [sys.executable, "-m", "benchmarks.sends", "--profile"]
            arguments = (name, port, name.replace(" ", "-"), messages, BATCH_SIZES[0])
            subprocess.run([*command, *map(str, arguments)], check=True, timeout=600)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--load"], ["--profile"]):
        name, port, topic, messages, batch_size = sys.argv[2:]
        os.sched_setaffinity(0, {CLIENT_CORE})
        arguments = (int(port), topic, int(messages), int(batch_size))
        if sys.argv[1] == "--load":
            print(json.dumps(LOADS[name](*arguments)))
        else:
            watched = cProfile.Profile()
            measured = watched.runcall(LOADS[name], *arguments)
            print(f"{name}: {measured}, under the profiler")
            pstats.Stats(watched).sort_stats("tottime").print_stats(16)
    elif sys.argv[1:2] == ["profile"]:
        profile(*map(int, sys.argv[2:] or ["300000"]))
    else:
        numbers = [int(argument) for argument in sys.argv[1:]]
        compare(*(numbers + [1_000_000, 5][len(numbers) :]))
