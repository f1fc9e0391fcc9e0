"""Tests of lost and damaged files: they are reported, and nothing that is left is destroyed."""

from __future__ import annotations

import os
import shutil
import uuid
from typing import Any

import attrs
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.checkpoint import LEADER_EPOCHS
from kafkatx.log.files import Files
from kafkatx.log.segment.files import LOG
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch
from tests.log.fakes import FailingFiles, crash, file_store
from tests.log.recovering import SMALL, RecoveryCase

LARGE = attrs.evolve(SMALL, segment_bytes=10**6)
FIRST = "00000000000000000000.log"


class LostTests(RecoveryCase, SynchronousTestCase):
    """Segments that are missing."""

    def test_cut_after_clean_shutdown(self) -> None:
        """A last segment that ends inside a batch in spite of a clean shutdown has lost what was synced."""
        log = self.fill(12, clean=True)
        name = os.path.basename(log.segments[-1].path(".log"))
        self.write_file(name, self.read_file(name)[:-1])
        self.assertIn("the log ends at offset 22, and it was on the disk up to 24", self.refused())

    def test_missing_segment(self) -> None:
        """A segment whose ``.log`` is missing, in the middle or at the end, takes the partition offline."""
        for clean in (True, False):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.rmtree(self.keep, ignore_errors=True)
            log = self.fill(clean=clean)
            self.assertGreater(len(log.segments), 3)
            for segment in log.segments[1:]:
                self.restore()
                os.unlink(segment.path(".log"))
                name = os.path.basename(segment.path(".log"))
                self.assertIn(f"{name} is missing", self.refused())
                crash(self.store)

    def test_missing_segment_and_its_indexes(self) -> None:
        """A segment that is gone with all its files is missed too, where the disk was known to have it."""
        log = self.fill(clean=True)
        for marker in (True, False):
            for segment in log.segments[1:] if marker else log.segments[1:-1]:
                self.restore()
                if not marker:
                    os.unlink(os.path.join(self.path, ".kafka_cleanshutdown"))
                segment.remove()
                self.assertIn("restore what is missing", self.refused())
                crash(self.store)

    def test_no_segment(self) -> None:
        """A directory that has lost all its segments is not filled with an empty log."""
        for clean in (True, False):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.rmtree(self.keep, ignore_errors=True)
            log = self.fill(clean=clean)
            for segment in log.segments:
                os.unlink(segment.path(".log"))
            self.assertIn("is missing", self.refused())
            crash(self.store)

    def test_gap_above_the_recovery_point(self) -> None:
        """Segments after one that a power cut left short are kept beside the log."""
        log = self.fill()
        segment = log.segments[1]
        name, last = os.path.basename(segment.path(".log")), list(segment.walk())[-1]
        self.write_file(name, self.read_file(name)[: last.position])
        before = self.contents()
        self.check_prefix(self.reopen(), last.base_offset // 2)
        self.check_kept(before)
        for later in log.segments[2:]:
            self.assertTrue(os.path.exists(later.path(".log") + ".cut-0"))


class KeptTests(RecoveryCase, SynchronousTestCase):
    """Bytes that recovery cuts off are kept, once, beside the log."""

    files: Files | None = None

    def make_store(self) -> Any:
        """A store in the test's dir."""
        return file_store(self.clock, self.path, files=self.files)

    def damage(self, number: int = 8) -> int:
        """Fill one large segment, break the batch of this number; return where it begins."""
        log = self.fill(config=LARGE)
        at: int = [one.position for one in log.segments[0].walk()][number]
        data = bytearray(self.read_file(FIRST))
        data[at + 70] ^= 1
        self.write_file(FIRST, bytes(data))
        return at

    def test_said(self) -> None:
        """One line names file, range and where it is kept; what is kept goes on when more is cut."""
        at = self.damage()
        before = self.contents()
        with capturedLogs() as events:
            log = self.reopen(LARGE)
        self.check_kept(before)
        (line,) = [event for event in events if event["log_level"] == LogLevel.warn]
        kept = self.file(f"{FIRST}.cut-{at}")
        path = self.file(FIRST)
        self.assertEqual((line["path"], line["position"], line["size"]), (path, at, len(before[FIRST])))
        self.assertIn(kept, line["where"])
        self.check_prefix(log, 8)
        crash(self.store)
        data = self.read_file(FIRST)
        self.write_file(FIRST, data[:at] + b"?" + data[at + 1 :])
        self.reopen(LARGE)
        self.assertEqual(self.read_file(f"{FIRST}.cut-{at}-2"), b"?" + data[at + 1 :])
        self.assertEqual(self.read_file(f"{FIRST}.cut-{at}"), before[FIRST][at:])

    def test_left_alone(self) -> None:
        """Kept bytes survive restarts and retention, and are removed with their topic."""
        at = self.damage()
        kept = self.file(f"{FIRST}.cut-{at}")
        config = attrs.evolve(LARGE, retention_ms=1)
        log = self.reopen(config)
        log.retain(NOW_MS * 2)
        self.clock.advance(1000)
        self.result(self.store.close())
        log = self.reopen(config)
        self.assertEqual((log.log_start_offset, log.log_end_offset), (16, 16))
        self.assertTrue(os.path.exists(kept))
        self.result(self.store.delete(TP))
        self.clock.advance(1000)
        left = [
            os.path.join(*one) for found in os.walk(self.path) for one in [(found[0], n) for n in found[2]]
        ]
        self.assertEqual([name for name in left if ".cut" in os.path.basename(name)], [])

    def test_zeros(self) -> None:
        """Zeros at the end are room that a file system made: they are cut, and not kept."""
        self.fill(config=LARGE)
        data = self.read_file(FIRST)
        self.write_file(FIRST, data + bytes(5000))
        log = self.reopen(LARGE)
        self.assertEqual(self.contents(), {FIRST: data})
        self.check_prefix(log, 12)

    def test_no_room(self) -> None:
        """Without room for the bytes nothing is cut: the partition is offline until there is room."""
        at = self.damage()
        self.files = files = FailingFiles()
        files.bytes_left = 300
        reason = self.refused(LARGE)
        self.assertIn("there is no room to keep them", reason)
        self.assertIn(f"the {len(self.read_file(FIRST)) - at} bytes from {at} on", reason)
        crash(self.store)
        files.bytes_left = None
        before = self.contents()
        self.check_prefix(self.reopen(LARGE), 8)
        self.assertTrue(any(".cut-" in name for name in self.contents()))
        self.assertEqual(list(before), [FIRST])


class EpochsTests(RecoveryCase, SynchronousTestCase):
    """``leader-epoch-checkpoint`` is never the reason to cut sound batches."""

    def check_whole(self, clean: bool, data: bytes | None) -> None:
        """With this checkpoint all is there, and the epochs are those of the batches."""
        self.restore()
        name = LEADER_EPOCHS
        if data is None:
            os.unlink(self.file(name))
        else:
            self.write_file(name, data)
        self.check_prefix(self.reopen(), 12)
        crash(self.store)
        self.assertEqual(self.read_file(name), b"0\n4\n0 0\n1 10\n2 20\n9 24\n", (clean, data))

    def test_damaged(self) -> None:
        """Missing, empty, cut, foreign or garbled: they are built anew, after a crash and after a close."""
        for clean in (True, False):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.rmtree(self.keep, ignore_errors=True)
            self.fill(clean=clean)
            sound = self.read_file(LEADER_EPOCHS)
            self.assertEqual(sound, b"0\n3\n0 0\n1 10\n2 20\n")
            foreign = (b"0\n1\n7 0\n", b"0\n2\n0 0\n3 4\n", b"0\n1\n5 1000\n", b"0\n0\n", b"\0" * 20)
            for data in (None, b"", *foreign, *(sound[:end] for end in range(len(sound)))):
                self.check_whole(clean, data)

    def test_each_bit(self) -> None:
        """Whichever bit of it flips: after a crash the epochs are right, and no batch ever goes."""
        self.fill()
        sound = self.read_file(LEADER_EPOCHS)
        for bit in range(len(sound) * 8):
            data = bytearray(sound)
            data[bit // 8] ^= 1 << bit % 8
            self.check_whole(False, bytes(data))

    def test_below_the_recovery_point(self) -> None:
        """Epochs of what is not scanned are found, too, where the checkpoint has them no more."""
        store = self.opened(SMALL)
        log = self.result(store.create(TP, uuid.uuid4(), SMALL))
        for number in range(12):
            self.put(log, batch([b"x" * 30]), leader_epoch=number // 4)
        self.result(log.flush())
        self.result(store.checkpoint())
        crash(store)
        self.write_file(LEADER_EPOCHS, b"")
        log = self.reopen()
        self.assertEqual([log.epoch_at(offset) for offset in range(12)], [n // 4 for n in range(12)])
        self.assertEqual(log.log_end_offset, 12)

    def test_of_the_deleted(self) -> None:
        """The epochs of what was deleted are not built anew."""
        log = self.fill()
        log.advance_log_start(11)
        crash(self.store_of(log))
        os.unlink(self.file(LEADER_EPOCHS))
        log = self.reopen()
        self.assertEqual(log.end_offset_for_epoch(1), (1, 20))
        self.assertEqual(log._epochs.cache.entries[0][1], log.log_start_offset)

    def store_of(self, log: Any) -> Any:
        """A store to crash: what the log wrote is on the disk."""
        return file_store(self.clock, self.mktemp())


class StrayTests(RecoveryCase, SynchronousTestCase):
    """Files among the segments that are no segments."""

    def check_passed_over(self, name: str, make: Any) -> None:
        """The log is as it was, with one line that names the stray, which stays; clean or not."""
        for clean in (True, False):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.rmtree(self.keep, ignore_errors=True)
            self.fill(clean=clean)
            make(self.file(name))
            with capturedLogs() as events:
                log = self.reopen()
            said = [event for event in events if event.get("path") == self.file(name)]
            self.assertEqual([event["log_level"] for event in said], [LogLevel.warn], name)
            self.check_prefix(log, 12)
            self.assertTrue(os.path.lexists(self.file(name)))
            crash(self.store)

    def test_beyond_all_offsets(self) -> None:
        """A number that is no offset."""
        for number in (10**20 - 1, 2**63):
            for data in (b"", b"x" * 100):
                self.check_passed_over(f"{number:020d}.log", lambda path, data=data: self.write(path, data))

    def write(self, path: str, data: bytes) -> None:
        """Make a file."""
        with open(path, "wb") as file:
            file.write(data)

    def test_empty(self) -> None:
        """A file without a byte in the middle."""
        self.check_passed_over("00000000000000000003.log", lambda path: self.write(path, b""))

    def test_empty_beyond_the_end(self) -> None:
        """A file without a byte beyond the end: the log ended elsewhere, and goes on there."""
        for number in (25, 2**63 - 1):
            name = f"{number:020d}.log"
            self.restore_to(clean=True)
            self.write(self.file(name), b"")
            self.check_prefix(self.reopen(), 12)
            self.assertTrue(os.path.exists(self.file(name)))
            crash(self.store)
            self.restore_to(clean=False)
            self.write(self.file(name), b"")
            self.check_prefix(self.reopen(), 12)
            crash(self.store)

    def restore_to(self, clean: bool) -> None:
        """Fill a log anew."""
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.keep, ignore_errors=True)
        self.fill(clean=clean)

    def test_no_files(self) -> None:
        """A directory, a link to a file elsewhere, a pipe."""
        target = self.mktemp()
        self.write(target, b"precious")
        for name in ("00000000000000000003.log", "00000000000000000099.log"):
            self.check_passed_over(name, os.mkdir)
            self.check_passed_over(name, lambda path: os.symlink(os.path.abspath(target), path))
            self.check_passed_over(name, os.mkfifo)
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"precious")

    def test_in_the_place_of_a_segment(self) -> None:
        """A link where a segment was is not followed: the segment is missing."""
        log = self.fill()
        path = log.segments[1].path(LOG)
        os.rename(path, path + ".elsewhere")
        os.symlink(path + ".elsewhere", path)
        self.refused()

    def test_with_data(self) -> None:
        """A segment of another log that follows nothing: offline after a close, kept aside after a crash."""
        name = "00000000000000000500.log"
        self.restore_to(clean=True)
        self.write(self.file(name), b"x" * 100)
        self.assertIn(name, self.refused())
        crash(self.store)
        self.restore_to(clean=False)
        self.write(self.file(name), b"x" * 100)
        self.check_prefix(self.reopen(), 12)
        self.assertEqual(self.read_file(f"{name}.cut-0"), b"x" * 100)
