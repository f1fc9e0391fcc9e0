"""The partitions of an internal topic that a broker leads: loaded, served, unloaded, by epochs."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.runtime.partition_hash import partition_for
from kafkatx.broker.coordinator.runtime.runtime import CoordinatorRuntime, State
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from tests.broker.coordinator.runtime.fakes import (
    COUNT,
    FakeCoordinator,
    FakePartition,
    FakeTopic,
    FakeWriter,
)
from tests.broker.running import Held

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
AWAY = ErrorCode.NOT_COORDINATOR
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
KEYS = {partition_for(key, COUNT): key for key in ("a", "b", "c")}
"""A key of each partition."""


class RuntimeTestCase(SynchronousTestCase):
    """A test case with a runtime, and partitions that :meth:`lead` and :meth:`lose` give and take."""

    def setUp(self) -> None:
        """Open a runtime that leads nothing."""
        self.clock = Clock()
        self.topic, self.writer, self.coordinator = FakeTopic(), FakeWriter(), FakeCoordinator()
        self.held = Held()
        self.runtime = self.make_runtime()
        self.runtime.open()

    def make_runtime(self) -> CoordinatorRuntime:
        """Return a runtime of fake parts, that is not open."""
        topic: Any = self.topic
        writer: Any = self.writer
        coordinator: Any = self.coordinator
        return CoordinatorRuntime(topic, writer, coordinator, self.clock, lambda: self.held("offsets"))

    def lead(self, number: int, epoch: int | None = None) -> None:
        """Lead a partition, in the next epoch unless one is given."""
        partition: Any = self.topic.partitions[number]
        partition.leader_epoch = partition.leader_epoch + 1 if epoch is None else epoch
        self.topic.leading.add(number)
        self.runtime.role_changed(partition, True)

    def lose(self, number: int) -> None:
        """Lead a partition no more."""
        partition: Any = self.topic.partitions[number]
        self.topic.leading.discard(number)
        self.runtime.role_changed(partition, False)

    def fill(self, number: int, *keys: bytes) -> None:
        """Write records to a partition."""
        for key in keys:
            self.topic.partitions[number].write(key, b"v")

    def work(self) -> None:
        """Run all loads to their end, as far as they can come."""
        for _ in range(1000):
            self.held.work()
            self.clock.advance(0)

    def codes(self) -> list[ErrorCode]:
        """Return what the client of a key of each partition is told."""
        return [self.runtime.check(KEYS[number]) for number in range(COUNT)]


class RoleTests(RuntimeTestCase):
    def test_load(self) -> None:
        """A partition is served when all of it has been replayed; others are another broker's."""
        self.fill(1, b"k", b"l", b"k")
        self.lead(1)
        self.assertEqual(self.codes(), [AWAY, LOADING, AWAY])
        self.assertTrue(self.runtime.loading)
        self.assertEqual(self.coordinator.served, {})
        self.work()
        self.assertEqual(self.codes(), [AWAY, ErrorCode.NONE, AWAY])
        self.assertEqual(self.coordinator.served, {1: (1, {b"k": b"v", b"l": b"v"})})
        self.assertEqual((self.runtime.states(), self.runtime.loading), ({1: State.ACTIVE}, False))

    def test_empty(self) -> None:
        """A new partition is served at once."""
        self.lead(0)
        self.assertEqual(self.codes()[0], ErrorCode.NONE)

    def test_unload(self) -> None:
        """A lost partition is forgotten at once, and its writers wait no more."""
        self.lead(0)
        self.lead(2)
        self.lose(0)
        self.assertEqual(self.codes(), [AWAY, AWAY, ErrorCode.NONE])
        self.assertEqual((list(self.coordinator.served), self.writer.dropped), ([2], [0]))
        self.lose(0)
        self.assertEqual(self.writer.dropped, [0])

    def test_unload_while_loading(self) -> None:
        """A load under way is dropped; the next one begins from the start."""
        self.fill(0, b"k", b"l")
        self.lead(0)
        self.held.work(1)
        self.lose(0)
        self.work()
        self.assertEqual((self.coordinator.served, self.writer.dropped), ({}, []))
        self.fill(0, b"m")
        self.lead(0)
        self.work()
        self.assertEqual(self.coordinator.served, {0: (2, {b"k": b"v", b"l": b"v", b"m": b"v"})})

    def test_another_epoch(self) -> None:
        """A partition led in a later epoch is loaded anew; another word of the same epoch changes nothing."""
        self.fill(0, b"k")
        self.lead(0)
        self.work()
        self.lead(0, epoch=1)
        self.assertEqual((self.codes()[0], self.writer.dropped), (ErrorCode.NONE, []))
        self.lead(0, epoch=3)
        self.assertEqual((self.codes()[0], self.coordinator.served), (LOADING, {}))
        self.work()
        self.assertEqual(self.coordinator.served, {0: (3, {b"k": b"v"})})

    def test_another_log(self) -> None:
        """A partition whose topic was created again is loaded anew, though its epochs begin again."""
        self.lead(0, epoch=5)
        self.topic.partitions[0] = FakePartition(0)
        self.fill(0, b"k")
        self.lead(0, epoch=0)
        self.work()
        self.assertEqual(self.coordinator.served, {0: (0, {b"k": b"v"})})

    def test_same_epoch_again(self) -> None:
        """A partition that is lost and given back in the same epoch is loaded: a lease was late."""
        self.lead(0, epoch=4)
        self.lose(0)
        self.lead(0, epoch=4)
        self.assertEqual(self.codes()[0], ErrorCode.NONE)

    def test_one_after_the_other(self) -> None:
        """Partitions are read one at a time."""
        for number in range(COUNT):
            self.fill(number, b"k")
            self.lead(number)
        for done in range(COUNT + 1):
            self.assertEqual(self.codes(), [ErrorCode.NONE] * done + [LOADING] * (COUNT - done))
            self.held.work(1)

    def test_other_topics(self) -> None:
        """Roles of other topics' partitions are not the runtime's."""
        partition: Any = FakePartition(0)
        partition.topic_partition = TopicPartition("t", 0)
        self.runtime.role_changed(partition, True)
        self.assertEqual(self.runtime.states(), {})

    def test_open(self) -> None:
        """A runtime takes what the broker leads when it is opened; roles before that are not looked at."""
        self.runtime = self.make_runtime()
        self.lead(1)
        self.assertEqual(self.runtime.states(), {})
        self.runtime.open()
        self.assertEqual(self.runtime.states(), {1: State.ACTIVE})

    def test_stop(self) -> None:
        """A stop ends the loads, and roles are followed no more."""
        self.fill(0, b"k")
        self.lead(0)
        self.lead(1)
        self.runtime.stop()
        self.work()
        self.assertEqual((list(self.coordinator.served), self.clock.getDelayedCalls()), ([1], []))
        self.lose(1)
        self.assertEqual(list(self.coordinator.served), [1])


