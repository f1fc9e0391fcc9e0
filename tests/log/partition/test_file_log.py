"""The log in files: its contract, rolling, the bytes on the disk, and disks that fail."""

from __future__ import annotations

import os
import struct
import uuid
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.partition import snapshot_writer
from kafkatx.log.producer_state import decode_snapshot, encode_snapshot
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.records.conversion import batches
from kafkatx.testing.contracts.partition_log import (
    ALL,
    NOW_MS,
    TP,
    PartitionLogContract,
    StoreCase,
    batch,
    bytes_of,
    find_retention,
)
from kafkatx.types import FileSlice
from tests.log.fakes import FailingFiles, Settings, crash, file_store, names


class FileLogTests(PartitionLogContract, SynchronousTestCase):
    """The contract."""

    def make_store(self) -> Any:
        """Return a store in a dir of its own."""
        return file_store(self.clock, self.mktemp())


class OnDiskTests(StoreCase, SynchronousTestCase):
    """The content of the files."""

    def setUp(self) -> None:
        """Make one log dir, and files that can fail."""
        super().setUp()
        self.path = self.mktemp()
        self.files = FailingFiles()

    def make_store(self) -> Any:
        """Return a store in the test's dir."""
        return file_store(self.clock, self.path, files=self.files)

    def make_log(self, **settings: Any) -> Any:
        """Return a log with these settings in an open store."""
        self.store = self.opened(LogConfig(**settings))
        return self.result(self.store.create(TP, uuid.uuid4(), LogConfig(**settings)))

    def reopened(self, **settings: Any) -> Any:
        """Return the log after a crash."""
        crash(self.store)
        self.store = self.opened(LogConfig(**settings))
        return self.store.logs[TP]

    def file(self, log: Any, name: str) -> bytes:
        """Return a file of the log."""
        with open(os.path.join(log.directory, name), "rb") as file:
            return file.read()

    def test_segment_files(self) -> None:
        """Segments are named by their first offset; each but the first has a producer snapshot."""
        one = len(batch([b"x" * 50]))
        log = self.make_log(segment_bytes=2 * one)
        for number in range(5):
            self.put(log, batch([b"x" * 50], producer=(9, 0, number)))
        self.assertEqual([segment.base_offset for segment in log.segments], [0, 2, 4])
        logs = [name for name in names(log) if name.endswith(".log")]
        self.assertEqual(logs, [f"{base_offset:020d}.log" for base_offset in (0, 2, 4)])
        snapshots = [name for name in names(log) if name.endswith(".snapshot")]
        self.assertEqual(snapshots, ["00000000000000000002.snapshot", "00000000000000000004.snapshot"])
        states = decode_snapshot(self.file(log, snapshots[0]))
        self.assertEqual(states[9].batches[-1].last_sequence, 1)

    def test_rolls_within_one_write(self) -> None:
        """Batches that were staged together go to as many segments as they need."""
        one = len(batch([b"x" * 50]))
        log = self.make_log(segment_bytes=2 * one)
        self.put(log, *[batch([b"x" * 50], producer=(9, 0, number)) for number in range(5)])
        self.assertEqual([segment.base_offset for segment in log.segments], [0, 2, 4])
        self.assertEqual([segment.size_bytes for segment in log.segments], [2 * one, 2 * one, one])
        for offset in (2, 4):
            states = decode_snapshot(self.file(log, f"{offset:020d}.snapshot"))
            self.assertEqual(states[9].batches[-1].last_sequence, offset - 1)

    def test_batch_larger_than_a_segment(self) -> None:
        """A batch that no segment has room for gets one of its own."""
        log = self.make_log(segment_bytes=100)
        self.put(log, batch([b"x" * 300]), batch([b"y" * 300]))
        self.assertEqual([segment.base_offset for segment in log.segments], [0, 1])

    def test_roll_when_index_is_full(self) -> None:
        """A segment ends when its index has no room, whatever size it has."""
        log = self.make_log(segment_index_bytes=60, index_interval_bytes=1)
        for _ in range(20):
            self.put(log, batch([b"x"]))
        self.assertEqual([segment.base_offset for segment in log.segments], [0, 8, 16])
        for segment in log.segments:
            self.assertLessEqual(len(self.file(log, f"{segment.base_offset:020d}.index")), 60)
        self.assertEqual(len(self.content(log)), 20)

    def test_roll_by_age_in_write(self) -> None:
        """A write that comes later than segment.ms after the segment was made begins another."""
        log = self.make_log(segment_ms=1000)
        log.append(batch([b"a"]), 0, NOW_MS + 900, True)
        log.write()
        log.append(batch([b"b"]), 0, NOW_MS + 1001, True)
        log.write()
        self.assertEqual([segment.base_offset for segment in log.segments], [0, 1])

    def test_roll_at_largest_relative_offset(self) -> None:
        """Offsets that do not fit the index's 32 bits, less one for the sign, go to another segment."""
        log = self.make_log()
        self.put(log, batch([b"a"]))
        log.segments[0].base_offset -= 2**31 - 2
        self.put(log, batch([b"b"]))
        self.assertEqual(len(log.segments), 1)
        self.put(log, batch([b"c"]))
        self.assertEqual(log.segments[1].base_offset, 2)

    def test_log_bytes(self) -> None:
        """The .log file is the stored batches one after the other, nothing else."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c"]), leader_epoch=3)
        data = self.file(log, "00000000000000000000.log")
        found = log.read(0, ALL, 3, True)
        self.assertIsInstance(found, FileSlice)
        self.assertEqual(data, bytes_of(found))
        self.assertEqual(struct.unpack(">qii", data[:16]), (0, len(batch([b"a"])) - 12, 3))

    def test_reads_end_between_batches(self) -> None:
        """A read has all whole batches that fit into its limit; the start of the next one is remembered."""
        settings = {"index_interval_bytes": 600, "segment_bytes": 20_000}
        written = self.make_log(**settings)
        sizes = [10, 3000, 50, 50, 50, 900, 1, 1, 1, 1, 2000, 700, 9000, 40, 40, 40, 5000, 30]
        sent = [batch([b"x" * size, b"y"]) for size in sizes]
        self.put(written, *sent)
        ends = [sum(map(len, sent[: number + 1])) for number in range(len(sent))]
        self.assertGreater(len(written.segments), 1)
        for log in (written, self.reopened(**settings)):
            in_first = [end for end in ends if end <= log.segments[0].size]
            for number, start in enumerate([0, *in_first[:-1]]):
                for max_bytes in {*(end - start + more for end in in_first[number:] for more in (-1, 0, 1))}:
                    log.segments[0].known.clear()
                    whole = [end - start for end in in_first[number:] if end - start <= max_bytes]
                    found = log.read(2 * number, max_bytes, 36, False)
                    self.assertEqual(len(found), max([0, *whole]))
                    if whole:
                        following = 2 * (number + len(whole))
                        position = log.segments[0].known.get(following, start + whole[-1])
                        self.assertEqual(position, start + whole[-1])
                        self.assertTrue(
                            following in log.segments[0].known or number + len(whole) == len(in_first)
                        )

    def test_read_where_the_index_is_wrong(self) -> None:
        """An index that names places where no batch begins costs the last batch, never the first."""
        log = self.make_log(index_interval_bytes=100, segment_bytes=10**6)
        sent = [batch([b"x" * 200]) for _ in range(10)]
        self.put(log, *sent)
        one, index = len(sent[0]), log.segments[0].index
        for at in range(len(index.values)):
            index.values[at] -= 1
        self.assertEqual(len(log.read(0, 5 * one + 9, 10, True)), 5 * one + 9)
        self.assertEqual(len(log.read(0, one - 1, 10, True)), one)
        self.assertEqual(len(log.read(0, one - 1, 10, False)), 0)

    def test_index_names_a_batch_inside_of_a_record(self) -> None:
        """Bytes that look like a batch, but have impossible offsets, are not taken for one."""
        log = self.make_log(index_interval_bytes=1, segment_bytes=10**6)
        inner = struct.pack(">q", 99_999) + batch([b"z"])[8:]
        self.put(log, batch([b"first"]), batch([b"x" * 100 + inner]), batch([b"last"]))
        inside = self.file(log, f"{0:020d}.log").index(inner)
        log.segments[0].index.values[0] = inside
        self.assertEqual(len(log.read(0, inside + 10, 3, True)), inside + 10)
        self.assertNotIn(99_999, log.segments[0].known)

    def test_index_bytes(self) -> None:
        """Both indexes get an entry for a batch after more than the interval of bytes, as Kafka's do."""
        one = len(batch([b"x" * 100]))
        log = self.make_log(index_interval_bytes=one, segment_bytes=6 * one)
        for number in range(7):
            self.put(log, batch([b"x" * 100], [NOW_MS + number]))
        self.assertEqual(
            self.file(log, "00000000000000000000.index"), struct.pack(">IIII", 2, 2 * one, 4, 4 * one)
        )
        # The last entry was made by the roll.
        self.assertEqual(
            self.file(log, "00000000000000000000.timeindex"),
            struct.pack(">qIqIqI", NOW_MS + 2, 2, NOW_MS + 4, 4, NOW_MS + 5, 5),
        )

    def test_time_index_with_times_in_disorder(self) -> None:
        """The time index holds the largest time so far and its batch's last offset; it never goes back."""
        log = self.make_log(index_interval_bytes=1, segment_bytes=10**6)
        for time in (5, 9, 7, 8, 12):
            self.put(log, batch([b"x"], [time]))
        log.roll_if_due(NOW_MS * 2)
        self.assertEqual(self.file(log, "00000000000000000000.timeindex"), struct.pack(">qIqI", 9, 1, 12, 4))

    def test_retention_renames_and_unlinks(self) -> None:
        """Retention renames files to .deleted at once and unlinks them after file.delete.delay.ms."""
        log = self.make_log(segment_bytes=100, retention_policy="all-but-one", file_delete_delay_ms=5000)
        self.put(log, *[batch([b"x"])] * 3)
        held = log.read(0, ALL, 3, True)
        self.assertEqual(log.retain(NOW_MS), 2)
        gone = [name for name in names(log) if name.endswith(".deleted")]
        self.assertEqual(len([name for name in gone if ".log" in name]), 2)
        self.clock.advance(4)
        self.assertEqual([name for name in names(log) if name.endswith(".deleted")], gone)
        self.clock.advance(2)
        self.assertEqual([name for name in names(log) if name.endswith(".deleted")], [])
        self.assertEqual(len(list(batches(bytes_of(held)))), 1)
        self.assertEqual(log.log_start_offset, 2)

    def test_full_disk_is_emptied(self) -> None:
        """Retention and DeleteRecords make room where nothing can be written; a crash changes nothing."""
        log = self.make_log(segment_bytes=100, retention_policy="all-but-one", file_delete_delay_ms=50)
        self.put(log, *[batch([b"x"])] * 6)
        self.files.bytes_left = 0
        log.advance_log_start(2)
        self.clock.advance(1)
        self.assertEqual(names(log)[0], "00000000000000000002.index")
        self.assertEqual(log.retain(NOW_MS), 3)
        self.clock.advance(1)
        self.assertEqual(names(log)[0], "00000000000000000005.index")
        self.assertEqual(self.file(log, "leader-epoch-checkpoint"), b"0\n1\n0 0\n")
        self.files.bytes_left = None
        log = self.reopened()
        self.assertEqual((log.log_start_offset, log.log_end_offset), (5, 6))
        self.assertEqual(len(list(batches(bytes_of(log.read(5, ALL, 6, True))))), 1)

    def test_deleted_leftovers(self) -> None:
        """Files that a crash left as .deleted are removed when the log is opened."""
        log = self.make_log(segment_bytes=100, retention_policy="all-but-one")
        self.put(log, *[batch([b"x"])] * 3)
        log.retain(NOW_MS)
        log = self.reopened()
        self.assertEqual([name for name in names(log) if name.endswith(".deleted")], [])
        self.assertEqual((log.log_start_offset, log.log_end_offset), (2, 3))

    def test_idle_producer_is_forgotten(self) -> None:
        """A producer that was idle for producer.id.expiration.ms may come back with any sequence."""
        log = self.make_log(producer_id_expiration_ms=1000)
        self.put(log, batch([b"a"], producer=(1, 0, 0)))
        log.retain(NOW_MS + 999)
        self.assertNotEqual(log.append(batch([b"a"], producer=(1, 0, 7)), 0, NOW_MS, True).error, 0)
        log.retain(NOW_MS + 1000)
        self.put(log, batch([b"a"], producer=(1, 0, 7)))

    def test_epoch_never_goes_back(self) -> None:
        """A leader epoch below the log's own is stamped as the log's: recovery would cut the batch else."""
        log = self.make_log()
        self.put(log, batch([b"a"]), leader_epoch=5)
        self.put(log, batch([b"b"]), leader_epoch=2)
        log = self.reopened()
        self.assertEqual((log.log_end_offset, log.epoch_at(1)), (2, 5))

    def test_truncated_log_after_restart(self) -> None:
        """A cut inside a batch is the log's end also after a restart."""
        log = self.make_log()
        self.put(log, batch([b"a"]), batch([b"b", b"c", b"d"]))
        log.truncate_to(3)
        self.result(self.store.close())
        self.assertEqual(self.reopened().log_end_offset, 3)

    # --- failures

    def test_write_fails(self) -> None:
        """A write that fails at any byte leaves log, indexes, producers and epochs as they were."""
        sent = [batch([b"x" * 20], producer=(1, 0, number)) for number in range(2, 8)]
        size = sum(map(len, sent))
        log = self.make_log(segment_bytes=420, index_interval_bytes=50)
        self.put(log, batch([b"a"], producer=(1, 0, 0)), batch([b"b"], producer=(1, 0, 1)))
        expected = self.content(log)
        directory = {name: self.file(log, name) for name in names(log)}
        for bytes_left in [0, 1, 15, 16, 60, *range(61, size, 41)]:
            for one in sent:
                self.assertEqual(log.append(one, 3, NOW_MS, True).error, 0)
            self.files.bytes_left = bytes_left
            self.assertRaises(OSError, log.write)
            self.files.bytes_left = None
            self.assertEqual((log.log_end_offset, len(log.segments), log.epoch_at(2)), (2, 1, 0))
            self.assertEqual(self.content(log), expected)
            self.assertEqual(names(log), sorted(directory))
            found = {name: self.file(log, name) for name in directory}
            # A new epoch was written down before its first batch.
            found["leader-epoch-checkpoint"] = directory["leader-epoch-checkpoint"]
            self.assertEqual(found, directory)
            log.write()
        self.put(log, *sent, leader_epoch=3)
        self.assertEqual(log.log_end_offset, 8)
        again = log.append(sent[-1], 3, NOW_MS, True)
        self.assertEqual(again.base_offset, 7)

    def test_epoch_of_a_failed_write(self) -> None:
        """An epoch whose first batch could not be written is that of a leader without records."""
        log = self.make_log()
        self.put(log, batch([b"a"]), leader_epoch=1)
        log.append(batch([b"b"] * 20), 3, NOW_MS, True)
        self.files.bytes_left = 60
        self.assertRaises(OSError, log.write)
        self.files.bytes_left = None
        self.assertEqual(log.latest_epoch, 1)
        self.assertEqual(self.file(log, "leader-epoch-checkpoint"), b"0\n2\n1 0\n3 1\n")
        log = self.reopened()
        self.assertEqual((log.end_offset_for_epoch(2), log.end_offset_for_epoch(9)), ((1, 1), (3, 1)))

    def test_write_and_cut_fail(self) -> None:
        """The rest of a failed write that could not be cut is not read, and overwritten by the next write."""
        log = self.make_log()
        self.put(log, batch([b"a"]))
        log.append(batch([b"lost" * 100]), 0, NOW_MS, True)
        self.files.bytes_left, self.files.fail_truncate = 300, True
        self.assertRaises(OSError, log.write)
        self.files.bytes_left, self.files.fail_truncate = None, False
        self.assertEqual(self.content(log), [(0, b"a")])
        self.put(log, batch([b"b"]))
        self.assertEqual(self.content(log), [(0, b"a"), (1, b"b")])
        self.assertEqual(self.content(self.reopened()), [(0, b"a"), (1, b"b")])

    def test_many_buffers(self) -> None:
        """More buffers than one writev takes are all written."""
        log = self.make_log()
        self.put(log, *[batch([b"%d" % number]) for number in range(1500)])
        self.assertEqual(self.content(log), [(number, b"%d" % number) for number in range(1500)])

    def test_flush_syncs_what_is_new(self) -> None:
        """A flush syncs the files that changed since the last one, and only those."""
        log = self.make_log(index_interval_bytes=1)
        self.result(log.flush())
        self.files.synced.clear()
        self.put(log, batch([b"a"]))
        self.result(log.flush())
        self.assertEqual(sorted(self.files.synced), ["00000000000000000000.log", "leader-epoch-checkpoint"])
        self.files.synced.clear()
        self.put(log, batch([b"b"]))
        self.result(log.flush())
        self.result(log.flush())
        self.assertEqual(
            sorted(self.files.synced),
            ["00000000000000000000.index", "00000000000000000000.log", "00000000000000000000.timeindex"][
                : len(self.files.synced)
            ],
        )
        self.assertIn("00000000000000000000.log", self.files.synced)

    def test_flush_fails(self) -> None:
        """After a failed sync no flush succeeds again: the content of the disk is unknown."""
        log = self.make_log()
        self.put(log, batch([b"a"]))
        self.files.fail_sync = True
        self.failureResultOf(log.flush(), OSError)
        self.files.fail_sync = False
        self.failureResultOf(log.flush(), OSError)
        self.assertEqual(log.flushed_offset, 0)
        crash(self.store)


