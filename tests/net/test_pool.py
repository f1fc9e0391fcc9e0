"""Turns of the memory pool: which connections may read when request memory is short, and for how long."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.pool import MemoryPool, MemoryPoolLimits

SHORT = " while memory is short (queued.max.request.bytes=1000)"
LIMITS = MemoryPoolLimits(max_bytes=1000, min_bytes_s=100.0, max_turn_s=10.0)
MIB = 1 << 20


class Connection:
    """A holder with a request of a given size, received in part."""

    def __init__(self, pool: MemoryPool, address: str = "192.0.2.99") -> None:
        self.pool = pool
        self.address = address
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

    def connection(self, address: str = "192.0.2.99") -> Connection:
        """Return another connection, of an address."""
        return Connection(self.pool, address)

    def wait(self, seconds: int, *trickling: Connection, rate: int = 1) -> None:
        """Advance the clock by *seconds*; in each second, *trickling* receive *rate* bytes."""
        for _ in range(seconds):
            for connection in trickling:
                if not connection.reason:
                    connection.receive(rate)
            self.clock.advance(1)


class OrderTests(PoolTestCase):
    def test_held_and_missing_fit(self) -> None:
        """Requests are read beside each other while all that they hold and lack fits into the limit."""
        self.huge.end()
        first = self.connection().begin(401, 1)
        second, third = self.connection().begin(301, 1), self.connection().begin(301, 1)
        self.assertEqual([first.reads, second.reads, third.reads], [True, True, False])
        first.receive(400)
        self.assertFalse(third.reads)  # its memory is still held
        first.end()
        self.assertTrue(third.reads)

    def test_nearly_complete(self) -> None:
        """However little each of many requests lacks, together they hold the limit, a reserve and no more."""
        self.huge.end()
        many = [self.connection().begin(321, 1) for _ in range(40)]
        for _ in range(320):
            for one in many:
                if one.reads and one.missing_bytes > 1:
                    one.receive(1)
        self.assertLess(self.pool.held_bytes, 1000 + 40)

    def test_usual_size_has_a_reserve(self) -> None:
        """Requests of usual size are read while large ones claim all else, until they fill the reserve."""
        pool = MemoryPool(MemoryPoolLimits(64 * MIB), self.clock, self.changed)
        large = [Connection(pool).begin(100 * MIB, 1) for _ in range(2)]
        self.assertEqual([one.reads for one in large], [True, False])
        usual = [Connection(pool).begin(MIB, 1) for _ in range(18)]
        self.assertEqual([one.reads for one in usual], [True] * 16 + [False] * 2)

    def test_small_never_waits(self) -> None:
        """A small request, and the size of any request, are always read."""
        self.assertTrue(self.connection().begin(15, 1).reads)
        self.assertTrue(self.connection().begin(4, 1).reads)

    def test_addresses_have_turns(self) -> None:
        """An address with one request that waits has a turn before the second request of another address."""
        greedy = [self.connection().begin(10_000, 1) for _ in range(5)]
        modest = self.connection("192.0.2.1").begin(10_000, 1)
        self.huge.end()
        self.assertEqual((greedy[0].reads, modest.reads), (True, False))
        greedy[0].end()
        self.assertEqual((greedy[1].reads, modest.reads), (False, True))

    def test_one_large_request_is_always_read(self) -> None:
        """A request that is larger than the limit is read when no other large one is."""
        second = self.connection().begin(10_000, 1)
        self.assertFalse(second.reads)
        self.pool.hold(self.huge, 1000, 0)  # complete, and waiting to be served
        self.assertEqual((second.reads, second.reconsidered), (True, 1))

    def test_complete_requests_wait(self) -> None:
        """A connection with requests that wait to be served is not read from while memory is short."""
        self.connection().begin(10_000, 1)
        waiting = self.connection()
        self.pool.hold(waiting, 10, 0)
        self.assertFalse(waiting.reads)

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
        waiting.end()
        self.assertEqual((self.connection().begin(500, 1).reads, self.changes), (True, 2))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_limit(self) -> None:
        """Without a limit nothing waits."""
        pool = MemoryPool(MemoryPoolLimits(-1), self.clock, self.changed)
        self.assertTrue(all(Connection(pool).begin(10_000, 1).reads for _ in range(9)))
        self.assertFalse(pool.exhausted)


class ProgressTests(PoolTestCase):
    def test_trickle_is_closed(self) -> None:
        """A turn below the minimum rate ends within seconds while another request waits for it."""
        self.huge.end()
        self.huge.begin(900, 100)
        waiting = self.connection().begin(901, 1)
        self.wait(3, self.huge)
        self.assertEqual(
            self.huge.reason, "it sent 2 bytes of a request in 2 s, less than 100 a second," + SHORT
        )
        self.assertTrue(waiting.reads)

    def test_rate_grows_with_the_size(self) -> None:
        """A request has to come fast enough to be complete within the longest time of a turn."""
        self.connection().begin(10_000, 1)
        self.wait(3, self.huge, rate=200)
        self.assertIn("less than 900 a second", self.huge.reason)

    def test_last_byte(self) -> None:
        """A request that came fast, and then lacks its last byte, keeps its turn for two seconds only."""
        self.connection().begin(10_000, 1)
        self.huge.receive(8_999)
        self.wait(1, rate=0)
        self.assertEqual(self.huge.reason, "")
        self.wait(3, rate=0)
        self.assertIn("it sent 0 bytes", self.huge.reason)

    def test_progress_keeps_the_turn(self) -> None:
        """A request that arrives at the minimum rate keeps its turn."""
        self.connection().begin(10_000, 1)
        self.wait(9, self.huge, rate=950)
        self.assertEqual(self.huge.reason, "")

    def test_nobody_is_hurried_without_need(self) -> None:
        """A slow request is read on while no other waits, and closed soon after another does."""
        self.wait(100, self.huge)
        self.assertEqual(self.huge.reason, "")
        self.connection().begin(10_000, 1)
        self.wait(1, self.huge)
        self.assertNotEqual(self.huge.reason, "")

    def test_many_trickles(self) -> None:
        """Many slow requests of an address delay one of another address by seconds, not by one turn each."""
        for _ in range(90):
            self.connection().begin(10_000, 10)
        honest = self.connection("192.0.2.1").begin(951, 1)
        waited = 0
        while not honest.reads:
            waited += 1
            self.assertLess(waited, 6)
            self.clock.advance(1)
        self.assertTrue(honest.reads)
