"""Every bit of a log's files flips, one at a time: readers get what is right or an error; nothing is lost.

What a reader gets is judged as a client does: checksums are checked, offsets below the one that was asked for
are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords, PartitionUnavailable
from kafkatx.log.checkpoint import LEADER_EPOCHS
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.recovery.loader import load
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.records.conversion import iter_any
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch, find_retention
from tests.log.fakes import QuickFiles

CONFIG = LogConfig(segment_bytes=450, index_interval_bytes=100)
BATCHES = 15
END = 2 * BATCHES
PARTS = 1 if os.environ.get("KAFKATX_ATTACK") == "full" else 3
"""The short form flips every third bit, but in the offset indexes."""
UNCOVERED = range(17)
"""Base offset, length, leader epoch and magic: what no checksum covers."""
HEADER = range(17, 61)
STEP_MS = 10


class FlipTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of three segments, as a clean shutdown leaves it."""
        self.files = QuickFiles()
        self.directory = os.path.abspath(self.mktemp())
        os.mkdir(self.directory)
        log = self.open(True, 0)
        for number in range(BATCHES):
            times = [NOW_MS + STEP_MS * 2 * number, NOW_MS + STEP_MS * (2 * number + 1)]
            log.append(
                batch([b"%d" % (2 * number), b"%d" % (2 * number + 1)], times), number // 4, NOW_MS, True
            )
            log.write()
        self.positions = {
            os.path.basename(segment.path(".log")): [one.position for one in segment.walk()]
            for segment in log.segments
        }
        self.assertEqual(len(self.positions), 3)
        log.close(set())()
        self.sound = self.contents()
        sizes = [len(data) for name, data in self.sound.items() if name.endswith(".index")]
        self.assertGreater(min(sizes), 8)

    def contents(self) -> dict[str, bytes]:
        """Return all files."""
        found = {}
        for name in os.listdir(self.directory):
            with open(os.path.join(self.directory, name), "rb") as file:
                found[name] = file.read()
        return found

    def write(self, name: str, data: bytes) -> None:
        """Replace a file."""
        with open(os.path.join(self.directory, name), "wb") as file:
            file.write(data)

    def restore(self) -> None:
        """Undo the changes of a start."""
        for name, data in self.contents().items():
            if name not in self.sound:
                os.unlink(os.path.join(self.directory, name))
            elif data != self.sound[name]:
                self.write(name, self.sound[name])
        for name in self.sound.keys() - set(os.listdir(self.directory)):
            self.write(name, self.sound[name])

    def open(self, clean: bool, recovery_point: int) -> FileLog:
        """Open the log as a store does."""
        loaded = load(self.files, self.directory, CONFIG, NOW_MS, clean, 0, recovery_point)
        log = FileLog(TP, CONFIG, find_retention, self.directory, loaded, self.files, execute, Clock())
        log.attach(execute, Descriptors(100), lambda log: None)
        return log

    def flipped(self, name: str, places: range | list[int], part: int = 0, parts: int = 1) -> Iterator[str]:
        """Flip the bits of these bytes of a file: each, or one of several parts of them."""
        sound = self.sound[name]
        for number, at in enumerate(places):
            for bit in range(8):
                if (8 * number + bit) % parts != part % parts:
                    continue
                data = bytearray(sound)
                data[at] ^= 1 << bit
                self.restore()
                self.write(name, bytes(data))
                self.before = dict(self.sound, **{name: bytes(data)})
                yield f"{name}: bit {bit} of byte {at}"

    # --- what is checked

    def check(self, what: str) -> None:
        """Check answers and bytes after a clean start and after a crash."""
        state = self.contents()
        for clean, point in ((True, END), (False, 0)):
            try:
                log = self.open(clean, point)
            except PartitionUnavailable:
                self.check_bytes(what)
                continue
            self.check_bytes(what)
            self.assertLessEqual(log.log_end_offset, END, what)
            self.check_reads(log, f"{what}, clean={clean}")
            self.check_times(log, f"{what}, clean={clean}")
            if clean:
                for name, data in state.items():
                    self.write(name, data)

    def check_bytes(self, what: str) -> None:
        """Check that every byte of every ``.log`` is in it, or was kept beside it."""
        found = self.contents()
        for name, data in self.before.items():
            if name.endswith(".log"):
                cuts = [other for other in found if other.startswith(f"{name}.cut-")]
                whole = found.get(name, b"") + b"".join(found[cut] for cut in cuts)
                self.assertEqual(whole, data, what)

    def fetched(self, log: FileLog, offset: int, max_bytes: int) -> list[tuple[int, bytes | None]] | None:
        """Return a client's answer to a fetch; None for an error."""
        try:
            log.warm(offset, max_bytes)
            records: Any = log.read(offset, max_bytes, log.log_end_offset, True)
            data = memoryview(records if isinstance(records, bytes) else records.tobytes())
            return [(one.offset, one.value) for one in iter_any(data) if one.offset >= offset]
        except CorruptRecords:
            return None

    def check_reads(self, log: FileLog, what: str) -> None:
        """Read from every offset on, then from first to last in small parts."""
        end = log.log_end_offset
        for offset in (*range(0, end, 2), *range(end - 1, -1, -2)):
            found = self.fetched(log, offset, 200)
            if found is not None:
                expected = [(one, b"%d" % one) for one in range(offset, offset + len(found))]
                self.assertEqual(found, expected, f"{what}, from {offset}")
                self.assertTrue(found, f"{what}, from {offset}")
        offset = 0
        while offset < end:
            found = self.fetched(log, offset, 1)
            if found is None:
                break
            self.assertEqual(found, [(one, b"%d" % one) for one in range(offset, offset + len(found))], what)
            offset += len(found)

    def check_times(self, log: FileLog, what: str) -> None:
        """Look for the time of every record, and for the newest."""
        end = log.log_end_offset
        for offset in range(end):
            found = self.answer(log.offset_for_timestamp(NOW_MS + STEP_MS * offset - offset % 2))
            if found is not CorruptRecords:
                assert found is not None, f"{what}, {offset}"
                self.assertEqual(found[:2], (offset, NOW_MS + STEP_MS * offset), what)
        found = self.answer(log.max_timestamp())
        if found is not CorruptRecords and end:
            assert found is not None, what
            self.assertEqual(found[:2], (end - 1, NOW_MS + STEP_MS * (end - 1)), what)

    def answer(self, search: Deferred[Any]) -> Any:
        """Return the result, or the class of the error."""
        answers: list[Any] = []
        search.addCallbacks(answers.append, lambda failure: answers.append(failure.trap(CorruptRecords)))
        return answers[0]

    # --- the files

    def test_sound(self) -> None:
        """Nothing has flipped: all is there, without an error."""
        for clean, point in ((True, END), (False, 0), (False, END)):
            log = self.open(clean, point)
            self.assertEqual(log.log_end_offset, END)
            self.assertEqual([self.fetched(log, offset, 1) is None for offset in range(END)], [False] * END)
            self.assertEqual(self.answer(log.max_timestamp())[0], END - 1)

    def test_indexes(self) -> None:
        """Positions and offsets in ``.index``: no reader is refused."""
        for name, data in self.sound.items():
            if name.endswith(".index"):
                for what in self.flipped(name, range(len(data))):
                    self.check(what)
                    log = self.open(True, END)
                    self.assertEqual([o for o in range(END) if self.fetched(log, o, 200) is None], [], what)

    def test_time_indexes(self) -> None:
        """Times and offsets in ``.timeindex``."""
        for name, data in self.sound.items():
            if name.endswith(".timeindex"):
                for what in self.flipped(name, range(len(data)), 0, PARTS):
                    self.check(what)

    def test_epochs(self) -> None:
        """Every bit of ``leader-epoch-checkpoint``; all is read."""
        for what in self.flipped(LEADER_EPOCHS, range(len(self.sound[LEADER_EPOCHS])), 0, PARTS):
            self.check(what)
            self.assertEqual(self.open(True, END).log_end_offset, END, what)

    def test_uncovered(self) -> None:
        """The fields of every batch that no checksum covers."""
        for name, positions in self.positions.items():
            for number, position in enumerate(positions):
                for what in self.flipped(name, [position + at for at in UNCOVERED], number, PARTS):
                    self.check(what)

    def test_header(self) -> None:
        """All other fields of one batch's header."""
        name, positions = list(self.positions.items())[1]
        for what in self.flipped(name, [positions[1] + at for at in HEADER], 0, PARTS):
            self.check(what)

    def test_rebuilt(self) -> None:
        """An index that has lied is built anew by the worker, with one line."""
        name = min(name for name in self.sound if name.endswith(".index"))
        data = bytearray(self.sound[name])
        data[12] ^= 0x40  # the position of the second entry
        log = self.open(True, END)
        self.write(name, bytes(data))
        offset = int.from_bytes(data[8:12], "big")
        with capturedLogs() as events:
            found = self.fetched(log, offset, 200)
        self.assertTrue(found)
        self.assertEqual(self.contents()[name], b"")  # it gets an entry per 4096 bytes
        (line,) = [event for event in events if event["log_level"] >= LogLevel.warn]
        self.assertEqual(line["path"], os.path.join(self.directory, name))

    def test_base_offset(self) -> None:
        """A batch with a wrong base offset is refused, which is said once; what is around it is served."""
        name = min(self.positions)
        data = bytearray(self.sound[name])
        data[self.positions[name][2] + 7] ^= 8  # the batch of offsets 4 and 5
        self.write(name, bytes(data))
        log = self.open(True, END)
        with capturedLogs() as events:
            refused = [offset for offset in range(END) if self.fetched(log, offset, 1) is None]
            self.assertEqual(refused, [4, 5])
            self.assertIsNone(self.fetched(log, 4, 1))
        self.assertEqual(len([one for one in events if one["log_level"] >= LogLevel.error]), 1)
