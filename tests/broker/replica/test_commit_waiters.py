"""Writers that wait for the high watermark: in their order, in their epoch, and not for ever."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.commit_waiters import CommitTimeouts, CommitWaiters, outcome_now
from kafkatx.errors import ErrorCode

NONE, NOT_LEADER = ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER
TOO_FEW, TIMED_OUT = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT
OFFLINE = ErrorCode.KAFKA_STORAGE_ERROR


@attrs.define
class Facts:
    """A partition of which only the facts exist that decide if records are committed."""

    high_watermark: int = 0
    leader_epoch: int = 5
    isr: tuple[int, ...] = (1, 2)
    error: ErrorCode = NONE
    min_insync: int = 2


class WaitersTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a partition without waiters."""
        self.partition = Facts()
        self.waiters = CommitWaiters()
        self.told: list[tuple[object, ErrorCode]] = []

    def add(self, name: object, end_offset: int, leader_epoch: int = 5, deadline_s: float = 1e9) -> None:
        """Add a writer; what it is told goes to ``told``, by its name."""
        self.waiters.add(end_offset, leader_epoch, deadline_s, self.settle(name))

    def settle(self, name: object) -> Callable[[ErrorCode], None]:
        """Return the function that notes what a writer is told."""
        return lambda code: self.told.append((name, code))

    def reach(self, high_watermark: int) -> list[tuple[object, ErrorCode]]:
        """Move the high watermark; return what was told then."""
        self.told.clear()
        self.partition.high_watermark = high_watermark
        self.waiters.advance(self.partition)
        return list(self.told)


class CommitWaitersTests(WaitersTestCase):
    def test_reached(self) -> None:
        """A writer is released when the high watermark is at the end of its records, and not before."""
        self.add("a", 3)
        self.assertTrue(self.waiters)
        self.assertEqual(self.reach(2), [])
        self.assertEqual(self.reach(3), [("a", NONE)])
        self.assertFalse(self.waiters)
        self.assertEqual(self.reach(4), [])

    def test_last_first(self) -> None:
        """All that one step releases are called from the last to the first; the others wait on."""
        for name, end in (("a", 1), ("b", 2), ("c", 2), ("d", 3)):
            self.add(name, end)
        self.assertEqual(self.reach(2), [("c", NONE), ("b", NONE), ("a", NONE)])
        self.assertEqual(len(self.waiters), 1)

    def test_out_of_order(self) -> None:
        """A writer whose records come before those of others is released before them."""
        for name, end in (("c", 9), ("d", 12), ("a", 3), ("b", 9)):
            self.add(name, end)
        self.assertEqual(self.reach(3), [("a", NONE)])
        self.assertEqual(self.reach(9), [("b", NONE), ("c", NONE)])

    def test_other_epoch(self) -> None:
        """Records of another leader epoch are not acknowledged, though their offsets are committed."""
        self.add("a", 3, leader_epoch=4)
        self.add("b", 3)
        self.assertEqual(self.reach(3), [("b", NONE), ("a", NOT_LEADER)])

    def test_too_few(self) -> None:
        """Nothing is acknowledged, and no writer waits, while too few replicas are in sync."""
        self.add("a", 3)
        self.add("b", 9)
        self.partition.isr = (1,)
        self.assertEqual(self.reach(3), [("b", TOO_FEW), ("a", TOO_FEW)])
        self.assertFalse(self.waiters)

    def test_too_few_without_deadline(self) -> None:
        """A writer without a deadline waits for the high watermark while too few replicas are in sync."""
        for name, end in (("a", 3), ("b", 9)):
            self.add(name, end, deadline_s=float("inf"))
        self.partition.isr = (1,)
        self.assertEqual(self.reach(3), [("a", NONE)])
        self.assertEqual(len(self.waiters), 1)

    def test_offline(self) -> None:
        """Nothing is acknowledged by a partition that refuses requests."""
        self.add("a", 3)
        self.partition.error = OFFLINE
        self.assertEqual(self.reach(3), [("a", OFFLINE)])

    def test_fail(self) -> None:
        """All writers are told the same error, once."""
        self.add("a", 3)
        self.add("b", 9)
        self.waiters.fail(NOT_LEADER)
        self.assertEqual(self.told, [("b", NOT_LEADER), ("a", NOT_LEADER)])
        self.assertEqual(self.reach(9), [])

    def test_added_meanwhile(self) -> None:
        """A writer that is added while others are told waits for its own turn."""
        self.waiters.add(3, 5, 1e9, lambda code: self.add("later", 4))
        self.assertEqual(self.reach(3), [])
        self.assertEqual(self.reach(4), [("later", NONE)])
        self.waiters.add(5, 5, 1e9, lambda code: self.add("after", 6))
        self.waiters.fail(NOT_LEADER)
        self.assertEqual(self.reach(6), [("after", NONE)])

    def test_wait(self) -> None:
        """A Deferred fires with the outcome; cancelling it takes nothing from the others."""
        first, second, third = (self.waiters.wait(end, 5) for end in (1, 2, 3))
        second.cancel()
        self.failureResultOf(second)
        self.reach(2)
        self.assertEqual(self.successResultOf(first), NONE)
        self.assertNoResult(third)
        self.waiters.fail(NOT_LEADER)
        self.assertEqual(self.successResultOf(third), NOT_LEADER)

    def test_random(self) -> None:
        """Each writer is told NONE by the first step that reaches its end, also if added out of order."""
        random = Random(1)
        for _ in range(200):
            waiting: dict[int, int] = {}
            for name in range(random.randint(1, 12)):
                waiting[name] = random.randint(1, 9)
                self.add(name, waiting[name])
            high_watermark = 0
            while waiting:
                high_watermark += random.randint(1, 4)
                expected = {name for name, end in waiting.items() if end <= high_watermark}
                self.assertEqual({name for name, _ in self.reach(high_watermark)}, expected)
                for name in expected:
                    del waiting[name]