class CheckTests(RuntimeTestCase):
    def test_no_topic(self) -> None:
        """Before the topic exists, a broker that is alone knows that there is nothing; others do not."""
        self.topic.state = None
        self.assertEqual(self.runtime.check("a"), AWAY)
        self.topic.is_alone = True
        self.assertEqual(self.runtime.check("a"), ErrorCode.NONE)

    def test_about_to_load(self) -> None:
        """Clients of a partition whose log is still being opened wait for it."""
        self.topic.leading.add(2)
        self.assertEqual(self.codes(), [AWAY, AWAY, LOADING])


class FailureTests(RuntimeTestCase):
    def test_unreadable(self) -> None:
        """A partition that cannot be read is not available; others are; it is loaded when given again."""
        self.fill(0, b"k")
        self.topic.partitions[0].log.broken = True
        with capturedLogs() as logs:
            self.lead(0)
            self.lead(1)
            self.work()
        self.assertEqual([log["log_level"] for log in logs], [LogLevel.error])
        self.assertEqual(self.codes(), [NOT_AVAILABLE, ErrorCode.NONE, AWAY])
        self.topic.partitions[0].log.broken = False
        self.lose(0)
        self.assertEqual(self.codes()[0], AWAY)
        self.lead(0)
        self.work()
        self.assertEqual(self.codes()[0], ErrorCode.NONE)

    def test_bug(self) -> None:
        """A bug in a load is logged; the partition is not available, and the next ones are loaded."""

        def fails(partition: Any) -> Any:
            raise ZeroDivisionError

        patched = self.patch(self.coordinator, "replay", fails)
        self.lead(0)
        patched.restore()
        self.lead(1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.codes()[:2], [NOT_AVAILABLE, ErrorCode.NONE])

    def test_disk_fails_in_the_load(self) -> None:
        """A partition that is lost by its own load, which meets a failing disk, is forgotten."""
        log = self.topic.partitions[0].log
        self.fill(0, b"k", b"l")
        read = log.read

        def loses(lost_at: int, fails: bool, offset: int, *rest: Any) -> bytes:
            if offset == lost_at:
                self.lose(0)
                log.broken = fails
            return read(offset, *rest)

        for lost_at, fails in ((0, True), (1, True), (0, False), (1, False)):
            patched = self.patch(log, "read", partial(loses, lost_at, fails))
            self.lead(0)
            self.work()
            self.assertEqual((self.codes()[0], self.coordinator.served), (AWAY, {}))
            patched.restore()
            log.broken = False

    def test_high_watermark(self) -> None:
        """A partition is served when all that it has is replicated; others do not wait for that."""
        self.fill(0, b"k")
        partition = self.topic.partitions[0]
        partition.log.records.append((b"l", b"v"))
        self.lead(0)
        self.lead(1)
        self.work()
        self.assertEqual(self.codes()[:2], [LOADING, ErrorCode.NONE])
        partition.replicate()
        self.work()
        self.assertEqual(self.coordinator.served[0], (1, {b"k": b"v", b"l": b"v"}))

    def test_offline_while_waiting(self) -> None:
        """A partition whose log dir fails before all is replicated is not available."""
        partition = self.topic.partitions[0]
        partition.log.records.append((b"k", b"v"))
        self.lead(0)
        partition.offline = True
        partition.replicate()
        self.assertEqual(self.codes()[0], NOT_AVAILABLE)

    def test_lost_while_waiting(self) -> None:
        """The wait for the high watermark ends with the role."""
        partition = self.topic.partitions[0]
        partition.log.records.append((b"k", b"v"))
        self.lead(0)
        self.lose(0)
        self.assertEqual(partition.delayed_fetches, set())


