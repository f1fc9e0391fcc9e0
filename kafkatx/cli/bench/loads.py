"""The runs of ``kafkatx bench``: coroutines in a reactor's thread, which drive the client library."""

from __future__ import annotations

import random
import struct
import time
from array import array
from collections.abc import Iterator
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from kafkatx.cli.bench.measure import Measured
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.producer.producer import Producer
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

BREATH_S = 0.005
"""So long messages are handed to the producer, before its connections get a turn."""

VARIETY = 64
"""So many batches of different messages are sent in turn."""

MARK = struct.Struct(">Qd")
"""Before each message of the latency run: which run it is, and when it was sent."""

POOL_BYTES = 16 << 20
"""They are fewer where they are large."""

LETTERS = b"abcdefghijklmnopqrstuvwxyz     \n" * 8
"""From any byte to a letter."""


@attrs.frozen
class Load:
    """What is sent.

    :ivar size: bytes of a value.
    :ivar batch: messages in one call.
    :ivar rate: messages a second; 0: as many as go.
    """

    topic: str
    size: int
    batch: int
    count: int
    rate: float = 0.0

    def batches(self) -> list[list[bytes]]:
        """Values in batches, the same in every run; text of random letters, which compresses to about 5/8."""
        source = random.Random(self.size)
        most = POOL_BYTES // (self.batch * max(1, self.size))
        return [
            [source.randbytes(self.size).translate(LETTERS) for _ in range(self.batch)]
            for _ in range(max(2, min(VARIETY, most)))
        ]


class Pace:
    """Lets a loop go on when its time has come, and the reactor have its turns."""

    def __init__(self, reactor: Any, rate: float) -> None:
        self._reactor = reactor
        self._rate = rate
        self._begun = self._breathed = time.perf_counter()

    async def wait(self, done: int) -> None:
        """Wait until it is time for the message after so many."""
        now = time.perf_counter()
        early = self._begun + done / self._rate - now if self._rate else 0.0
        if early > 0 or now - self._breathed >= BREATH_S:
            await deferLater(self._reactor, max(0.0, early))
            self._breathed = time.perf_counter()


class Stopwatch:
    """Times a run, of this process."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._begun = time.perf_counter()

    def measured(self, records: int, size: int, latencies: array[float]) -> Measured:
        """All of it."""
        seconds = time.perf_counter() - self._begun
        return Measured(records, size, seconds, latencies, time.process_time() - self._cpu)


class Sending:
    """Sends a load.

    :ivar latencies: from each call to its answer.
    """

    def __init__(self, producer: Producer, load: Load, bar: ProgressBar) -> None:
        self.latencies = array("d")
        self._producer = producer
        self._load = load
        self._bar = bar
        self._failure: Any = None

    async def run(self, batches: Iterator[list[bytes]]) -> None:
        """Send everything, and wait until it is there.

        :raises KafkaTXError: some of it was not.
        """
        load, producer, sent = self._load, self._producer, 0
        pace = Pace(producer.cluster.reactor, load.rate)
        while sent < load.count and self._failure is None:
            await producer.ready()
            await pace.wait(sent)
            values = next(batches)[: load.count - sent]
            began = time.perf_counter()
            answer: Deferred[Any]
            if load.batch == 1:
                answer = producer.send(load.topic, values[0])
            else:
                answer = producer.send_batch(load.topic, values)
            answer.addCallbacks(self._arrived, self._failed, (began, len(values)))
            sent += len(values)
        await producer.flush()
        if self._failure is not None:
            self._failure.raiseException()

    def _arrived(self, _: object, began: float, records: int) -> None:
        self.latencies.append(time.perf_counter() - began)
        self._bar.advance(records)

    def _failed(self, failure: Any) -> None:
        self._failure = failure


async def produce(producer: Producer, load: Load, bar: ProgressBar) -> Measured:
    """Measure a producer, from the first call to the last answer."""
    await producer.cluster.topic(load.topic)
    batches = load.batches()
    sending = Sending(producer, load, bar)
    watch = Stopwatch()
    await sending.run(_cycle(batches))
    return watch.measured(load.count, load.count * load.size, sending.latencies)


def _cycle(batches: list[list[bytes]]) -> Iterator[list[bytes]]:
    while True:
        yield from batches


async def consume(
    consumer: Consumer, topic: str, count: int | None, batch: int, timeout_s: float, bar: ProgressBar
) -> Measured:
    """Measure a consumer, from its first request to the last message: what is in the topic already.

    Latencies are those of the calls that ask for messages.
    """
    ends = await _ends(consumer, topic)
    starts = await consumer.beginning_offsets(*ends)
    there = sum(end - starts[place] for place, end in ends.items())
    left = there if count is None else min(there, count)
    if not left:
        raise KafkaTXError(
            f"topic {topic} has no messages: `kafkatx bench producer --topic {topic}` sends some"
        )
    records = size = 0
    latencies = array("d")
    watch = Stopwatch()
    consumer.assign(starts)
    for place, start in starts.items():
        consumer.seek(place, start)
    while left > 0:
        began = time.perf_counter()
        found = await consumer.getmany(min(batch, left), round(timeout_s * 1000))
        latencies.append(time.perf_counter() - began)
        if not found:
            break  # compaction has left fewer than there are offsets
        for given in found.values():
            records += len(given)
            left -= len(given)
            size += sum([len(record.value or b"") for record in given])
            bar.advance(len(given))
    return watch.measured(records, size, latencies)


async def _ends(consumer: Consumer, topic: str) -> dict[TopicPartition, int]:
    state = await consumer.cluster.topic(topic)
    return await consumer.end_offsets(*(TopicPartition(topic, number) for number in state.partitions))


async def latency(
    producer: Producer, consumer: Consumer, load: Load, timeout_s: float, bar: ProgressBar
) -> Measured:
    """Measure the way from a producer through the broker to a consumer, message by message.

    :raises KafkaTXError: messages that were sent did not come.
    """
    ends = await _ends(consumer, load.topic)
    consumer.assign(ends)
    for place, end in ends.items():
        consumer.seek(place, end)
    run = random.getrandbits(64)
    watch = Stopwatch()
    latencies = array("d")
    receiving = Deferred.fromCoroutine(_receive(consumer, run, load.count, timeout_s, latencies, bar))
    sending = Sending(producer, load, ProgressBar("", None, enabled=False))
    try:
        await sending.run(_marked(load.batches(), run))
        await receiving
    finally:
        receiving.cancel()
    return watch.measured(load.count, load.count * load.size, latencies)


def _marked(batches: list[list[bytes]], run: int) -> Iterator[list[bytes]]:
    """Values that say when they were made."""
    for batch in _cycle(batches):
        mark = MARK.pack(run, time.perf_counter())
        yield [mark + value[MARK.size :] for value in batch]


async def _receive(
    consumer: Consumer, run: int, count: int, timeout_s: float, latencies: array[float], bar: ProgressBar
) -> None:
    while len(latencies) < count:
        found = await consumer.getmany(None, round(timeout_s * 1000))
        now = time.perf_counter()
        if not found:
            raise KafkaTXError(f"{count - len(latencies)} messages did not come within {timeout_s:g} s")
        for records in found.values():
            marks = [
                MARK.unpack_from(record.value) for record in records if len(record.value or b"") >= MARK.size
            ]
            ours = [now - sent for which, sent in marks if which == run]
            latencies.extend(ours)
            bar.advance(len(ours))
