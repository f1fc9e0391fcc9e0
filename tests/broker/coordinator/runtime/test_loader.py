"""The reading of a partition when it is loaded: the records that are replayed, and those that are skipped."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.coordinator.runtime import loader
from kafkatx.broker.coordinator.runtime.loader import load_partition
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.records.batch import CONTROL
from kafkatx.records.batch import Record as LogRecord
from kafkatx.records.builder import BatchBuilder, assemble
from kafkatx.records.compression import Codec
from kafkatx.records.keyed import build_keyed
from kafkatx.records.legacy import message_sets
from kafkatx.types import Marker
from tests.broker.running import NOW_MS, BrokerTestCase, at_once

Replayed = list[tuple[bytes, "bytes | None"]]


class FakeReplay:
    """Records the calls; a key of version 9 is unreadable, and version 10 fails as with a bug."""

    def __init__(self) -> None:
        self.replayed: Replayed = []
        self.open: list[tuple[int, bytes, bytes | None]] = []

    def __call__(self, key: bytes, value: bytes | None) -> None:
        """Record the call."""
        if key[:2] == b"\0\x09":
            raise KafkaTXError("no")
        if key[:2] == b"\0\x0a":
            raise ZeroDivisionError
        self.replayed.append((key, value))

    def pending(self, producer_id: int, key: bytes, value: bytes | None) -> None:
        """Record the call."""
        self.open.append((producer_id, key, value))


class LoadingTestCase(BrokerTestCase):
    """A test case with a partition; :meth:`load` returns the replayed records."""

    def setUp(self) -> None:
        """Make the partition."""
        super().setUp()
        (self.partition,) = self.make_topic("t")
        self.replay = FakeReplay()
        self.replayed = self.replay.replayed

    def begin(self) -> Deferred[bool]:
        """Begin to load."""
        end = self.partition.log.log_end_offset
        return Deferred.fromCoroutine(
            load_partition(self.partition, end, at_once(""), self.clock, self.replay)
        )

    def load(self) -> Replayed:
        """Load; return the replayed records."""
        self.assertTrue(self.successResultOf(self.begin()))
        return self.replayed

    def put(self, batch: bytes) -> None:
        """Write a batch to the partition as it is."""
        log = self.partition.log
        self.assertEqual(log.append(batch, 0, NOW_MS, batch[16] == 2).error, 0)
        log.write()


def batch(*records: tuple[bytes, bytes | None], codec: Codec = Codec.NONE) -> bytes:
    """Return a batch of these records."""
    builder = BatchBuilder(codec)
    for key, value in records:
        builder.append(key, value, NOW_MS)
    return builder.build()


def transactional(producer_id: int, *records: tuple[bytes, bytes | None]) -> bytes:
    """Return a batch of a transaction, as the broker writes it."""
    return build_keyed(records, NOW_MS, (producer_id, 0))


class TransactionTests(LoadingTestCase):
    """Records of transactions, as TxnOffsetCommit writes them."""

    def write(self, producer_id: int, *records: tuple[bytes, bytes | None]) -> None:
        """Write a batch of a transaction."""
        log = self.partition.log
        done = log.append(transactional(producer_id, *records), 0, NOW_MS, True, TRUSTED, True)
        self.assertEqual(done.error, 0)
        log.write()

    def end(self, producer_id: int, committed: bool) -> None:
        """Write a marker."""
        done = self.partition.log.append_marker(producer_id, 0, Marker(committed, 0), 0, NOW_MS)
        self.assertEqual(done.error, 0)
        self.partition.log.write()

    def test_outcomes(self) -> None:
        """Committed records are replayed, aborted ones never; those of an open transaction are pending."""
        for producer_id, key in ((1, b"a"), (2, b"b"), (3, b"c")):
            self.write(producer_id, (key, b"1"), (key * 2, b"2"))
        self.end(1, True)
        self.end(2, False)
        self.assertEqual(self.load(), [(b"a", b"1"), (b"aa", b"2")])
        self.assertEqual(self.replay.open, [(3, b"c", b"1"), (3, b"cc", b"2")])

    def test_newest_record(self) -> None:
        """The newest record of a key counts, wherever the marker of its transaction is."""
        self.write(1, (b"a", b"old"), (b"b", b"kept"))
        self.write(2, (b"a", b"new"))
        self.end(2, True)
        self.end(1, True)
        self.write(3, (b"c", b"old"), (b"d", b"stays"))
        self.put(batch((b"c", b"plain")))
        self.end(3, True)
        self.assertEqual(dict(self.load()), {b"a": b"new", b"b": b"kept", b"c": b"plain", b"d": b"stays"})

    def test_superseded(self) -> None:
        """A record of an open transaction is not pending any more after a later one of its key."""
        self.write(1, (b"a", b"old"), (b"b", b"open"))
        self.put(batch((b"a", b"plain")))
        self.write(2, (b"b", b"newer"))
        self.assertEqual(self.load(), [(b"a", b"plain")])
        self.assertEqual(self.replay.open, [(1, b"b", b"open"), (2, b"b", b"newer")])


class LoadTests(LoadingTestCase):
    def test_last_of_each_key(self) -> None:
        """Only the last record of each key is replayed, tombstones included, in the order of the offsets."""
        self.put(batch((b"\0\1a", b"1"), (b"\0\1b", b"2")))
        self.put(batch((b"\0\1a", b"3"), (b"\0\1c", b"4"), (b"\0\1b", None)))
        self.assertEqual(self.load(), [(b"\0\1a", b"3"), (b"\0\1c", b"4"), (b"\0\1b", None)])

    def test_nothing(self) -> None:
        """An empty partition is loaded at once."""
        self.assertEqual(self.load(), [])

    def test_end(self) -> None:
        """Records after the given end are not read."""
        self.put(batch((b"a", b"1")))
        self.put(batch((b"b", b"2")))
        self.patch(self.partition.log, "log_end_offset", 1)
        self.assertEqual(self.load(), [(b"a", b"1")])

    def test_formats(self) -> None:
        """Compressed batches and messages from before Kafka 0.11 are read."""
        self.put(batch((b"\0\1a", b"1"), codec=Codec.ZSTD))
        old = [LogRecord(0, NOW_MS, b"\0\1b", b"2", [])]
        self.put(message_sets.build(old, 1, Codec.NONE, 0))
        self.assertEqual(self.load(), [(b"\0\1a", b"1"), (b"\0\1b", b"2")])

    def test_in_pieces(self) -> None:
        """A log that is larger than one read is read in pieces."""
        self.patch(loader, "READ_BYTES", 100)
        for n in range(20):
            self.put(batch((b"\0\1%d" % n, b"v" * 90)))
        reads: list[int] = []
        log = self.partition.log
        read = log.read

        def noted(offset: int, *rest: Any) -> Any:
            reads.append(offset)
            return read(offset, *rest)

        self.patch(log, "read", noted)
        self.assertEqual(len(self.load()), 20)
        self.assertEqual(reads, list(range(20)))

    def test_from_the_log_start(self) -> None:
        """Records before the log start offset are not read."""
        self.put(batch((b"\0\1a", b"1")))
        self.put(batch((b"\0\1b", b"2")))
        self.partition.log.advance_log_start(1)
        self.assertEqual(self.load(), [(b"\0\1b", b"2")])

    def test_end_without_records(self) -> None:
        """A log whose last offsets were compacted away is read to its end."""
        self.put(batch((b"\0\1a", b"1")))
        log = self.partition.log
        read = log.read
        asked: list[int] = []

        def emptied(offset: int, *rest: Any) -> Any:
            asked.append(offset)
            return b"" if offset else read(0, *rest)

        self.patch(log, "read", emptied)
        self.patch(log, "log_end_offset", 5)
        self.assertEqual(self.load(), [(b"\0\1a", b"1")])
        self.assertEqual(asked, [0, 1])

    def test_turns(self) -> None:
        """A long replay yields to other work in between, and can be stopped there."""
        self.patch(loader, "AT_ONCE", 10)
        self.put(batch(*[(b"\0\1%d" % n, b"v") for n in range(25)]))
        doing = self.begin()
        self.assertEqual(len(self.replayed), 10)
        self.clock.advance(0)
        self.assertEqual(len(self.replayed), 25)
        self.successResultOf(doing)
        again = self.begin()
        again.cancel()
        self.failureResultOf(again, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class FailureTests(LoadingTestCase):
    def assertUnreadable(self) -> None:
        """Assert that the partition cannot be loaded, and that one line tells so."""
        with capturedLogs() as logs:
            self.assertFalse(self.successResultOf(self.begin()))
        self.assertEqual([log["log_level"] for log in logs], [LogLevel.error])
        self.assertEqual(self.replayed, [])

    def test_offline(self) -> None:
        """A partition whose log dir has failed cannot be read."""
        self.put(batch((b"a", b"1")))
        self.partition.go_offline()
        self.assertUnreadable()

    def test_disk_fails(self) -> None:
        """A partition whose disk fails during the load is not replayed."""
        self.put(batch((b"a", b"1")))

        def read(*args: Any) -> Any:
            raise OSError(errno.EIO, "Input/output error")

        self.patch(self.partition.log, "read", read)
        self.assertUnreadable()


class FaultTests(LoadingTestCase):
    def check_passed_over(self, count: int, first: str) -> None:
        """Check that one log line has the number of skipped records and the first; the rest is replayed."""
        self.put(batch((b"\0\1last", b"v")))
        with capturedLogs() as logs:
            self.assertEqual(self.load()[-1], (b"\0\1last", b"v"))
        (line,) = [log for log in logs if log["log_level"] is LogLevel.warn]
        self.assertEqual(line["count"], count)
        self.assertIn(first, line["fault"])

    def test_unreadable_records(self) -> None:
        """Unreadable records are skipped, with one log line for all."""
        self.put(batch(*[(b"\0\x09%d" % n, b"v") for n in range(5)], (b"\0\1a", b"v")))
        self.check_passed_over(5, "no")

    def test_bug(self) -> None:
        """A bug in the replay of a record costs that record alone."""
        self.put(batch((b"\0\x0a", b"v")))
        self.check_passed_over(1, "traceback")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def stored_batches(self) -> list[bytes]:
        """Return the batches that the log of partition 0 keeps."""
        log: Any = self.partition.log
        batches: list[bytes] = log._storage._batches
        return batches

    def test_damaged_batch(self) -> None:
        """A batch whose checksum is wrong is skipped; those around it are replayed."""
        self.put(batch((b"\0\1a", b"v")))
        self.put(batch((b"\0\1b", b"v")))
        stored = self.stored_batches()
        stored[0] = stored[0][:-1] + b"\x02"
        self.check_passed_over(1, "offset 0")
        self.assertEqual([key for key, _ in self.replayed], [b"\0\1b", b"\0\1last"])

    def test_no_batches_any_more(self) -> None:
        """A batch whose end is unknown ends the replay; the records before it are kept."""
        self.put(batch((b"\0\1a", b"v")))
        self.put(batch((b"\0\1b", b"v")))
        stored = self.stored_batches()
        stored[1] = b"\xff" * len(stored[1])
        with capturedLogs() as logs:
            self.assertEqual(self.load(), [(b"\0\1a", b"v")])
        self.assertEqual([log["count"] for log in logs if log["log_level"] is LogLevel.warn], [1])

    def test_control_batches(self) -> None:
        """Control batches of transactions, which Apache Kafka may have left there, are skipped."""
        self.put(batch((b"\0\1a", b"v")))
        mark = assemble(b"\x14\0\0\0\x08\0\0\0\1\x01\0", 1, CONTROL, NOW_MS, NOW_MS)
        stored = self.stored_batches()
        self.put(batch((b"\0\1b", b"v")))
        stored[1] = mark[:8] + mark[8:]
        self.assertEqual(self.load(), [(b"\0\1a", b"v")])

    def test_no_key(self) -> None:
        """A record without a key is skipped; the topic may not always have been compacted."""
        self.put(batch((b"\0\1a", b"v")))
        self.put(batch((b"\0\1b", b"v")))
        stored = self.stored_batches()
        builder = BatchBuilder()
        builder.append(None, b"v", NOW_MS)
        stored[1] = builder.build(1)
        self.assertEqual(self.load(), [(b"\0\1a", b"v")])

    def test_short_key(self) -> None:
        """A key may be short: what it means is not the loader's."""
        self.put(batch((b"\0", b"v")))
        self.assertEqual(self.load(), [(b"\0", b"v")])
