"""Cold reads: what a reader wants is brought into memory by a worker, never by the reactor thread."""

from __future__ import annotations

import os
import uuid
from typing import Any
from unittest import mock

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.segment import page_cache, time_lookup
from kafkatx.log.segment.files import INDEX, LOG, TIME_INDEX
from kafkatx.log.segment.search import Followed
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.records.conversion import iter_any
from kafkatx.testing.contracts.partition_log import ALL, NOW_MS, TP, batch, bytes_of, find_retention
from tests.log.cold import ColdFiles
from tests.log.fakes import Settings

VALUE_BYTES = 1000
PER_SEGMENT = 30
CONFIG = attrs.evolve(
    LogConfig(),
    segment_bytes=PER_SEGMENT * (VALUE_BYTES + 100),
    index_interval_bytes=2000,
    message_timestamp_after_max_ms=10**10,
)


class ColdTestCase(SynchronousTestCase):
    """A log of 100 records in several segments, of which nothing is in memory any more."""

    def setUp(self) -> None:
        """Write it, close it, open it anew, and empty the page cache."""
        self.files = ColdFiles()
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.directory = self.mktemp()
        log = self.open()
        for number in range(100):
            log.append(batch([b"%03d" % number + b"x" * VALUE_BYTES], [NOW_MS + number]), 0, NOW_MS, True)
            log.write()
        self.successResultOf(self.store.close())
        self.log = self.open()
        self.assertGreater(len(self.log.segments), 3)
        self.files.drop()

    def open(self) -> FileLog:
        """Open a store with the log."""
        self.store = FileLogStore(
            Settings(self.directory), self.files.workers, self.clock, find_retention, self.files
        )
        self.successResultOf(self.store.open(lambda topic: CONFIG))
        topic_id = uuid.UUID(int=1)
        log = self.successResultOf(self.store.create(TP, topic_id, CONFIG))
        assert isinstance(log, FileLog)
        return log

    def read(self, offset: int, max_bytes: int = 5000) -> list[int]:
        """Read as a fetch does: warm, wait, read. Gives the offsets of the whole batches."""
        waiting = self.log.warm(offset, max_bytes)
        if waiting is not None:
            self.assertNoResult(waiting)
            self.files.work()
            self.successResultOf(waiting)
        records: Any = self.log.read(offset, max_bytes, self.log.log_end_offset, True)
        self.assertTrue(self.files.is_cached(records.file, records.position, 1))
        return [record.offset for record in iter_any(memoryview(records.tobytes()))]

    def check_reactor_never_waited(self) -> None:
        """Nothing was read from the disk, nor opened, but by the worker."""
        self.assertEqual(self.files.waited, [])
        self.assertEqual(self.files.opened, [])


