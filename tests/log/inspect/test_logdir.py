"""Tests of the checks: every fault is found where it is, and nothing else is called one."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
from typing import Any

from kafkatx.log.checkpoint import encode_offsets
from kafkatx.log.inspect.faults import Remedy
from kafkatx.log.inspect.logdir import Check
from kafkatx.log.inspect.paths import NotALog
from kafkatx.log.segment.scan import walk
from kafkatx.records.builder import build_values
from kafkatx.records.checksum import crc32c
from kafkatx.records.header import ATTRIBUTES_AT, BASE_OFFSET_AT, CRC_AT
from kafkatx.testing.contracts.partition_log import TP
from kafkatx.types import SharedFile
from tests.log.fakes import QuickFiles
from tests.log.inspect.shared import FIRST, LAST, LogCase


class SoundTests(LogCase):
    def test_clean(self) -> None:
        """A log that was closed is sound, and everything in it is counted."""
        self.fill()
        check = Check(self.files, self.path, deep=True)
        gone_over: list[float] = []
        self.assertEqual(list(check.faults(gone_over.append)), [])
        sound = check.tally.sound
        self.assertEqual((check.partitions, check.tally.segments), (1, 3))
        self.assertEqual((sound.batches, sound.records), (10, 20))
        self.assertEqual(sound.bytes, sum(gone_over))
        self.assertEqual(check.size(), sum(gone_over))

    def test_crashed(self) -> None:
        """After a crash the last segment's time index lacks its last entry: no fault."""
        self.fill(clean=False)
        self.assertEqual(self.faults(), [])

    def test_empty(self) -> None:
        """A log without a record is sound."""
        self.fill(count=0)
        self.assertEqual(self.faults(), [])

    def test_parts(self) -> None:
        """A partition and each of its files can be checked alone."""
        self.fill()
        names = os.listdir(self.directory)
        for path in (self.directory, *(os.path.join(self.directory, name) for name in names)):
            self.assertEqual(self.faults(path), [], path)

    def test_no_log(self) -> None:
        """A path that is not part of a log is an error."""
        os.makedirs(self.path)
        self.assertRaises(NotALog, self.faults)
        path = os.path.join(self.path, "notes.txt")
        with open(path, "w"):
            pass
        self.assertRaises(NotALog, self.faults, path)


