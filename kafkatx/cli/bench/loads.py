"""The measurements of ``kafkatx bench``: coroutines that drive the client library in a reactor's thread."""

from __future__ import annotations

import random
import struct
import time
from array import array
from collections.abc import Iterator

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from kafkatx.cli.bench.measure import Measured
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.producer.values import BatchMetadata, RecordMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted
from kafkatx.types import TopicPartition

YIELD_EVERY_S = 0.005
"""Messages are given to the producer for this long before the reactor gets a turn."""

DIFFERENT_BATCHES = 64
"""Number of batches of different messages that are sent in turn."""

MARK = struct.Struct(">Qd")
"""The head of each message of the latency run: the run's number and the time of sending."""

POOL_BYTES = 16 << 20
"""Largest size of these batches together: there are fewer if they are large."""

LETTERS = b"abcdefghijklmnopqrstuvwxyz     \n" * 8
"""A table for bytes.translate: any byte to a letter."""


@attrs.frozen
class Load:
    """The messages to send.

    :ivar size: bytes of a value.
    :ivar batch: messages in one call.
    :ivar rate: messages per second; 0: without a limit.
    """

    topic: str
    size: int
    batch: int
    count: int
    rate: float = 0.0

    def batches(self) -> list[list[bytes]]:
        """Return batches of values, the same in every run: random letters, which compress to about 5/8."""
        source = random.Random(self.size)
        most = POOL_BYTES // (self.batch * max(1, self.size))
        return [
            [source.randbytes(self.size).translate(LETTERS) for _ in range(self.batch)]
            for _ in range(max(2, min(DIFFERENT_BATCHES, most)))
        ]


class Pace:
    """Delays a loop to its rate, and gives the reactor turns in between."""

    def __init__(self, reactor: IReactorTime, rate: float) -> None:
        self._reactor = reactor
        self._rate = rate
        self._begun = self._yielded = time.perf_counter()

    async def wait(self, done: int) -> None:
        """Wait until it is time to send the next message after *done* messages."""
        now = time.perf_counter()
        early = self._begun + done / self._rate - now if self._rate else 0.0
        if early > 0 or now - self._yielded >= YIELD_EVERY_S:
            await deferLater(self._reactor, max(0.0, early))
            self._yielded = time.perf_counter()


class Stopwatch:
    """Measures the time and the CPU time of a run."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._begun = time.perf_counter()

    def measured(self, records: int, size: int, latencies: array[float]) -> Measured:
        """Return the measurement of a run that ends now."""
        seconds = time.perf_counter() - self._begun
        return Measured(records, size, seconds, latencies, time.process_time() - self._cpu)


class Sending:
    """Sends a load.

    :ivar latencies: the time from each call to its acknowledgement, in seconds.
    """

    def __init__(self, producer: Producer, load: Load, bar: ProgressBar) -> None:
        self.latencies = array("d")
        self._producer = producer
        self._load = load
        self._bar = bar
        self._failure: Failure | None = None

    async def run(self, batches: Iterator[list[bytes]]) -> None:
        """Send everything, and wait until it is acknowledged.

        :raises KafkaTXError: a message was not.
        """
        load, producer, sent = self._load, self._producer, 0
        pace = Pace(producer.cluster.reactor, load.rate)
        while sent < load.count and self._failure is None:
            await producer.ready()
            await pace.wait(sent)
            values = next(batches)[: load.count - sent]
            began = time.perf_counter()
            answer: Deferred[RecordMetadata] | Deferred[BatchMetadata]
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

    def _failed(self, failure: Failure) -> None:
        self._failure = failure


async def produce(producer: Producer, load: Load, bar: ProgressBar) -> Measured:
    """Measure a producer, from the first call to the last acknowledgement."""
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
    """Measure a consumer, from its first request to the last message that is in the topic at the start.

    Latencies are the durations of the calls that return messages.
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
    """Measure the time from a producer through the broker to a consumer, for each message.

    :raises KafkaTXError: messages that were sent did not arrive.
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
    """Yield batches of values that begin with the run and the present time."""
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
            raise KafkaTXError(
                f"{counted(count - len(latencies), 'message')} did not come within {timeout_s:g} s"
            )
        for records in found.values():
            marks = [
                MARK.unpack_from(record.value) for record in records if len(record.value or b"") >= MARK.size
            ]
            ours = [now - sent for which, sent in marks if which == run]
            latencies.extend(ours)
            bar.advance(len(ours))
