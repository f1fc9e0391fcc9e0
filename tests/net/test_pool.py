"""Turns of the memory pool: which connections may read when request memory is short, and for how long."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.pool import MemoryPool, MemoryPoolLimits

SHORT = " while memory is short (queued.max.request.bytes=1000)"
LIMITS = MemoryPoolLimits(max_bytes=1000, min_bytes_s=100.0, max_turn_s=10.0)


class Connection:
    """A holder with a request of a given size, received in part."""

    def __init__(self, pool: MemoryPool) -> None:
        self.pool = pool
        self.missing_bytes = self.held_bytes = 0
        self.reason = ""
        self.reconsidered = 0

    def begin(self, size: int, came: int) -> Connection:
        """Begin a request."""
        self.missing_bytes, self.held_bytes = size, 0
        return self.receive(came)

    def receive(self, count: int) -> Connection:
        """Receive some more of the request."""
        self.held_bytes += count
        self.missing_bytes -= count
        self.pool.hold(self, self.held_bytes, self.missing_bytes)
        return self

    def end(self) -> None:
        """End the request, as when it is served or its connection is lost."""
        self.held_bytes = self.missing_bytes = 0
        self.pool.hold(self, 0, 0)

    @property
    def reads(self) -> bool:
        """True if the pool lets it read."""
        return self.pool.may_read(self)

    def reconsider(self) -> None:
        """Count the call."""
        self.reconsidered += 1

    def abort(self, reason: str) -> None:
        """Record the reason for closing."""
        self.reason = reason
        self.end()


class PoolTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a pool of 1000 bytes that one huge request has exhausted."""
        self.clock = Clock()
        self.changes = 0
        self.pool = MemoryPool(LIMITS, self.clock, self.changed)
        self.huge = self.connection().begin(10_000, 1000)
        self.assertTrue(self.pool.exhausted)

    def changed(self) -> None:
        """Count the call."""
        self.changes += 1

    def connection(self) -> Connection:
        """Return another connection."""
        return Connection(self.pool)

    def wait(self, seconds: int, *trickling: Connection, rate: int = 1) -> None:
        """Advance the clock by *seconds*; in each second, *trickling* receive *rate* bytes."""
        for _ in range(seconds):
            for connection in trickling:
                if not connection.reason:
                    connection.receive(rate)
            self.clock.advance(1)


class OrderTests(PoolTestCase):
    def test_rests_that_fit_are_read_beside_the_first(self) -> None:
        """Requests whose remainders together fit into the limit are read beside the huge first one."""
        others = [self.connection().begin(401, 1) for _ in range(3)]
        self.assertEqual([self.huge.reads, *(o.reads for o in others)], [True, True, True, False])

    def test_shortest_rest_goes_first(self) -> None:
        """The request with the shortest remainder has the next turn, whatever the order of arrival."""
        reading = self.connection().begin(1001, 1)
        long = self.connection().begin(801, 1)
        short = self.connection().begin(301, 1)
        self.assertEqual([reading.reads, long.reads, short.reads], [True, False, False])
        reading.end()
        self.assertEqual([long.reads, short.reads], [False, True])
        self.assertEqual([long.reconsidered, short.reconsidered], [0, 1])

    def test_oldest_is_never_passed_over(self) -> None:
        """The request that began first has a turn, however long its remainder is."""
        second = self.connection().begin(10_000, 1)
        self.connection().begin(900, 1)
        self.assertFalse(second.reads)
        self.huge.held_bytes = 1000  # the waiting requests keep the pool exhausted
        self.pool.hold(self.huge, 1000, 0)
        self.assertTrue(second.reads)

    def test_next_request_queues_up_again(self) -> None:
        """A connection that begins another request waits for a new turn."""
        second = self.connection().begin(10_000, 1)
        self.pool.hold(self.huge, 1000, 0)
        self.assertTrue(second.reads)
        self.pool.hold(self.huge, 1000, 5000)
        self.assertEqual([second.reads, self.huge.reads], [True, False])

    def test_larger_rest_is_another_request(self) -> None:
        """A remainder that has grown belongs to another request, whose size alone was awaited before."""
        second = self.connection().begin(10_000, 1)
        self.pool.hold(self.huge, 1004, 9001)
        self.assertEqual([second.reads, self.huge.reads], [True, False])

    def test_no_turns_when_memory_is_free(self) -> None:
        """Every connection reads, and no timer is left, once memory is free again."""
        waiting = self.connection().begin(10_000, 1)
        self.assertFalse(waiting.reads)
        self.huge.end()
        self.assertEqual((waiting.reads, self.changes), (True, 2))
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ProgressTests(PoolTestCase):
    def test_trickle_is_closed(self) -> None:
        """A turn below the minimum rate ends within seconds while another request waits for it."""
        waiting = self.connection().begin(10_000, 1)
        self.wait(3, self.huge)
        self.assertEqual(
            self.huge.reason, "it sent 2 bytes of a request in 2 s, less than 100 a second," + SHORT
        )
        self.assertTrue(waiting.reads)

    def test_progress_keeps_the_turn(self) -> None:
        """A request that arrives at the minimum rate keeps its turn."""
        self.connection().begin(10_000, 1)
        self.wait(9, self.huge, rate=100)
        self.assertEqual(self.huge.reason, "")

    def test_turn_has_a_longest_time(self) -> None:
        """A turn ends after its maximum time, whatever its rate."""
        self.connection().begin(10_000, 1)
        self.wait(12, self.huge, rate=200)
        self.assertEqual(self.huge.reason, "it took more than 10 s for a request" + SHORT)

    def test_nobody_is_hurried_without_need(self) -> None:
        """A slow request is read on while no other waits, and closed soon after another does."""
        self.wait(100, self.huge)
        self.assertEqual(self.huge.reason, "")
        self.connection().begin(10_000, 1)
        self.wait(1, self.huge)
        self.assertNotEqual(self.huge.reason, "")

    def test_many_trickles(self) -> None:
        """Many slow requests at once delay a large one by seconds, not by one turn each."""
        slow = [self.connection().begin(20, 10) for _ in range(90)]
        slow += [self.connection().begin(10_000, 10) for _ in range(10)]
        honest = self.connection().begin(951, 1)
        waited = 0
        while not honest.reads:
            waited += 1
            self.assertLess(waited, 6)
            for connection in slow:
                if connection.reads and not connection.reason and waited % 3 == 0:
                    connection.receive(1)
            self.clock.advance(1)
        self.assertTrue(honest.reads)
