"""A model of the producer's promises: random calls, brokers and failures, on a clock.

Calls have right and wrong arguments; brokers answer, refuse, are silent, disconnect, send garbage and
repeated answers, die, come back and move partitions. Nevertheless each Deferred and callback fires within
max.block.ms and delivery.timeout.ms, every acknowledged record is at its offset, no record is in a log
twice, and each partition keeps its order.
"""

from __future__ import annotations

import random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.errors import RecordsLost
from kafkatx.clientcore.producer.values import BatchMetadata, ProducerData, RecordMetadata
from kafkatx.errors import ErrorCode
from kafkatx.partitioners import DefaultPartitioner
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST
from tests.client.fakes import NOTHING, Link
from tests.client.producer.test_intake import WRONG
from tests.client.producing import ProducerTestCase

SEEDS = range(24)
STEPS = 250
MAX_BLOCK_S = 2.0
DELIVERY_S = 3.0
STEP_S = 0.05
LATE_S = MAX_BLOCK_S + DELIVERY_S + 2 * STEP_S
TOPICS = ["one", "t", "t", "new", "newer"]
ERRORS = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_RECORD,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
]


@attrs.define(eq=False)
class Call:
    """One call. ``numbers``: the values it sent, in order; ``outcome``: its results, once known."""

    numbers: list[int]
    at_s: float
    outcome: list[Any] = attrs.Factory(list)
    waiting: Deferred[Any] | None = None


class World:
    """One producer among brokers that fail."""

    def __init__(self, case: PromisesTests, seed: int) -> None:
        self.case = case
        self.network = case.network
        self.random = random.Random(seed)
        random.seed(seed)  # pauses are drawn from it
        self.number = 0
        self.calls: list[Call] = []
        self.silent: list[Deferred[None]] = []
        self.last: dict[Link, bytes] = {}
        chosen = self.random.choice
        self.producer: Producer = case.producer(
            max_block_ms=int(MAX_BLOCK_S * 1000),
            delivery_timeout_ms=int(DELIVERY_S * 1000),
            request_timeout_ms=1000,
            linger_ms=chosen([0, 5, 100]),
            batch_size=chosen([1, 150, 16384]),
            buffer_memory=chosen([600, 1 << 20]),
            max_request_size=chosen([700, 1 << 20]),
            producer_type=chosen(["async", "async", "async", "sync"]),
            compression_type=chosen(["none", "none", "gzip"]),
            metadata_max_age_ms=1000,
            partitioner_class=DefaultPartitioner(random.Random(seed)),
        )
        case.log("one").max_bytes = chosen([1 << 30, 400])
        self.metadata_fails = 0.0
        answer = case.network.answer
        case.network.answers[MetadataRequest] = lambda *asked: (
            self.random.choice([NOTHING, LOSE_REPLY])
            if self.random.random() < self.metadata_fails
            else answer(*asked)
        )

    # -- the application's actions

    def value(self) -> bytes:
        """Return the next number, as a value of some size."""
        self.number += 1
        return b"%d " % self.number + b"x" * self.random.choice([0, 0, 30, 200, 800])

    def values(self) -> list[bytes]:
        """Return several values."""
        return [self.value() for _ in range(self.random.randint(1, 5))]

    def record(self) -> dict[str, Any]:
        """Return arguments of ``send``; some are wrong."""
        more: dict[str, Any] = {"topic": self.random.choice(TOPICS), "value": self.value()}
        if self.random.random() < 0.3:
            more["key"] = b"k%d" % self.random.randrange(4)
        if self.random.random() < 0.1:
            more["headers"] = [("h", b"x")]
        if self.random.random() < 0.2:
            more["timestamp_ms"] = self.random.choice([0, 5, (1 << 63) - 1])
        if self.random.random() < 0.2:
            more["partition"] = self.random.randrange(4)
        if self.random.random() < 0.15:
            more |= self.random.choice(WRONG)[1]
        if self.random.random() < 0.03:
            more["topic"] = self.random.choice([b"events", "\ud800", "", "a b", None])
        return more

    def watch(self, first: int, waiting: Deferred[Any]) -> None:
        """Wait for a call that sent the numbers after *first*."""
        call = Call(list(range(first + 1, self.number + 1)), self.network.clock.seconds(), waiting=waiting)
        waiting.addBoth(call.outcome.append)
        self.calls.append(call)

    def send(self) -> None:
        """Send one record."""
        first = self.number
        self.watch(first, self.producer.send(**self.record()))

    def send_batch(self) -> None:
        """Send a list."""
        first = self.number
        key = self.random.choice([None, None, b"k"])
        values: list[Any] = self.values()
        if self.random.random() < 0.1:
            values.append(self.random.choice([None, "text", 5]))
        self.watch(first, self.producer.send_batch(self.random.choice(TOPICS), values, key))

    def send_all(self) -> None:
        """Send several lists."""
        first = self.number
        data = [ProducerData(self.random.choice(TOPICS), self.values()) for _ in range(2)]
        self.watch(first, self.producer.send_all(data))

    def produce(self) -> None:
        """Produce one record with a callback, or without."""
        record = self.record()
        call = Call([self.number], self.network.clock.seconds())
        if self.random.random() < 0.5:
            record["on_delivery"] = lambda error, metadata: call.outcome.append(metadata or Failure(error))
        try:
            self.producer.produce(**record)
        except Exception:
            return
        if "on_delivery" in record:
            self.calls.append(call)

    def flush(self) -> None:
        """Flush, and watch it like a record."""
        self.watch(self.number, self.producer.flush())

    def cancel(self) -> None:
        """Cancel a call."""
        if self.calls and (waiting := self.random.choice(self.calls[-5:]).waiting) is not None:
            waiting.cancel()

    # -- faults

    def fault(self) -> None:
        """Make the next produce requests fail."""
        for _ in range(self.random.randint(1, 4)):
            silent: Deferred[None] = Deferred()
            self.silent.append(silent)
            kinds = [None, LOSE_REQUEST, LOSE_REPLY, NOTHING, silent, *ERRORS]
            self.case.faults.append(self.random.choice(kinds))

    def speak(self) -> None:
        """Make a silent broker answer."""
        if self.silent:
            silent = self.silent.pop(self.random.randrange(len(self.silent)))
            if not silent.called:
                silent.callback(None)

    def kill(self) -> None:
        """Kill a broker, or bring another back."""
        self.network.down.clear()
        if self.random.random() < 0.7:
            self.network.kill(self.random.choice([1, 2]))

    def mute(self) -> None:
        """Make a broker silent, or let it answer again; metadata may be affected."""
        self.network.mute = self.random.choice([set(), set(), {1}, {2}])
        self.metadata_fails = self.random.choice([0.0, 0.0, 0.5])

    def move(self) -> None:
        """Give partitions other leaders, or none."""
        for log in self.random.choice(list(self.case.metadata.topics.values())):
            log.leader = self.random.choice([1, 2, -1])

    def babble(self) -> None:
        """Send garbage from a broker, or its last answer once more."""
        for link in self.network.live():
            if self.random.random() < 0.5 and link.protocol.error is None:
                garbage = self.random.randbytes(self.random.randint(1, 40))
                again = self.last.get(link, garbage)
                link.protocol.dataReceived(self.random.choice([garbage, again]))

    # -- time

    def pump(self, seconds: float) -> None:
        """Advance the clock; record the brokers' bytes, and check that no call is late."""
        for link in self.network.live():
            if link not in self.last:
                self.last[link] = b""
                self.tap(link)
        self.network.pump(seconds)
        now_s = self.network.clock.seconds()
        for call in self.calls:
            if not call.outcome and now_s > call.at_s + LATE_S:
                self.case.fail(f"nothing came of {call} by {now_s}")

    def tap(self, link: Link) -> None:
        """Keep the last bytes that a broker sent on a connection."""
        receive = link.protocol.dataReceived

        def received(data: bytes) -> None:
            self.last[link] = data
            receive(data)

        link.protocol.dataReceived = received

    def heal(self) -> None:
        """End all faults."""
        self.network.down.clear()
        self.network.mute = set()
        self.metadata_fails = 0.0
        self.case.faults.clear()
        for logs in self.case.metadata.topics.values():
            for log in logs:
                log.leader = max(1, log.leader)
        while self.silent:
            self.speak()


