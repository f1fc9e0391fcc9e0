"""From ``send`` to the application that reads: our client beside librdkafka, on one kafkatx broker.

python -m benchmarks.latency [RATE] [SECONDS] [ROUNDS]

RATE messages a second (1,000) are sent one by one, ``linger.ms=0``, for SECONDS (10) and ROUNDS (5); both
clients take turns. Producer and consumer are processes of their own, as in use. A message carries the time at
which ``send`` was called, by the clock that both processes share. The first second is not counted.

Both pace themselves in the same way: whenever a timer fires, all messages that are due are sent. What a line
tells is the median of the rounds' values, and their least and greatest.
"""

from __future__ import annotations

import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from benchmarks.measurement import run_twisted
from kafkatx.blocking import Cluster, Writer

SIZE = 200
PADDING = bytes(SIZE - 8)
STAMP = struct.Struct(">q")
TICK_S = 0.001
WARM_S = 1.0
WAIT_S = 60.0
LAST = -1
"""The stamp of the messages before the first and after the last."""

QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def stamped(stamp: int) -> bytes:
    """A message."""
    return STAMP.pack(stamp) + PADDING


class Pace:
    """Return the number of messages that are due."""

    def __init__(self, rate: int, seconds: float) -> None:
        self._rate = rate
        self._total = int(rate * seconds)
        self._sent = 0
        self._began = time.perf_counter()

    def due(self) -> int:
        """Return the number of messages to send now."""
        wanted = min(self._total, int((time.perf_counter() - self._began) * self._rate))
        due, self._sent = wanted - self._sent, wanted
        return due

    @property
    def over(self) -> bool:
        """Return True if all are sent."""
        return self._sent >= self._total


class Seen:
    """The latencies of messages, in ns."""

    def __init__(self) -> None:
        self._found: list[tuple[int, int]] = []

    def see(self, value: bytes) -> bool:
        """A message has come; false if it is the last."""
        (stamp,) = STAMP.unpack_from(value)
        if stamp == LAST:
            return False
        self._found.append((stamp, time.monotonic_ns() - stamp))
        return True

    def told(self) -> dict[str, float]:
        """Quantiles in ms, without the first second, and the rate at which messages were sent."""
        first, last = self._found[0][0], self._found[-1][0]
        taken = sorted(took for stamp, took in self._found if stamp - first >= WARM_S * 1e9)
        told = {name: taken[int(part * (len(taken) - 1))] / 1e6 for name, part in QUANTILES.items()}
        return {**told, "per_s": (len(self._found) - 1) / ((last - first) / 1e9)}


def ready() -> None:
    """Tell that the consumer has read the first message."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


# -- our client


def produce_ours(port: int, topic: str, rate: int, seconds: float) -> None:
    """With ``send``, and a timer of the reactor's."""

    async def main(reactor: Any) -> dict[str, float]:
        from twisted.internet.task import LoopingCall

        from kafkatx.client import Producer

        producer = Producer(bootstrap_servers=f"127.0.0.1:{port}", linger_ms=0)
        await producer.start()
        pace = Pace(rate, seconds)

        def send() -> None:
            for _ in range(pace.due()):
                producer.send(topic, stamped(time.monotonic_ns()))
            if pace.over:
                sending.stop()

        sending = LoopingCall(send)
        await sending.start(TICK_S)
        await producer.send(topic, stamped(LAST))
        await producer.close()
        return {}

    run_twisted(main)