class SlowWorkerTests(StoreCase, SynchronousTestCase):
    """Flushes in a worker that takes its time."""

    def setUp(self) -> None:
        """Make a worker whose work waits to be pumped."""
        super().setUp()
        self.path = self.mktemp()
        self.work: list[tuple[Any, Deferred[Any]]] = []
        self.slow = False

    def make_store(self) -> Any:
        """Return a store with that worker."""
        return FileLogStore(Settings(self.path), lambda name: self.run_later, self.clock, find_retention)

    def run_later(self, function: Any) -> Deferred[Any]:
        """Keep the work until it is pumped."""
        done: Deferred[Any] = Deferred()
        self.work.append((function, done))
        if not self.slow:
            self.pump()
        return done

    def pump(self) -> None:
        """Do all work that waits."""
        while self.work:
            function, done = self.work.pop(0)
            done.callback(function())

    def make_log(self) -> Any:
        """Return a log in a store that is open."""
        log = self.result(self.opened().create(TP, uuid.uuid4(), LogConfig()))
        self.slow = True
        self.addCleanup(setattr, self, "slow", False)
        return log

    def test_snapshots_are_encoded_in_the_worker(self) -> None:
        """A roll encodes nothing where it happens; of many producers only the last snapshot waits."""
        log = self.make_log()
        encoded: list[int] = []

        def counted(states: Any) -> bytes:
            encoded.append(len(states))
            return encode_snapshot(states)

        self.patch(snapshot_writer, "encode_snapshot", counted)
        self.patch(snapshot_writer, "MANY_PRODUCERS", 3)
        for number in range(6):
            self.put(log, batch([b"x"], producer=(number, 0, 0)))
            log._roll(NOW_MS)
        self.assertEqual(encoded, [])
        self.pump()
        self.assertEqual(encoded, [6])
        snapshots = [name for name in names(log) if name.endswith(".snapshot")]
        self.assertEqual(snapshots, [f"{6:020d}.snapshot"])

    def test_snapshots_before_a_cut(self) -> None:
        """A snapshot that waited while its log was cut is not written."""
        log = self.make_log()
        self.put(log, batch([b"x"], producer=(1, 0, 0)))
        log._roll(NOW_MS)
        log.truncate_to(0)
        self.pump()
        self.assertEqual([name for name in names(log) if name.endswith(".snapshot")], [])

    def test_flush_waits_for_the_one_before(self) -> None:
        """A flush that has nothing to sync itself does not overtake the one that has."""
        log = self.make_log()
        self.put(log, batch([b"a"]))
        first, second = log.flush(), log.flush()
        self.assertNoResult(second)
        self.assertEqual(log.flushed_offset, 0)
        self.pump()
        self.assertEqual((self.result(first), self.result(second)), (1, 1))

    def test_flush_of_a_part(self) -> None:
        """Records written during a sync do not count as flushed by it."""
        log = self.make_log()
        self.put(log, batch([b"a"]))
        flushing = log.flush()
        self.put(log, batch([b"b"]))
        self.pump()
        self.assertEqual((self.result(flushing), log.flushed_offset), (1, 1))

    def test_truncation_during_flush(self) -> None:
        """Records written after a cut are not flushed by a sync that began before it."""
        log = self.make_log()
        self.put(log, *[batch([b"a"])] * 5)
        flushing = log.flush()
        log.truncate_to(2)
        self.put(log, *[batch([b"b"])] * 5)
        self.pump()
        self.result(flushing)
        self.assertLessEqual(log.flushed_offset, 2)

    def test_snapshot_after_truncation(self) -> None:
        """A snapshot that was to be written when the log was cut below it is not written."""
        log = self.make_log()
        log.configure(attrs.evolve(log.config, segment_ms=1))
        self.put(log, batch([b"a"], producer=(1, 0, 0)), batch([b"b"], producer=(1, 0, 1)))
        log.roll_if_due(NOW_MS + 10)
        log.truncate_to(1)
        self.pump()
        self.assertEqual([name for name in names(log) if name.endswith(".snapshot")], [])