class WarmTests(ColdTestCase):
    def test_seek(self) -> None:
        """The reactor thread reads nothing from the disk and opens no file, at any offset."""
        for offset in (0, 1, 29, 30, 31, 57, 95, 99):
            self.assertEqual(self.read(offset)[0], offset)
        self.check_reactor_never_waited()

    def test_replay(self) -> None:
        """From the first record to the last, each record comes once and the reactor thread never waits."""
        at, found = 0, []
        while at < 100:
            offsets = self.read(at)
            found += offsets
            at = offsets[-1] + 1
            self.files.work()
        self.assertEqual(found, list(range(100)))
        self.check_reactor_never_waited()

    def test_what_is_in_memory(self) -> None:
        """A second reader does not wait for bytes and positions that were loaded for the first."""
        self.read(57)
        self.assertIn(57, self.log.segments[1].known)
        self.assertIsNone(self.log.warm(57, 5000))
        self.assertEqual(self.files.jobs, [])

    def test_position_is_looked_up_again(self) -> None:
        """A reader whose place was forgotten finds it without the worker when the index is in memory."""
        self.read(57)
        for segment in self.log.segments:
            segment.known.clear()
        self.assertIsNone(self.log.warm(57, 5000))
        self.assertEqual(self.read(57)[0], 57)
        self.check_reactor_never_waited()

    def test_tail(self) -> None:
        """A reader of what was just written never waits, nor does one at the end or outside of the log."""
        self.log.append(batch([b"new"]), 0, NOW_MS, True)
        self.log.write()
        self.files.opened.clear()
        for offset in (100, 101, 102, -1):
            self.assertIsNone(self.log.warm(offset, ALL))
        self.assertEqual(bytes_of(self.log.read(100, ALL, 101, True))[-5:-1], b"\x06new")
        self.assertEqual(self.files.jobs, [])
        self.check_reactor_never_waited()

    def test_ahead(self) -> None:
        """Reading is ahead of a reader that goes in order, by a job that it does not wait for."""
        self.patch(page_cache, "AHEAD_BYTES", 16 << 10)
        self.patch(page_cache, "_LEAST_BYTES", 1)
        self.read(0, 2200)
        (load,) = self.files.loads
        self.assertEqual(load, (0, 2200, 16 << 10))
        self.assertIsNone(self.log.warm(2, 2200))
        self.assertEqual(self.files.jobs, [])
        segment = self.log.segments[0]
        segment.followed = Followed(0, segment.size, 30)  # all of it was gone over for another reader
        self.assertIsNone(self.log.warm(10, 2200))
        self.assertEqual(self.files.work(), 1)
        position, size, ahead = self.files.loads[-1]
        self.assertEqual((size, ahead), (0, 16 << 10))
        self.assertGreater(position, 10 * VALUE_BYTES)
        self.check_reactor_never_waited()

    def test_ahead_stays_in_the_segment(self) -> None:
        """Nothing is asked for beyond a segment's end."""
        self.read(28)
        (load,) = self.files.loads
        self.assertEqual(sum(load), self.log.segments[0].size)

    def test_large_reads(self) -> None:
        """A large read waits only for its beginning."""
        self.patch(page_cache, "AT_ONCE_BYTES", 3000)
        self.patch(page_cache, "_LEAST_BYTES", 1)
        self.read(0, 10**6)
        self.assertEqual(self.files.loads[0][:2], (0, 3000))

    def test_written_lately(self) -> None:
        """Only the latest bytes that this process wrote count as being in memory."""
        self.patch(page_cache, "HOT_BYTES", 3000)
        for _ in range(10):
            self.log.append(batch([b"x" * VALUE_BYTES]), 0, NOW_MS, True)
            self.log.write()
        for offset in (101, 109):
            self.read(offset)
        self.files.drop()
        self.assertIsNone(self.log.warm(109, 10))
        self.assertIsNotNone(self.log.warm(101, 10))

    def test_gap_at_the_end(self) -> None:
        """The next segment is loaded if compaction left nothing of a segment's last offsets."""
        second = self.log.segments[1]
        first = self.log.segments[0]
        batch_bytes = first.size // second.base_offset
        first.size -= 2 * batch_bytes
        waiting = self.log.warm(second.base_offset - 1, 100)
        assert waiting is not None
        self.files.work()
        self.assertNoResult(self.log.warm(second.base_offset - 1, 100) or Deferred())
        self.files.work()
        self.assertIsNone(self.log.warm(second.base_offset - 1, 100))
        records: Any = self.log.read(second.base_offset - 1, 2000, 100, True)
        self.assertEqual(records.file.path, second.path(LOG))
        self.check_reactor_never_waited()

    def test_cancel(self) -> None:
        """A reader that goes ends its own waiting, not the loading."""
        waiting = self.log.warm(57, 5000)
        assert waiting is not None
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertEqual(len(self.files.jobs), 1)

    def test_failing_disk(self) -> None:
        """A disk that fails ends the waiting; it is the read that tells."""
        waiting = self.log.warm(57, 5000)
        assert waiting is not None
        with mock.patch.object(self.files, "load", mock.Mock(side_effect=OSError(5, "Input/output error"))):
            self.files.work()
        self.successResultOf(waiting)

    def test_segment_goes_meanwhile(self) -> None:
        """Retention that takes a segment while it is being looked into does no harm."""
        waiting = self.log.warm(0, 5000)
        assert waiting is not None
        self.log.advance_log_start(50)
        self.files.work()
        self.successResultOf(waiting)
        self.assertEqual(self.read(50)[0], 50)