class RandomTests(RuntimeTestCase):
    """Roles, epochs, appends, disks that fail and recover, in any order."""

    def step(self, chance: random.Random) -> None:
        """Do one thing."""
        number = chance.randrange(COUNT)
        partition = self.topic.partitions[number]
        what = chance.randrange(9)
        if what == 0:
            self.lead(number)
        elif what == 1:
            self.lead(number, partition.leader_epoch)
        elif what == 2:
            self.lose(number)
        elif what == 3 and number not in self.topic.leading:
            self.fill(number, b"%d" % chance.randrange(5))  # by the other broker that leads it
        elif what == 4 and number in self.coordinator.served:
            key, value = b"%d" % chance.randrange(5), chance.choice((b"w", None))
            self.coordinator.served[number][1][key] = value
            partition.write(key, value)
        elif what == 5:
            partition.log.broken = not partition.log.broken
        elif what == 6:
            self.held.work(chance.randrange(4))
        elif what == 7:
            self.clock.advance(0)
        elif what == 8 and number not in self.topic.leading:
            partition.log.records.append((b"late", b"%d" % len(partition.log.records)))

    def check(self) -> None:
        """Check that what is served is led, is in its epoch, and is all that the log says."""
        states = self.runtime.states()
        active = {number for number, state in states.items() if state is State.ACTIVE}
        self.assertEqual(active, set(self.coordinator.served))
        self.assertEqual(set(states), self.topic.leading)
        for number, (epoch, values) in self.coordinator.served.items():
            partition = self.topic.partitions[number]
            self.assertEqual((epoch, values), (partition.leader_epoch, partition.log.values()))
            self.assertEqual(partition.high_watermark, partition.log.log_end_offset)

    def test_random(self) -> None:
        """A partition is served only while it is led, from all of its log; in the end all of them are."""
        for seed in range(60):
            chance = random.Random(seed)
            for _ in range(120):
                self.step(chance)
                self.check()
            for number, partition in enumerate(self.topic.partitions):
                partition.log.broken = False
                partition.replicate()
                self.lead(number)
            self.work()
            self.check()
            self.assertEqual(set(self.coordinator.served), set(range(COUNT)))
            self.assertEqual([p.delayed_fetches for p in self.topic.partitions], [set()] * COUNT)
