"""Replies for old clients: the conversion of records, its limits, and its memory budget."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests import down_conversion
from kafkatx.broker.requests.down_conversion import (
    LONGEST_S,
    REPLY_BYTES,
    STALLED_S,
    DownConversions,
    can_read,
    convert_parts,
)
from kafkatx.errors import CorruptRecords, ErrorCode
from kafkatx.net.requests import Peer
from kafkatx.records.batch import Record
from kafkatx.records.builder import build_values
from kafkatx.records.conversion import batches, iter_any
from kafkatx.records.legacy.message_sets import build
from kafkatx.types import FileSlice, Records, SharedFile
from kafkatx.wire.messages.fetch import PartitionData
from tests.broker.running import Held

NOW_MS = 1_700_000_000_000
LIMIT = 3 * REPLY_BYTES


def legacy(magic: int, *values: bytes) -> bytes:
    """Return an uncompressed message set."""
    records = [Record(n, NOW_MS, None, value, []) for n, value in enumerate(values)]
    return build(records, magic)


def large() -> bytes:
    """Return a batch that makes a reply larger than the usual size."""
    return build_values([b"x" * REPLY_BYTES], NOW_MS)


class ConvertingTestCase(SynchronousTestCase):
    def part(self, data: bytes, index: int = 0) -> PartitionData:
        """Return a partition's part, with its records in the middle of a file."""
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(b"before" + data + b"after")
        records = FileSlice(SharedFile(path, os.O_RDONLY), 6, len(data))
        return PartitionData(index, 0, records=records)

    def values(self, records: Records | None) -> list[bytes | None]:
        """Return the values of converted records."""
        assert isinstance(records, bytes)
        return [record.value for record in iter_any(records)]