class PromisesTests(ProducerTestCase):
    def test_promises(self) -> None:
        """The promises hold in every random run."""
        for seed in SEEDS:
            self.setUp()  # other brokers for each
            try:
                self.live(World(self, seed))
            except Exception as error:
                raise AssertionError(f"seed {seed}") from error

    def live(self, world: World) -> None:
        """Run one producer to its end."""
        mine = [world.send] * 12 + [world.produce] * 6
        mine += [world.send_batch] * 3 + [world.send_all, world.flush, world.cancel]
        fate = [world.fault] * 4 + [world.speak, world.kill, world.mute, world.move, world.babble, world.heal]
        for _ in range(STEPS):
            world.random.choice(mine if world.random.random() < 0.75 else fate)()
            if world.random.random() < 0.5:
                world.pump(world.random.choice([0.0, 0.001, 0.01, STEP_S]))
        if world.random.random() < 0.5:
            world.heal()
        closed: list[Any] = []
        world.producer.close(world.random.choice([None, None, 0, 1.0])).addBoth(closed.append)
        for _ in range(round(LATE_S / STEP_S) + 20):
            world.pump(STEP_S)
        self.assertTrue(closed, "it is not closed")
        self.assertTrue(closed[0] is None or closed[0].check(RecordsLost), closed)
        self.assertEqual([call for call in world.calls if not call.outcome], [])
        self.assertEqual(world.producer._accumulator.used_bytes, 0)
        self.check(world.calls)
        self.flushLoggedErrors()
        self.nothing_left()

    def check(self, calls: list[Call]) -> None:
        """Check the logs against the results of calls."""
        for (topic, partition), log in self.logs.items():
            numbers = [int(value.split()[0]) for value in log.values if value is not None]
            self.assertEqual(numbers, sorted(set(numbers)), (topic, partition))
        for call in calls:
            outcome = call.outcome[0]
            told: list[Any] = outcome if isinstance(outcome, list) else [outcome]
            numbers = call.numbers
            for metadata in told:
                if isinstance(metadata, (RecordMetadata, BatchMetadata)):
                    numbers = self.check_told(metadata, numbers)

    def check_told(self, metadata: RecordMetadata | BatchMetadata, numbers: list[int]) -> list[int]:
        """Check that acknowledged records are at their offsets; return the rest of the numbers."""
        values = self.log(metadata.topic, metadata.partition).values
        found = [int((value or b"0").split()[0]) for value in values]
        if isinstance(metadata, RecordMetadata):
            count, first = 1, metadata.offset
        else:
            count, first = metadata.records, metadata.base_offset
        if first >= 0:
            self.assertEqual(found[first], numbers[0])
        self.assertLessEqual(set(numbers[:count]), set(found))
        return numbers[count:]