class DamagedTests(ColdTestCase):
    def damage(self, suffix: str, content: bytes | None) -> None:
        """Replace one of the second segment's files."""
        path = self.log.segments[1].path(suffix)
        if content is None:
            os.unlink(path)
        else:
            with open(path, "wb") as file:
                file.write(content)

    def test_index(self) -> None:
        """An index that is missing, ragged or wrong is built anew by the worker; the answers are the same."""
        second = self.log.segments[1]
        entry = b"\0\0\0\x01\0\0\0\x07"
        for content in (None, b"???", b"", entry, bytes(80), b"\xff" * 80, entry * 10):
            self.damage(INDEX, content)
            self.files.drop()
            second.known.clear()
            second.release()
            for offset in range(second.base_offset, second.base_offset + 25, 5):
                self.assertEqual(self.read(offset)[0], offset, content)
            self.check_reactor_never_waited()

    def test_times(self) -> None:
        """A time index that is missing or ragged is built anew by the worker that needs it."""
        for content in (None, b"???"):
            self.damage(TIME_INDEX, content)
            searching = self.log.offset_for_timestamp(NOW_MS + 45)
            self.files.work()
            self.assertEqual(self.successResultOf(searching), (45, NOW_MS + 45, 0))

    def test_log(self) -> None:
        """A log that is damaged itself ends the waiting, and the read tells what is wrong."""
        size = self.log.segments[1].size
        self.damage(LOG, bytes(size))
        offset = self.log.segments[1].base_offset + 7
        waiting = self.log.warm(offset, 5000)
        assert waiting is not None
        self.files.work()
        self.successResultOf(waiting)
        self.assertRaises(CorruptRecords, self.log.read, offset, 5000, 100, True)


class TimesTests(ColdTestCase):
    def test_reactor_never_waits(self) -> None:
        """Looking a time up, or the newest record, is the worker's."""
        for number in (0, 12, 45, 99):
            searching = self.log.offset_for_timestamp(NOW_MS + number)
            self.assertNoResult(searching)
            self.files.work()
            self.assertEqual(self.successResultOf(searching), (number, NOW_MS + number, 0))
        searching = self.log.max_timestamp()
        self.files.work()
        self.assertEqual(self.successResultOf(searching), (99, NOW_MS + 99, 0))
        self.check_reactor_never_waited()

    def test_segment_goes_meanwhile(self) -> None:
        """A search passes segments that retention deletes meanwhile, and finds records in the others."""
        searching, newest = self.log.offset_for_timestamp(NOW_MS), self.log.max_timestamp()
        self.log.advance_log_start(self.log.segments[2].base_offset)
        self.files.work()
        first = self.log.segments[0].base_offset
        self.assertEqual(self.successResultOf(searching), (first, NOW_MS + first, 0))
        self.assertEqual(self.successResultOf(newest), (99, NOW_MS + 99, 0))

    def test_written_meanwhile(self) -> None:
        """Records appended during a search are not found, and do not disturb it."""
        searching = self.log.max_timestamp()
        for number in range(100, 140):
            self.log.append(batch([b"x" * VALUE_BYTES], [NOW_MS + number]), 0, NOW_MS, True)
            self.log.write()
        self.files.work()
        self.assertEqual(self.successResultOf(searching), (99, NOW_MS + 99, 0))

    def test_search_asks_between_batches(self) -> None:
        """Searches ask before each batch, or each segment, if they are still waited for."""

        def stop() -> None:
            raise CancelledError

        twins = [segment.twin() for segment in self.log.segments]
        self.assertRaises(CancelledError, time_lookup.first_at_or_after, twins, NOW_MS, 0, check=stop)
        self.assertRaises(CancelledError, time_lookup.newest, twins, 0, check=stop)


class MemoryTests(ColdTestCase):
    def test_closed_segments_are_not_loaded(self) -> None:
        """After all of the log was read, only the active segment's indexes are held."""
        at = 0
        while at < 100:
            at = self.read(at)[-1] + 1
            self.files.work()
        held = [len(segment.index.keys) for segment in self.log.segments]
        self.assertEqual(held[:-1], [0] * (len(held) - 1))
        self.assertGreater(held[-1], 0)

    def test_rolled_segments_are_let_go(self) -> None:
        """Closed segments keep their indexes in memory only if they are the last closed one."""
        for _ in range(5 * PER_SEGMENT):
            self.log.append(batch([b"x" * VALUE_BYTES]), 0, NOW_MS, True)
            self.log.write()
        held = [bool(segment.index.keys) for segment in self.log.segments]
        self.assertEqual(held[-2], True)
        self.assertNotIn(True, held[:-2])