class PartsTests(ConvertingTestCase):
    def test_readable_stays_in_its_file(self) -> None:
        """Records in a magic that the client reads stay in their file."""
        for magic, to_magic in ((0, 0), (0, 1), (1, 1)):
            part = self.part(legacy(magic, b"a", b"b"))
            before = part.records
            self.assertEqual(convert_parts([(0, part)], to_magic, REPLY_BYTES), 0)
            self.assertIs(part.records, before)

    def test_converted(self) -> None:
        """Records in a newer magic are converted to the client's."""
        for data, to_magic in (
            (build_values([b"a", b"b"], NOW_MS), 0),
            (build_values([b"a", b"b"], NOW_MS), 1),
            (legacy(1, b"a", b"b"), 0),
        ):
            part = self.part(data)
            made = convert_parts([(0, part)], to_magic, REPLY_BYTES)
            self.assertEqual((made, self.values(part.records)), (len(part.records or b""), [b"a", b"b"]))
            self.assertEqual({span.magic for span in batches(part.records)}, {to_magic})  # type: ignore[arg-type]

    def test_larger_magic_behind(self) -> None:
        """A newer magic is found anywhere, even beyond the first window of headers."""
        small = legacy(1, *[b"x" * 1000] * 100)
        self.assertTrue(can_read(small, 1))
        self.assertFalse(can_read(small + build_values([b"a"], NOW_MS), 1))
        self.assertTrue(can_read(small + build_values([b"a"], NOW_MS)[:10], 1))

    def test_impossible_length(self) -> None:
        """An impossible length is an error of its partition, not an endless loop."""
        part = self.part(bytes(100))
        self.assertRaises(CorruptRecords, can_read, bytes(100), 1)
        convert_parts([(0, part)], 1, REPLY_BYTES)
        self.assertEqual((part.error_code, part.records), (ErrorCode.CORRUPT_MESSAGE, b""))

    def test_no_more_than_a_reply(self) -> None:
        """Conversion ends when the reply is full; the remaining partitions have no records and no error."""
        parts = [self.part(large(), n) for n in range(3)]
        made = convert_parts([(0, part) for part in parts], 1, REPLY_BYTES)
        self.assertEqual([len(part.records or b"") > 0 for part in parts], [True, False, False])
        self.assertLess(made, REPLY_BYTES + 1000)

    def test_no_more_is_read_than_is_converted(self) -> None:
        """Only the part of a long partition that is converted is read."""
        small = build_values([b"x" * 1000], NOW_MS)
        part, sizes, read = self.part(small * 5000), [0], down_conversion._read

        def count(stored: Records, at: int, size: int) -> memoryview:
            data = read(stored, at, size)
            sizes[0] += len(data)
            return data

        self.patch(down_conversion, "_read", count)
        made = convert_parts([(0, part)], 1, REPLY_BYTES)
        self.assertLessEqual(made, REPLY_BYTES)
        self.assertGreater(made, REPLY_BYTES // 2)
        self.assertLess(sizes[0], 1.1 * REPLY_BYTES)

    def test_file_that_fails(self) -> None:
        """A file that cannot be read is an error of its partition; the others are converted."""
        bad, good = self.part(build_values([b"a"], NOW_MS)), self.part(build_values([b"b"], NOW_MS))
        assert isinstance(bad.records, FileSlice)
        bad.records.position += 1000
        convert_parts([(0, bad), (0, good)], 1, REPLY_BYTES)
        self.assertEqual((bad.error_code, bad.records), (ErrorCode.KAFKA_STORAGE_ERROR, b""))
        self.assertEqual(self.values(good.records), [b"b"])

    def test_client_that_has_gone(self) -> None:
        """Conversion stops when the client has disconnected."""
        part = self.part(large())
        self.assertEqual(convert_parts([(0, part)], 1, REPLY_BYTES, is_gone=lambda: True), 0)


class BudgetTestCase(ConvertingTestCase):
    def setUp(self) -> None:
        """Make a budget for three replies."""
        self.clock = Clock()
        self.held = Held()
        self.held.holding = False
        self.conversions = DownConversions(self.clock, lambda: self.held("any"), LIMIT)

    def ask(self, peer: Peer | None = None) -> tuple[Peer, Deferred[None]]:
        """Return a client that asks for a reply somewhat above REPLY_BYTES, and its Deferred."""
        peer = peer or Peer("192.0.2.1", 5000, "192.0.2.2", 9092)
        return peer, self.conversions.convert(peer, [(0, self.part(large()))], 1)

    def sent(self, peer: Peer) -> None:
        """Report the client's replies as sent."""
        for call in peer.when_sent:
            call()
        peer.when_sent.clear()


class BudgetTests(BudgetTestCase):
    def test_waits_for_the_budget(self) -> None:
        """Replies beyond the budget wait in order until enough of it is released."""
        asked = [self.ask() for _ in range(6)]
        self.assertEqual([done.called for _, done in asked], [True] * 3 + [False] * 3)
        self.sent(asked[1][0])
        self.assertEqual([done.called for _, done in asked], [True] * 4 + [False] * 2)
        self.sent(asked[3][0])
        self.sent(asked[0][0])
        self.assertEqual([done.called for _, done in asked], [True] * 6)

    def test_one_at_a_time(self) -> None:
        """One reply is converted at a time."""
        self.held.holding = True
        first, second = self.ask()[1], self.ask()[1]
        self.assertEqual(len(self.held._waiting), 1)
        self.held.work(1)
        self.assertEqual([first.called, second.called], [True, False])
        self.held.work(1)
        self.assertTrue(second.called)

    def test_gone_while_waiting(self) -> None:
        """A client that disconnects while it waits uses nothing of the budget."""
        asked = [self.ask() for _ in range(5)]
        done = asked[3][1]
        done.cancel()
        self.failureResultOf(done, CancelledError)
        self.held.holding = True
        self.sent(asked[0][0])
        self.held.work(1)
        self.assertTrue(asked[4][1].called)

    def test_gone_while_converting(self) -> None:
        """A client that disconnects during its conversion uses no budget, and the next one is served."""
        self.held.holding = True
        done, after = self.ask()[1], self.ask()[1]
        done.cancel()
        self.failureResultOf(done, CancelledError)
        self.held.work()
        self.successResultOf(after)

    def test_unchanged_costs_nothing(self) -> None:
        """Replies that need no conversion use nothing of the budget."""
        peer = Peer("192.0.2.1", 5000, "192.0.2.2", 9092)
        for _ in range(10):
            done = self.conversions.convert(peer, [(0, self.part(legacy(1, b"a" * REPLY_BYTES)))], 1)
            self.successResultOf(done)
        self.assertEqual(peer.when_sent, [])

    def test_partitions_take_turns(self) -> None:
        """Each partition that does not fit into one reply comes first in one of the next replies."""
        firsts = []
        for _ in range(4):
            parts = [self.part(large(), n) for n in range(3)]
            peer = Peer("192.0.2.1", 5000, "192.0.2.2", 9092)
            self.successResultOf(self.conversions.convert(peer, [(0, part) for part in parts], 1))
            self.sent(peer)
            firsts.append([part.partition_index for part in parts if part.records])
        self.assertEqual(firsts, [[0], [1], [2], [0]])

    def test_failure(self) -> None:
        """A bug is returned as a failure, and the next request is served."""
        self.patch(down_conversion, "can_read", lambda *_: 1 / 0)
        _, done = self.ask()
        self.failureResultOf(done, ZeroDivisionError)
        _, done = self.ask()
        self.failureResultOf(done, ZeroDivisionError)


class StalledTests(BudgetTestCase):
    def stall(self, waiting: bool = True, moving: Any = None) -> list[str]:
        """Use up the budget; return the reasons for which clients were closed after a while."""
        closed: list[str] = []
        for _ in range(3):
            peer, done = self.ask()
            peer.abort = closed.append
            peer.rounds = moving or (lambda: 1)
            self.successResultOf(done)
        if waiting:
            self.ask()
        for _ in range(int(STALLED_S) + 2):
            self.clock.advance(1)
        return closed

    def test_stalled_are_closed(self) -> None:
        """Clients that read nothing of their replies are closed while others wait, with a log line."""
        closed = self.stall()
        self.assertEqual(len(set(closed)), 1)
        self.assertIn("kafkatx.downconversion.max.bytes=3145728", closed[0])

    def test_without_need(self) -> None:
        """A slow client is not closed, and no timer runs, while no other waits."""
        self.assertEqual(self.stall(waiting=False), [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_while_the_budget_lasts(self) -> None:
        """No client is closed while there is room in the budget, though others wait for the worker."""
        peer, _ = self.ask()
        closed: list[str] = []
        peer.abort = closed.append
        self.held.holding = True
        self.ask()
        self.ask()
        for _ in range(100):
            self.clock.advance(1)
        self.assertEqual(closed, [])

    def test_slow_but_moving(self) -> None:
        """A client that reads a little now and then is left alone, but not forever."""
        closed = self.stall(moving=lambda: int(self.clock.seconds()))
        self.assertEqual(closed, [])
        for _ in range(int(LONGEST_S)):
            self.clock.advance(1)
        self.assertNotEqual(closed, [])

    def test_no_timer_stays(self) -> None:
        """The timer ends when no request waits any more."""
        asked = [self.ask() for _ in range(4)]
        asked[3][1].cancel()
        self.failureResultOf(asked[3][1], CancelledError)
        self.clock.advance(1)
        self.assertEqual(self.clock.getDelayedCalls(), [])
