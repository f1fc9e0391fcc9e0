"""Tests of kafkatx.log.recovery.tail_check: does the end of a segment fit its indexes?"""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.recovery.tail_check import Tail, sound_tail, tail_of
from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.segment.segment import LogSegment
from kafkatx.testing.contracts.partition_log import NOW_MS
from tests.log.segments import make_segment, stored

CONFIG = LogConfig(index_interval_bytes=0)
BATCHES = [stored([b"x", b"y"], offset, [NOW_MS + offset, NOW_MS]) for offset in range(10, 18, 2)]


class TailCheckTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a closed segment of four batches, with an index entry for each but the first."""
        self.directory = self.mktemp()
        made = make_segment(self.directory, *BATCHES, base_offset=10)
        made.finish()
        self.segment = self.opened()

    def opened(self) -> LogSegment:
        """The segment as a start finds it."""
        path = os.path.join(self.directory, f"{10:020d}.log")
        segment = LogSegment(Files(), self.directory, 10, os.path.getsize(path), NOW_MS)
        segment.sparse_below = 0
        return segment

    def change(self, suffix: str, at: int, data: bytes) -> None:
        """Write bytes into a file of the segment; a negative position is from the end."""
        with open(self.segment.path(suffix), "r+b") as file:
            file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
            file.write(data)

    def cut(self, suffix: str, size: int) -> None:
        """Cut bytes off the end of a file of the segment."""
        path = self.segment.path(suffix)
        os.truncate(path, os.path.getsize(path) - size)

    def tail(self) -> Tail | None:
        """The end of the segment, by a fresh look."""
        self.segment = self.opened()
        return sound_tail(self.segment, CONFIG)

    def test_sound(self) -> None:
        """The end is known, and so is the newest timestamp."""
        tail = self.tail()
        assert tail is not None and tail.last is not None
        self.assertEqual((tail.next_offset, tail.last.base_offset), (18, 16))
        self.assertEqual(self.segment.max_timestamp, NOW_MS + 16)

    def test_empty(self) -> None:
        """An empty segment ends where it begins."""
        segment = make_segment(self.mktemp(), base_offset=5)
        self.assertEqual(sound_tail(segment, CONFIG), Tail(5, None))

    def test_offset_index(self) -> None:
        """An entry beyond the log, or one that names another offset, is not sound."""
        self.change(".index", -4, (1 << 20).to_bytes(4, "big"))
        self.assertIsNone(self.tail())
        self.change(".index", -8, (6).to_bytes(4, "big") + (3 * len(BATCHES[0])).to_bytes(4, "big"))
        self.assertIsNone(self.tail())

    def test_pieces(self) -> None:
        """An index that is missing, or ends inside an entry, is damaged."""
        self.cut(".index", 3)
        self.assertRaises(IndexDamaged, self.tail)
        os.unlink(self.segment.path(".index"))
        self.assertRaises(IndexDamaged, self.tail)

    def test_short_index(self) -> None:
        """An index that is much older than its log is not sound."""
        self.cut(".index", 24)
        config = LogConfig(index_interval_bytes=0, max_message_bytes=1)
        self.assertIsNotNone(sound_tail(self.opened(), config))
        large = stored([bytes(3 << 20)], 18)
        with open(self.segment.path(".log"), "ab") as file:
            file.write(large)
        self.assertIsNone(sound_tail(self.opened(), config))

    def test_time_index(self) -> None:
        """A time index whose last entry is not the newest batch is not sound."""
        self.change(".timeindex", -12, (NOW_MS + 15).to_bytes(8, "big"))
        self.assertIsNone(self.tail())

    def test_damaged_log(self) -> None:
        """Damage behind the last entry is an error."""
        self.cut(".log", 5)
        self.assertRaises(CorruptRecords, self.tail)
        self.assertRaises(CorruptRecords, tail_of, self.opened())

    def test_tail_of(self) -> None:
        """The end is found from the last index entry, whatever the time index says."""
        os.unlink(self.segment.path(".timeindex"))
        self.assertEqual(tail_of(self.opened()).next_offset, 18)
