"""A broker whose wall clock is set back and forward an hour: its timeouts are not affected."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker import BrokerService
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode
from kafkatx.tap import installed_parts
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.members import DELAY_S, SESSION_MS, MembersTestCase
from tests.net.jumping import HOUR_S, JumpingClock

JUMPS_S = (-HOUR_S, HOUR_S)


class JumpingBrokerTests(MembersTestCase):
    clock: Any

    def make_clock(self) -> Any:
        """Return a kafkatx reactor in a world controlled by the test."""
        return JumpingClock(self)

    def test_long_poll(self) -> None:
        """A parked fetch is answered after its max_wait_ms."""
        self.make_topic()
        asked = [FetchTopic("t", partitions=[FetchPartition(0, -1, 0, partition_max_bytes=1 << 20)])]
        for jump_s in JUMPS_S:
            answer = self.answer(1, 12, FetchRequest(max_wait_ms=500, min_bytes=1, topics=asked))
            assert isinstance(answer, Deferred)
            self.clock.world.wall_s += jump_s
            self.clock.advance(0.3)
            self.assertNoResult(answer)
            self.clock.advance(0.3)
            self.assertEqual(self.response(1, 12, self.successResultOf(answer)).error_code, 0)

    def test_join_phase(self) -> None:
        """A group begins its generation after group.initial.rebalance.delay.ms."""
        for number, jump_s in enumerate(JUMPS_S):
            joining = self.join(group=f"g{number}")
            self.clock.world.wall_s += jump_s
            self.clock.advance(DELAY_S - 0.5)
            self.assertNoResult(joining)
            self.clock.advance(1)
            self.assertEqual(self.successResultOf(joining).generation_id, 1)

    def test_session(self) -> None:
        """A member that sends heartbeats stays, and a silent one is removed after its session timeout."""
        for number, jump_s in enumerate(JUMPS_S):
            group = f"g{number}"
            (member,) = self.settle(group=group)
            self.clock.world.wall_s += jump_s
            for _ in range(4):
                self.clock.advance(SESSION_MS / 2000)
                self.assertIs(self.beat(member, 1, group=group), ErrorCode.NONE)
            self.clock.advance(SESSION_MS / 1000 + 1)
            self.assertIs(self.beat(member, 1, group=group), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_flush(self) -> None:
        """Records are flushed flush.ms after they were written."""
        (partition,) = self.make_topic(flush_ms="1000")
        for jump_s in JUMPS_S:
            self.fill(b"v")
            self.assertIsNotNone(partition.flush_timer)
            self.clock.world.wall_s += jump_s
            self.clock.advance(0.5)
            self.assertIsNotNone(partition.flush_timer)
            self.clock.advance(1)
            self.assertIsNone(partition.flush_timer)

    def test_quota(self) -> None:
        """The bytes counted for a client's quota are kept."""
        clock = self.clock
        before_s = clock.seconds()
        clock.world.wall_s += HOUR_S
        self.assertEqual(self.broker.quotas._clock.seconds(), before_s)


class ChoresTests(SynchronousTestCase):
    def test_go_on(self) -> None:
        """Retention runs for every log at its interval, with the time of the wall clock."""
        clock = JumpingClock(self)
        settings = {"kafkatx.storage": "memory", "log.dirs": self.mktemp()}
        config = BrokerConfig.load(None, {**settings, "log.retention.check.interval.ms": "2000"})
        service = BrokerService(config, installed_parts(config), clock.reactor)
        told: list[int] = []
        log = SimpleNamespace(
            roll_if_due=lambda now_ms: None, retain=told.append, segments=(), size_bytes=0, log_end_offset=0
        )
        store: Any = SimpleNamespace(logs={"t-0": log}, checkpoint=lambda: Deferred())
        service.broker.store = store
        service.broker.now_ms = lambda: int(clock.world.wall_s)
        tasks = service._tasks
        self.patch(tasks, "clean", lambda: None)
        tasks.start()
        for jump_s in JUMPS_S:
            clock.world.wall_s += jump_s
            del told[:]
            clock.advance(10.5)
            self.assertIn(len(told), (4, 5, 6))
            self.assertLess(abs(told[-1] - clock.world.wall_s), 3)
        tasks.stop()

    def test_store_has_the_wall_clock(self) -> None:
        """A log store's seconds are the wall clock's, and its delayed calls are the reactor's."""
        clock = JumpingClock(self)
        given: list[Any] = []
        config = BrokerConfig.load(None, {"kafkatx.storage": "memory", "log.dirs": self.mktemp()})
        parts = installed_parts(config)

        def store(config: Any, workers: Any, clock: Any, find_retention: Any) -> Any:
            given.append(clock)
            return parts.log_store(config, workers, clock, find_retention)

        BrokerService(config, type(parts)(store, parts.metadata, parts.find_retention), clock.reactor)
        clock.world.wall_s -= HOUR_S
        self.assertEqual(given[0].seconds(), clock.world.wall_s)
        self.assertNotEqual(clock.seconds(), clock.world.wall_s)
