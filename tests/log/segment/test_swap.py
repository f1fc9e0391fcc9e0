"""A crash after every file operation of a pass and of its swaps."""

from __future__ import annotations

import os
import shutil
import uuid
from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Buffers, Files
from kafkatx.log.segment import swap
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.segment.swap import Cleaned
from kafkatx.testing.contracts.partition_log import NOW_MS, TP
from kafkatx.types import SharedFile
from tests.log.cleaner.logs import EAGER, Pair, cleaning_store, keyed, last_values, records_of
from tests.log.fakes import QuickFiles, crash

FEW_KEYS = attrs.evolve(EAGER, segment_bytes=400)


class Died(BaseException):
    """The process is dead."""


class MortalFiles(QuickFiles):
    """The real file system of a process that dies before a change of it, or in the middle of a write."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    def _change(self) -> None:
        if self.left <= 0:
            raise Died
        self.left -= 1

    def create(self, path: str) -> SharedFile:
        """Create, or die."""
        self._change()
        return super().create(path)

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write, or write half and die."""
        if self.left <= 0:
            half = b"".join(bytes(buffer) for buffer in buffers)[: size // 2]
            os.pwrite(file.fileno(), half, position)
        self._change()
        super().writev(file, buffers, position, size)

    def truncate(self, file: SharedFile, size: int) -> None:
        """Cut, or die."""
        self._change()
        super().truncate(file, size)

    def rename(self, old: str, new: str) -> None:
        """Rename, or die."""
        self._change()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        """Unlink, or die."""
        self._change()
        super().unlink(path)

    def set_mtime_ms(self, path: str, mtime_ms: int) -> None:
        """Set the time, or die."""
        self._change()
        super().set_mtime_ms(path, mtime_ms)


class CrashTests(SynchronousTestCase):
    """Recovery after a process died during compaction."""

    def setUp(self) -> None:
        """A log with several segments to be cleaned, whose tombstones have had their time; and a copy."""
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.path, self.keep = self.mktemp(), self.mktemp()
        log = self.open(QuickFiles(), create=True)
        self.sequence = 0
        for number in range(9):
            self.put(log, [(b"a%d" % (number % 2), b"%d" % number), (b"b%d" % (number % 4), None)])
        log.roll_if_due(NOW_MS + 10**12)
        self.assertTrue(self.successResultOf(self.store.clean(NOW_MS)))
        for number in range(9, 24):
            self.put(log, [(b"a%d" % (number % 2), b"%d" % number), (b"c%d" % number, b"once")])
        log.roll_if_due(NOW_MS + 10**12)
        self.put(log, [(b"active", b"last")])
        self.expected = last_values(log)
        self.before = self.segments()
        self.successResultOf(self.store.close())
        self.clock.advance(10)
        shutil.copytree(self.path, self.keep)

    def put(self, log: Any, pairs: list[Pair]) -> None:
        """Append a batch of an idempotent producer."""
        sent = keyed(pairs, producer=(5, 0, self.sequence))
        self.assertEqual(log.append(sent, 0, NOW_MS, True).error, 0)
        log.write()
        self.sequence += len(pairs)
        self.last = sent

    def open(self, files: Files, create: bool = False) -> Any:
        """The log in a new store."""
        self.store = cleaning_store(self.clock, self.path, files)
        self.successResultOf(self.store.open(lambda topic: FEW_KEYS))
        if create:
            self.successResultOf(self.store.create(TP, uuid.uuid4(), FEW_KEYS))
        return self.store.logs[TP]

    def restore(self) -> None:
        """Put the files back as they were."""
        shutil.rmtree(self.path)
        shutil.copytree(self.keep, self.path)

    def segments(self) -> dict[str, bytes]:
        """The contents of the ``.log`` files by name."""
        found = {}
        directory = os.path.join(self.path, str(TP))
        for name in os.listdir(directory):
            if name.endswith(".log"):
                with open(os.path.join(directory, name), "rb") as file:
                    found[name] = file.read()
        return found

    def leftovers(self) -> list[str]:
        """Names of files that no log has in the end."""
        names = os.listdir(os.path.join(self.path, str(TP)))
        logs = {name[:20] for name in names if name.endswith(".log")}
        return [
            name
            for name in names
            if name.endswith((".swap", ".cleaned", ".tmp", ".deleted"))
            or (name.endswith("index") and name[:20] not in logs)
        ]

    def clean_all(self) -> None:
        """Make passes until nothing is to be done."""
        while self.successResultOf(self.store.clean(int(self.clock.seconds() * 1000))):
            pass

    def test_after_every_change(self) -> None:
        """Each segment is the old or the new one if the process dies; every last value is there."""
        self.open(QuickFiles())
        self.clean_all()
        after = self.segments()
        self.assertLess(len(after), len(self.before))
        crash(self.store)
        deaths = 0
        while True:
            self.restore()
            log = self.open(QuickFiles())
            # The store's own files are quick ones up to here; from now on each change may be the last.
            mortal = MortalFiles(deaths)
            self.be(mortal, log)
            cleaning = self.store.clean(int(self.clock.seconds() * 1000))
            if not hasattr(cleaning.result, "check") or not cleaning.result.check(Died):
                break
            self.failureResultOf(cleaning, Died)
            crash(self.store)
            self.check(after)
            deaths += 1
        self.assertTrue(self.successResultOf(cleaning))
        self.assertGreater(deaths, 30)
        crash(self.store)

    def be(self, files: Files, log: Any) -> None:
        """Make the log and the cleaner use other files."""
        log._location.files = files
        for segment in log.segments:
            segment._files = files
        self.store._files = files

    def check(self, after: dict[str, bytes]) -> None:
        """Open the log, look at it, let it be cleaned to the end."""
        log = self.open(QuickFiles())
        self.assertEqual(self.leftovers(), [])
        for name, content in self.segments().items():
            self.assertIn(content, (self.before.get(name), after.get(name)), name)
        self.assertEqual(last_values(log), self.expected)
        for segment in log.segments:
            self.check_index(segment)
        offsets = [offset for offset, _, _ in records_of(log)]
        self.assertEqual(offsets, sorted(set(offsets)))
        again = log.append(self.last, 0, NOW_MS, True)
        self.assertEqual((again.error, again.base_offset), (0, log.log_end_offset - 1))
        self.clean_all()
        self.assertEqual(self.segments(), after)
        self.assertEqual(last_values(log), self.expected)
        crash(self.store)

    def check_index(self, segment: Any) -> None:
        """Every entry of a segment's index is one of its batches."""
        segment.make_ready()
        batches = {(batch.last_offset - segment.base_offset, batch.position) for batch in segment.walk()}
        entries = set(zip(segment.index.keys, segment.index.values, strict=True))
        self.assertLessEqual(entries, batches)


class RecoverTests(SynchronousTestCase):
    """Single states that a crash, or Apache Kafka's, may leave."""

    def setUp(self) -> None:
        """An empty directory."""
        self.directory = self.mktemp()
        os.mkdir(self.directory)

    def write(self, name: str, data: bytes = b"") -> None:
        """Make a file."""
        with open(os.path.join(self.directory, name), "wb") as file:
            file.write(data)

    def recovered(self) -> list[str]:
        """The names that are there afterwards."""
        swap.recover(QuickFiles(), self.directory, sorted(os.listdir(self.directory)))
        return sorted(os.listdir(self.directory))

    def test_nothing_to_do(self) -> None:
        """A directory without leftovers is not touched, an index without its log neither."""
        self.write("00000000000000000000.index")
        self.assertFalse(swap.recover(QuickFiles(), self.directory, os.listdir(self.directory)))
        self.assertEqual(os.listdir(self.directory), ["00000000000000000000.index"])

    def test_indexes_alone(self) -> None:
        """Indexes that were renamed before their log was are dropped, the old segment stays."""
        self.write("00000000000000000000.log", b"old")
        self.write("00000000000000000000.index", b"old")
        self.write("00000000000000000000.index.swap", b"new")
        self.write("00000000000000000000.log.0a.cleaned", b"new")
        self.assertEqual(self.recovered(), ["00000000000000000000.index", "00000000000000000000.log"])

    def test_range(self) -> None:
        """Old segments within the new one's range go, those beyond it stay."""
        data = keyed([(b"k", b"v")] * 12)
        self.write("00000000000000000000.log.swap", data)
        for base_offset in (0, 5, 11, 12):
            self.write(f"{base_offset:020d}.log", b"old")
            self.write(f"{base_offset:020d}.index")
        names = self.recovered()
        self.assertEqual([name for name in names if name.endswith(".log")][1:], [f"{12:020d}.log"])
        self.assertNotIn(f"{5:020d}.index", names)
        with open(os.path.join(self.directory, f"{0:020d}.log"), "rb") as file:
            self.assertEqual(file.read(), data)

    def test_orphans(self) -> None:
        """An index whose log was put aside before the crash goes, too."""
        self.write("00000000000000000000.log.swap")
        self.write("00000000000000000009.timeindex")
        self.assertEqual(self.recovered(), ["00000000000000000000.log"])

    def test_damaged_swap(self) -> None:
        """A new segment that the disk has damaged does not replace an old one."""
        self.write("00000000000000000000.log.swap", b"\xff" * 100)
        self.write("00000000000000000000.log", b"old")
        self.assertEqual(self.recovered(), ["00000000000000000000.log"])

    def test_order(self) -> None:
        """The log's own renames are the last of their step: what has its log has its indexes."""
        renames: list[str] = []

        class Spy(QuickFiles):
            """Notes renames."""

            def rename(self, old: str, new: str) -> None:
                """Note it."""
                renames.append(os.path.basename(new)[20:])
                super().rename(old, new)

        for kind in ("log", "index", "timeindex"):
            self.write(f"{0:020d}.{kind}.aa.cleaned")
            self.write(f"{0:020d}.{kind}")
        cleaned = Cleaned(0, (0,), 0, -1, 0)
        swap.begin(Spy(), self.directory, cleaned, "aa")
        self.assertEqual(renames, [".index.swap", ".timeindex.swap", ".log.swap"])
        renames.clear()
        swap.finish(Spy(), self.directory, cleaned, [LogSegment(Spy(), self.directory, 0, 0, 0)])
        self.assertEqual(
            renames,
            [".log.deleted", ".index.deleted", ".timeindex.deleted", ".index", ".timeindex", ".log"],
        )

    def test_discard(self) -> None:
        """Only the files of the pass are removed; a directory that is gone is no error."""
        cleaned = Cleaned(0, (0,), 0, -1, 0)
        self.write("00000000000000000000.log.aa.cleaned")
        self.write("00000000000000000000.log.bb.cleaned")
        swap.discard(QuickFiles(), self.directory, "aa")
        self.assertEqual(os.listdir(self.directory), ["00000000000000000000.log.bb.cleaned"])
        swap.discard(QuickFiles(), self.directory + "-gone", "aa")
        self.assertRaises(OSError, swap.begin, QuickFiles(), self.directory, cleaned, "aa")