class OutcomeTests(SynchronousTestCase):
    def test_known(self) -> None:
        """The outcome of a write in epoch 5 that ends at offset 3, for each state of its partition."""
        for facts, outcome in (
            (Facts(high_watermark=2), None),
            (Facts(high_watermark=3), NONE),
            (Facts(high_watermark=3, leader_epoch=6), NOT_LEADER),
            (Facts(high_watermark=2, leader_epoch=6), NOT_LEADER),
            (Facts(high_watermark=3, isr=(1,)), TOO_FEW),
            (Facts(high_watermark=2, isr=(1,)), TOO_FEW),
            (Facts(high_watermark=3, isr=(1,), min_insync=1), NONE),
            (Facts(high_watermark=3, error=OFFLINE), OFFLINE),
            (Facts(high_watermark=3, error=NOT_LEADER), NOT_LEADER),
        ):
            self.assertEqual(outcome_now(facts, 3, 5), outcome, facts)


class TimeoutTests(WaitersTestCase):
    def setUp(self) -> None:
        """Make the timer."""
        super().setUp()
        self.clock = Clock()
        self.clock.advance(100)
        self.timeouts = CommitTimeouts(self.clock)

    def late(self, name: object, end_offset: int, timeout_s: float, waiters: CommitWaiters) -> None:
        """Add a writer with a timeout."""
        deadline_s = self.timeouts.deadline_s(timeout_s)
        self.timeouts.add(waiters, end_offset, 5, deadline_s, self.settle(name))

    def test_expire(self) -> None:
        """Each writer is given up at its own time; those without a deadline are not."""
        self.add("never", 1, deadline_s=float("inf"))
        for name, timeout_s in (("b", 2.0), ("a", 1.0), ("now", 0.0), ("past", -1.0)):
            self.late(name, 3, timeout_s, self.waiters)
        self.clock.advance(0)
        self.assertEqual(self.told, [("past", TIMED_OUT), ("now", TIMED_OUT)])
        self.clock.advance(0.9)
        self.assertEqual(len(self.told), 2)
        self.clock.advance(0.1)
        self.assertEqual(self.told[2:], [("a", TIMED_OUT)])
        self.clock.advance(1)
        self.assertEqual(self.told[3:], [("b", TIMED_OUT)])
        self.assertEqual(len(self.waiters), 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_one_timer(self) -> None:
        """Many writers of many partitions have one timer, and each of them its own deadline."""
        many = [CommitWaiters() for _ in range(5)]
        for number in range(100):
            self.late(number, 3, 1 + number, many[number % 5])
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)
        for _ in range(100):
            self.clock.advance(1)
        self.assertEqual([name for name, _ in self.told], list(range(100)))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_released(self) -> None:
        """The timer is gone some time after the last writer was released, and comes back with others."""
        self.late("a", 3, 1, self.waiters)
        self.assertEqual(self.reach(3), [("a", NONE)])
        self.clock.advance(0.5)
        self.late("b", 4, 1, self.waiters)
        self.clock.advance(0.5)
        self.assertEqual(self.told, [("a", NONE)])
        self.clock.advance(0.5)
        self.assertEqual(self.told, [("a", NONE), ("b", TIMED_OUT)])
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.late("c", 5, 1, self.waiters)
        self.clock.advance(1)
        self.assertEqual(self.told[2:], [("c", TIMED_OUT)])

    def test_failed(self) -> None:
        """Writers that were released with an error are not told another one."""
        self.late("a", 3, 1, self.waiters)
        self.waiters.fail(NOT_LEADER)
        self.clock.advance(1)
        self.assertEqual(self.told, [("a", NOT_LEADER)])

    def test_added_meanwhile(self) -> None:
        """A writer that is added while another one is given up has its own time."""
        deadline_s = self.timeouts.deadline_s(1)
        self.timeouts.add(self.waiters, 3, 5, deadline_s, lambda code: self.late("later", 4, 1, self.waiters))
        self.clock.advance(1)
        self.assertEqual(self.told, [])
        self.clock.advance(1)
        self.assertEqual(self.told, [("later", TIMED_OUT)])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop(self) -> None:
        """Nothing is scheduled after the end."""
        self.late("a", 3, 1, self.waiters)
        self.timeouts.stop()
        self.timeouts.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.told, [])