class DamageTests(LogCase):
    def spans(self, name: str) -> list[tuple[int, int]]:
        """Return first byte and end of the batches in a file."""
        file = self.files.open(self.file(name), os.O_RDONLY)
        size = os.path.getsize(self.file(name))
        return [(one.position, one.position + one.size) for one in walk(self.files, file, 0, size)]

    def test_every_byte_of_a_log(self) -> None:
        """Whichever byte of a segment in the middle is flipped, the first fault is its batch."""
        self.fill()
        name = "00000000000000000008.log"
        sound = self.read(name)
        for start, end in self.spans(name):
            for position in range(start, end):
                self.spoil(name, position)
                first = self.faults()[0]
                self.assertEqual((first.path, first.position), (self.file(name), start), position)
                epoch = "leader epoch" in first.problem
                self.assertIs(first.remedy, Remedy.EPOCHS if epoch else Remedy.CUT)
                self.write(name, sound)

    def test_every_byte_of_the_indexes(self) -> None:
        """Whichever byte of an index is changed so that an entry is no more true, the index is named."""
        self.fill()
        for suffix in ("index", "timeindex"):
            name = FIRST.replace("log", suffix)
            sound = self.read(name)
            self.assertTrue(sound)
            for position in range(len(sound)):
                # With bit 0 a time's offset is still one of the same batch, and so still true.
                for mask in (0x01, 0x02, 0xFF) if suffix == "index" else (0x02, 0xFF):
                    self.spoil(name, position, mask)
                    found = self.faults()
                    self.assertEqual([fault.path for fault in found], [self.file(name)], position)
                    self.assertIs(found[0].remedy, Remedy.REINDEX)
                    self.write(name, sound)

    def test_index_of_another_length(self) -> None:
        """An index that is missing, cut within an entry, or points beyond its log is a fault."""
        self.fill()
        name = LAST.replace("log", "index")
        sound = self.read(name)
        for data in (sound[:-1], sound + struct.pack(">II", 100, 100_000)):
            self.write(name, data)
            self.assertEqual([fault.path for fault in self.faults()], [self.file(name)])
        os.unlink(self.file(name))
        self.assertEqual([fault.problem for fault in self.faults()], ["the file is missing"])

    def test_time_index_cut(self) -> None:
        """A closed segment's time index without its last entry is a fault."""
        self.fill()
        name = FIRST.replace("log", "timeindex")
        self.write(name, self.read(name)[:-12])
        self.assertIn("not the segment's newest", self.faults()[0].problem)

    def test_every_byte_of_a_snapshot(self) -> None:
        """Whichever byte of a producer snapshot is flipped, it is a fault."""
        self.fill()
        name = "00000000000000000008.snapshot"
        sound = self.read(name)
        for position in range(len(sound)):
            self.spoil(name, position)
            self.assertEqual([(f.path, f.remedy) for f in self.faults()], [(self.file(name), Remedy.REMOVE)])
            self.write(name, sound)

    def test_leader_epochs(self) -> None:
        """Epochs that do not rise, begin elsewhere than the batches say, or after the end, are faults."""
        self.fill()
        name = "leader-epoch-checkpoint"
        sound = self.read(name)
        self.assertEqual(sound, b"0\n4\n0 0\n1 6\n2 12\n3 18\n")
        for data, problem in (
            (b"0\n2\n1 0\n0 6\n", "0 6 follows 1 0"),
            (b"0\n9\n0 0\n", "cannot be read"),
            (sound.replace(b"1 6", b"1 7"), "leader epoch 1 at offsets 6 to 7"),
            (sound.replace(b"2 12", b"2 11"), "leader epoch 1 at offsets 10 to 11"),
            (sound.replace(b"\n4\n", b"\n5\n") + b"4 21\n", "epoch 4 begins at offset 21"),
        ):
            self.write(name, data)
            found = [fault.problem for fault in self.faults()]
            self.assertTrue(any(problem in one for one in found), (data, found))
        os.unlink(self.file(name))
        self.assertEqual(self.faults(), [])

    def test_missing_segment(self) -> None:
        """After a missing segment the next one has a wrong first offset, unless the log is compacted."""
        self.fill()
        os.unlink(self.file("00000000000000000008.log"))
        fault, *indexes = self.faults()
        self.assertEqual((fault.path, fault.position), (self.file(LAST), 0))
        self.assertIn("offsets 8 to 15 are missing", fault.problem)
        self.assertEqual({fault.problem for fault in indexes}, {"00000000000000000008.log is missing"})
        self.assertEqual(self.faults(compacted=True), indexes)
        for fault in indexes:
            os.unlink(fault.path)
        self.assertEqual(self.faults(compacted=True), [])

    def test_cleaned(self) -> None:
        """Below what the cleaner's checkpoint says offsets may have gaps, above it not."""
        self.fill()
        for kind in ("log", "index", "timeindex"):
            os.unlink(self.file(f"00000000000000000008.{kind}"))
        for offset, faults in ((16, 0), (15, 1)):
            with open(os.path.join(self.path, "cleaner-offset-checkpoint"), "wb") as file:
                file.write(encode_offsets({TP: offset}))
            self.assertEqual(len(self.faults()), faults)

    def test_internal_topic(self) -> None:
        """Committed offsets are compacted: gaps are right, also in a follower's log, never cleaned here."""
        self.fill()
        for kind in ("log", "index", "timeindex"):
            os.unlink(self.file(f"00000000000000000008.{kind}"))
        self.assertEqual(len(self.faults()), 1)
        directory = os.path.dirname(self.file(LAST))
        os.rename(directory, os.path.join(os.path.dirname(directory), "__consumer_offsets-0"))
        self.assertEqual(self.faults(), [])

    def test_twice(self) -> None:
        """A batch that comes again is a fault at its second place."""
        self.fill()
        data = self.read(LAST)
        self.write(LAST, data + data)
        fault = self.faults()[0]
        self.assertEqual(fault.position, len(data))
        self.assertIn("offset 16 comes where 20 was expected", fault.problem)

    def test_checkpoints(self) -> None:
        """A checkpoint that cannot be read, or says more than the log has, is a fault."""
        self.fill()
        for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
            for data, problem in ((encode_offsets({TP: 21}), "whose log ends at 20"), (b"0\n1\n", "read")):
                sound = self.read(name)
                self.write(name, data)
                (fault,) = self.faults()
                self.assertEqual(fault.path, self.file(name))
                self.assertIn(problem, fault.problem)
                self.write(name, sound)

    def test_records(self) -> None:
        """Records that cannot be decoded under a right checksum are found by the deep check alone."""
        self.fill()
        data = bytearray(build_values([b"aaaa"], 1, base_offset=20, leader_epoch=3))
        data[-7] ^= 0xFF
        data[CRC_AT:ATTRIBUTES_AT] = crc(data).to_bytes(4, "big")
        self.write(LAST, self.read(LAST) + data)
        self.assertNotIn("decoded", str(self.faults()))
        self.assertIn("cannot be decoded", str(self.faults(deep=True)[0]))


