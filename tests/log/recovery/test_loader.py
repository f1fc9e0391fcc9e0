"""Opening logs after crashes, with damaged files, and against a model."""

from __future__ import annotations

import os
import shutil
import struct
import uuid
from typing import Any
from unittest import mock

import attrs
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.producer_state import ProducerBatch, ProducerState, encode_snapshot
from kafkatx.log.recovery import progress
from kafkatx.log.recovery.loader import LogLoader
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch
from tests.log.fakes import crash, names
from tests.log.recovering import SMALL, RecoveryCase


class RecoveryTests(RecoveryCase, SynchronousTestCase):
    """The state of a log after it is loaded."""

    def test_after_a_crash(self) -> None:
        """All that was written is there after the process was killed."""
        self.fill()
        self.check_prefix(self.reopen(), 12)

    def test_newest_timestamps(self) -> None:
        """The time index of a closed segment that is checked after a crash ends with its newest timestamp."""
        config = attrs.evolve(SMALL, index_interval_bytes=4096)
        log = self.fill(config=config)
        newest = [segment.max_timestamp for segment in log.segments]
        self.assertGreater(len(newest), 2)
        log = self.reopen(config)
        for segment in log.segments[:-1]:
            segment.make_ready()
        self.assertEqual([segment.time_index.keys[-1] for segment in log.segments[:-1]], newest[:-1])

    def test_progress_is_told(self) -> None:
        """The check after a crash is logged while it goes on, and at its end."""
        size = self.fill().size_bytes
        self.patch(progress, "SAY_EVERY_S", 0.0)
        self.patch(progress, "LOOK_EVERY_BYTES", 1)
        with capturedLogs() as events:
            self.reopen()
        said = [event["log_format"] for event in events if "MiB were checked" in event["log_format"]]
        self.assertEqual(["{seconds" in line for line in said], [False] * 12 + [True], size)

    def test_after_close(self) -> None:
        """All that was written is there after a clean shutdown."""
        self.fill(clean=True)
        self.check_prefix(self.reopen(), 12)

    def test_clean_start_reads_no_records(self) -> None:
        """After a clean shutdown the segments that are not active are trusted: nothing is scanned."""
        self.fill(clean=True)
        first = "00000000000000000000.log"
        data = bytearray(self.read_file(first))
        data[:70] = b"?" * 70
        self.write_file(first, bytes(data))
        warned = mock.Mock()
        self.patch(LogLoader, "log", warned)
        self.assertEqual(self.reopen().log_end_offset, 24)
        self.assertEqual(warned.mock_calls, [])
        self.restore()
        self.write_file(first, bytes(data))
        os.unlink(os.path.join(self.path, ".kafka_cleanshutdown"))
        os.unlink(os.path.join(self.path, "recovery-point-offset-checkpoint"))
        crash(self.store)
        self.assertEqual(self.reopen().log_end_offset, 0)

    def last_batches(self, log: Any) -> tuple[str, list[tuple[int, int]]]:
        """The last segment's name, and position and size of its last three batches."""
        segment = log.segments[-1]
        found = [(one.position, one.size) for one in segment.walk()]
        return os.path.basename(segment.path(".log")), found[-3:]

    def test_tail_cut_at_every_byte(self) -> None:
        """Every whole batch is kept, and no other, if the file ends anywhere in the last three batches."""
        log = self.fill(12, config=attrs.evolve(SMALL, segment_bytes=1000))
        name, tail = self.last_batches(log)
        self.assertEqual(len(tail), 3)
        whole = self.read_file(name)
        for end in range(tail[0][0], len(whole)):
            self.restore()
            self.write_file(name, whole[:end])
            left = 9 + sum(position + size <= end for position, size in tail)
            log = self.reopen()
            self.assertEqual(log.log_end_offset, 2 * left, end)
            self.assertEqual(len(self.read_file(name)), log.segments[-1].size_bytes)
            if end % 37 == 0 or end in [position for position, _ in tail]:
                self.check_prefix(log, left)
            crash(self.store)

    def test_tail_garbled_at_every_byte(self) -> None:
        """Whichever byte of the last three batches is wrong, the batches before are kept, and no other."""
        log = self.fill(12, config=attrs.evolve(SMALL, segment_bytes=1000))
        name, tail = self.last_batches(log)
        whole = self.read_file(name)
        for at in range(tail[0][0], len(whole)):
            for flip in (1, 0x80):
                self.restore()
                garbled = bytearray(whole)
                garbled[at] ^= flip
                self.write_file(name, bytes(garbled))
                left = 9 + sum(position + size <= at for position, size in tail)
                if any(position + 12 <= at < position + 16 for position, _ in tail):
                    left = 12  # the leader epoch: its checkpoint knows better
                before = self.contents()
                log = self.reopen()
                self.check_kept(before)
                self.assertEqual(log.log_end_offset, 2 * left, at)
                if at % 37 == 0:
                    self.check_prefix(log, left)
                crash(self.store)

    def test_damage_before_the_last_segment(self) -> None:
        """After a damaged batch nothing is kept, later segments neither: the log is a prefix."""
        log = self.fill()
        self.assertGreater(len(log.segments), 3)
        name = os.path.basename(log.segments[1].path(".log"))
        data = bytearray(self.read_file(name))
        data[100] ^= 1
        self.write_file(name, bytes(data))
        kept = log.segments[1].base_offset // 2
        log = self.reopen()
        self.check_prefix(log, kept)

    def test_damage_in_a_compacted_log(self) -> None:
        """On a compacted log, too, a damaged batch ends the log."""
        compacted = attrs.evolve(SMALL, cleanup_policy=frozenset({"compact"}))
        store = self.opened(compacted)
        log = self.result(store.create(TP, uuid.uuid4(), compacted))
        for number in range(12):
            self.put(log, batch([b"%d" % number * 30], key=b"k"))
        crash(store)
        segment = log.segments[1]
        data = bytearray(self.read_file(os.path.basename(segment.path(".log"))))
        data[-1] ^= 1
        self.write_file(os.path.basename(segment.path(".log")), bytes(data))
        log, end = self.reopen(compacted), log.segments[2].base_offset - 1
        self.assertEqual(self.content(log), [(number, b"%d" % number * 30) for number in range(end)])
        self.assertEqual(log.log_end_offset, end)

    def test_damage_without_snapshots(self) -> None:
        """A damaged segment from which producers' state must be read does not keep the log from opening."""
        log = self.fill(clean=True)
        for name in names(log):
            if name.endswith(".snapshot"):
                os.unlink(self.file(name))
        name = os.path.basename(log.segments[0].path(".log"))
        self.write_file(name, b"?" * 100 + self.read_file(name)[100:])
        self.assertEqual(self.reopen().log_end_offset, 24)

    def test_short_index_is_built_anew(self) -> None:
        """An index that ends long before its log is not left so: lookups would walk through all the rest."""
        config = LogConfig()
        store = self.opened(config)
        log = self.result(store.create(TP, uuid.uuid4(), config))
        for _ in range(36):
            self.put(log, batch([b"x" * 100_000]))
        self.result(store.close())
        name = "00000000000000000000.index"
        whole = self.read_file(name)
        for index in (b"", whole[:16]):
            self.write_file(name, index)
            self.assertEqual(self.reopen(config).log_end_offset, 36)
            self.assertEqual(self.read_file(name), whole)
            self.result(self.store.close())

    def test_recovery_point(self) -> None:
        """Batches below the recovery point are not read again."""
        store = self.opened(SMALL)
        log = self.result(store.create(TP, uuid.uuid4(), SMALL))
        self.put(log, batch([b"a"]), batch([b"b"]))
        self.result(log.flush())
        self.result(store.checkpoint())
        self.put(log, batch([b"c"]))
        crash(store)
        name = "00000000000000000000.log"
        data = bytearray(self.read_file(name))
        data[65] ^= 1
        self.write_file(name, bytes(data))
        log = self.reopen()
        self.assertEqual((log.log_end_offset, log.flushed_offset), (3, 2))

    def test_indexes_damaged(self) -> None:
        """With an index missing, cut, filled with zeros or older than its log, the answers are the same."""
        for clean in (True, False):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.rmtree(self.keep, ignore_errors=True)
            log = self.fill(24, clean=clean)
            found = [name for name in names(log) if name.endswith("index")]
            for name in found:
                size = len(self.read_file(name))
                entry = 12 if name.endswith(".timeindex") else 8
                older = [self.read_file(name)[:end] for end in range(0, size, entry)]
                for damaged in (None, bytes(size), bytes(entry), b"\xff" * size, b"abc", *older):
                    self.restore()
                    if damaged is None:
                        os.unlink(self.file(name))
                    else:
                        self.write_file(name, damaged)
                    self.check_prefix(self.reopen(), 24)
                    crash(self.store)

    def test_snapshots_damaged(self) -> None:
        """Without a sound snapshot the producers' state is read from the log."""
        log = self.fill(clean=True)
        for name in names(log):
            if name.endswith(".snapshot"):
                self.write_file(name, b"\0\1nonsense and more")
        log = self.reopen()
        (again,) = self.put(log, batch([b"11" * 30, b"-"], producer=(1, 0, 22)))
        self.assertEqual(again.base_offset, 22)
        self.assertEqual(log.append(batch([b"x"], producer=(1, 0, 25)), 0, NOW_MS, True).error, 45)
        self.check_prefix(log, 12)

    def test_snapshot_of_the_deleted(self) -> None:
        """A snapshot from before records that were deleted is not believed: it lacks what they said."""
        log = self.fill()
        log.advance_log_start(24)
        bases = sorted(int(name[:20]) for name in names(log) if name.endswith(".snapshot"))
        self.assertEqual(bases[-1], 24)
        # the new segment is there, and its snapshot was not written before the crash; an old one is left
        os.rename(self.file("00000000000000000024.snapshot"), self.file("00000000000000000010.snapshot"))
        with open(self.file("00000000000000000010.snapshot"), "wb") as file:
            file.write(encode_snapshot({1: ProducerState(0, (ProducerBatch(8, 9, 8, 9),), NOW_MS)}))
        log = self.reopen()
        self.assertEqual((log.log_start_offset, log.log_end_offset), (24, 24))
        self.assertEqual(log.append(batch([b"x"], producer=(1, 0, 24)), 9, NOW_MS, True).error, 0)

    def test_snapshot_and_what_follows(self) -> None:
        """Producers' state is a snapshot and the batches after it: the last five are known after a crash."""
        self.fill()
        log = self.reopen()
        sent = batch([b"%d" % 11 * 30, b"-"], [NOW_MS + 11, NOW_MS], producer=(1, 0, 22))
        self.assertEqual(log.append(sent, 9, NOW_MS, True).base_offset, 22)

    def test_epochs_missing(self) -> None:
        """Without its checkpoint the log finds the epochs in the batches that it scans."""
        self.fill()
        os.unlink(self.file("leader-epoch-checkpoint"))
        self.check_prefix(self.reopen(), 12)

    def test_compacted_gaps(self) -> None:
        """On a compacted topic offsets may be missing between batches; recovery takes that as it is."""
        compacted = attrs.evolve(SMALL, cleanup_policy=frozenset({"compact"}), segment_bytes=10**6)
        store = self.opened(compacted)
        log = self.result(store.create(TP, uuid.uuid4(), compacted))
        for number in range(6):
            self.put(log, batch([b"%d" % number], key=b"k"))
        crash(store)
        name = "00000000000000000000.log"
        size = len(batch([b"0"], key=b"k"))
        data = self.read_file(name)
        self.write_file(name, data[:size] + data[3 * size : 4 * size] + data[5 * size :])
        log = self.reopen(compacted)
        expected = [(0, b"0"), (3, b"3"), (5, b"5")]
        self.assertEqual((self.content(log), log.log_end_offset), (expected, 6))
        self.assertEqual([self.content(log, offset) for offset in (1, 4)], [expected[1:], expected[2:]])

    def test_gap_is_damage(self) -> None:
        """A missing batch ends a log that is not compacted."""
        self.fill(config=attrs.evolve(SMALL, segment_bytes=10**6))
        name = "00000000000000000000.log"
        data = self.read_file(name)
        (length,) = struct.unpack_from(">i", data, 8)
        self.write_file(name, data[: length + 12] + data[2 * (length + 12) :])
        self.check_prefix(self.reopen(attrs.evolve(SMALL, segment_bytes=10**6)), 1)

    def test_old_age_after_restart(self) -> None:
        """A segment's age counts from its first batch, also after a restart."""
        self.fill(3, clean=True)
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000 + 3600)
        log = self.reopen()
        self.assertEqual(log.segments[-1].created_ms, NOW_MS)