def consume_ours(port: int, topic: str) -> dict[str, float]:
    """With ``async for``."""

    async def main(reactor: Any) -> dict[str, float]:
        from kafkatx.client import Consumer

        consumer = Consumer(bootstrap_servers=f"127.0.0.1:{port}", auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([(topic, 0)])
        seen, begun = Seen(), False
        async for record in consumer:
            if seen.see(record.value):
                continue
            if begun:
                break
            begun = True
            ready()
        await consumer.close()
        return seen.told()

    return run_twisted(main)


# -- librdkafka


def produce_librdkafka(port: int, topic: str, rate: int, seconds: float) -> None:
    """With ``produce``; its own thread sends."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "linger.ms": 0,
            "acks": "all",
            "enable.idempotence": True,
        }
    )
    pace = Pace(rate, seconds)
    while not pace.over:
        for _ in range(pace.due()):
            producer.produce(topic, stamped(time.monotonic_ns()))
        producer.poll(0)
        time.sleep(TICK_S)
    producer.flush(WAIT_S)
    producer.produce(topic, stamped(LAST))
    producer.flush(WAIT_S)


def consume_librdkafka(port: int, topic: str) -> dict[str, float]:
    """With ``poll``."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "unused", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen, begun = Seen(), False
    for value in _polled(consumer):
        if seen.see(value):
            continue
        if begun:
            break
        begun = True
        ready()
    consumer.close()
    return seen.told()


def _polled(consumer: Any) -> Iterator[bytes]:
    while True:
        message = consumer.poll(WAIT_S)
        if message is None:
            raise TimeoutError("no message came")
        if message.error():
            raise RuntimeError(str(message.error()))
        yield message.value()


CLIENTS: dict[str, tuple[Callable[[int, str, int, float], None], Callable[[int, str], dict[str, float]]]] = {
    "kafkatx": (produce_ours, consume_ours),
    "librdkafka": (produce_librdkafka, consume_librdkafka),
}


# -- rounds


def measure(name: str, port: int, topic: str, rate: int, seconds: float) -> dict[str, float]:
    """One round of one client.

    :raises RuntimeError: a process failed.
    """
    with Cluster(f"127.0.0.1:{port}") as cluster, Writer(cluster, topic) as writer:
        writer.send(stamped(LAST))
    command = [sys.executable, "-m", "benchmarks.latency"]
    consumer = subprocess.Popen(
        [*command, "--consume", name, str(port), topic], stdout=subprocess.PIPE, text=True
    )
    assert consumer.stdout is not None
    consumer.stdout.readline()  # that it is ready
    producer = subprocess.run(
        [*command, "--produce", name, str(port), topic, str(rate), str(seconds + WARM_S)],
        timeout=seconds + WAIT_S,
    )
    told, _ = consumer.communicate(timeout=WAIT_S)
    if producer.returncode or consumer.returncode:
        raise RuntimeError(f"{name} failed")
    measured: dict[str, float] = json.loads(told.splitlines()[-1])
    return measured


def lines(found: dict[str, list[dict[str, float]]]) -> Iterable[str]:
    """A table of medians and spreads."""
    yield f"{'client':12}{'rate':>10}" + "".join(f"{name + ' ms':>26}" for name in QUANTILES)
    for name, rounds in found.items():
        rate = statistics.median(one["per_s"] for one in rounds)
        cells = []
        for quantile in QUANTILES:
            values = [one[quantile] for one in rounds]
            cells.append(f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")
        yield f"{name:12}{rate:8,.0f}/s" + "".join(f"{cell:>26}" for cell in cells)


def compare(rate: int, seconds: float, rounds: int) -> None:
    """Both clients in turn; prints a line for each."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="kafkatx-") as directory,
        Measured(kafkatx_command(directory, port), port) as broker,
    ):
        broker.wait_until_listening()
        for number in range(rounds):
            for name in CLIENTS:
                found[name].append(measure(name, port, f"{name}-{number}", rate, seconds))
    print("\n".join(lines(found)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--produce"]:
        name, port, topic, rate, seconds = sys.argv[2:]
        CLIENTS[name][0](int(port), topic, int(rate), float(seconds))
    elif sys.argv[1:2] == ["--consume"]:
        name, port, topic = sys.argv[2:]
        print(json.dumps(CLIENTS[name][1](int(port), topic)))
    else:
        numbers = [float(argument) for argument in sys.argv[1:]]
        per_s, duration_s, times = numbers + [1000, 10, 5][len(numbers) :]
        compare(int(per_s), duration_s, int(times))