def crc(batch: bytes | bytearray) -> int:
    """Return the checksum that a batch should have."""
    return crc32c(bytes(batch[ATTRIBUTES_AT:]))


class Replacing(QuickFiles):
    """Puts a copy in the place of a file when it is opened."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, path: str, *arguments: Any) -> SharedFile:
        """Open the old file."""
        file = super().open(path, *arguments)
        if path == self.path:
            shutil.copy(path, path + ".new")
            os.replace(path + ".new", path)
        return file


class InUseTests(LogCase):
    """A broker has the log dir; here it is the test that holds the lock."""

    def setUp(self) -> None:
        """A log of ten batches and the lock of its dir."""
        super().setUp()
        self.fill(clean=False)
        self.lock = self.files.open(os.path.join(self.path, ".lock"))
        fcntl.flock(self.lock.fileno(), fcntl.LOCK_EX)

    def test_held(self) -> None:
        """The check says who has the dir, and only as long as it has it."""
        self.assertEqual(Check(self.files, self.directory).held_by, str(os.getpid()))
        fcntl.flock(self.lock.fileno(), fcntl.LOCK_UN)
        self.assertIsNone(Check(self.files, self.directory).held_by)

    def test_tail_is_growing(self) -> None:
        """A file that ends within its last batch is being written: a note, not a fault."""
        data = self.read(LAST)
        last = build_values([b"new"], 1, base_offset=20, leader_epoch=3)
        for end in range(1, len(last)):
            self.write(LAST, data + last[:end])
            check = Check(self.files, self.path)
            self.assertEqual(list(check.faults()), [], end)
            self.assertIn("being written", check.notes[0])
        fcntl.flock(self.lock.fileno(), fcntl.LOCK_UN)
        self.assertEqual(len(self.faults()), 1)

    def test_index_is_ahead(self) -> None:
        """The indexes may have entries of what was written since the log was read; Kafka's end in zeros."""
        for suffix, entry in (("index", struct.pack(">II", 20, 10_000)), ("timeindex", b"\x7f" * 12)):
            name = LAST.replace("log", suffix)
            self.write(name, self.read(name) + entry + bytes(240))
        self.assertEqual(self.faults(), [])

    def test_replaced(self) -> None:
        """A problem in a segment that a broker replaces meanwhile is not a fault."""
        self.spoil(FIRST, 300)
        self.assertEqual(len(self.faults()), 1)
        self.files = Replacing(self.file(FIRST))
        check = Check(self.files, self.path)
        self.assertEqual(list(check.faults()), [])
        self.assertIn("was replaced", check.notes[0])

    def test_went(self) -> None:
        """A segment that retention takes away before it is looked at is no fault."""
        check = Check(self.files, self.path)
        faults = check.partition(self.directory)
        os.unlink(self.file(FIRST))
        self.assertEqual(list(faults.faults()), [])
        self.assertIn("went before", faults.notes[0])

    def test_damage(self) -> None:
        """Damage before the tail is a fault all the same, and so is one in a closed segment."""
        self.spoil(LAST, BASE_OFFSET_AT + 100)
        self.spoil(FIRST.replace("log", "index"), 7)
        self.assertEqual(
            [fault.path for fault in self.faults()],
            [self.file(FIRST.replace("log", "index")), self.file(LAST)],
        )
