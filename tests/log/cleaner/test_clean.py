"""Whole passes from files to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.clean import clean
from kafkatx.log.cleaner.offset_map import ENTRY_BYTES
from kafkatx.log.cleaner.passes import CleaningAborted, Finished, Pass, Source
from kafkatx.log.files import Files
from kafkatx.log.recovery.tail_check import sound_tail
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.segment.segment import LogSegment
from kafkatx.log.segment.swap import Cleaned, suffix_of
from kafkatx.records.batch import Record
from kafkatx.records.conversion import iter_any
from kafkatx.records.legacy.message_sets import build
from tests.log.cleaner.logs import EAGER, Pair, keyed
from tests.log.cleaner.test_retained import placed
from tests.log.fakes import QuickFiles

NOW = 10_000_000_000
RETENTION = 1000


class CountingFiles(QuickFiles):
    """Notes what was synced."""

    def __init__(self) -> None:
        self.synced: list[str] = []

    def sync(self, file: Any) -> None:
        """Note the name."""
        self.synced.append(os.path.basename(file.path))

    def sync_dir(self, path: str) -> None:
        """Note the name."""
        self.synced.append(os.path.basename(path))


class CleanTests(SynchronousTestCase):
    """A pass over segments that the test has written."""

    def setUp(self) -> None:
        """Make a directory."""
        self.files = CountingFiles()
        self.directory = self.mktemp()
        os.mkdir(self.directory)
        self.sources: list[Source] = []
        self.end = 0

    def segment(self, *batches: Sequence[Pair], magic: int = 2, modified_ms: int = NOW) -> None:
        """Write a closed segment."""
        segment = LogSegment.create(self.files, self.directory, self.end, 0)
        for pairs in batches:
            data: bytes | bytearray
            if magic == 2:
                data = placed(keyed(pairs, timestamps=[NOW] * len(pairs)), self.end)
            else:
                records = [Record(self.end + n, -1, key, value, []) for n, (key, value) in enumerate(pairs)]
                data = build(records, magic)
            self.end += len(pairs)
            segment.write(
                [data], [BatchInfo(len(data), self.end - len(pairs), self.end - 1, NOW)], len(data), 10
            )
        segment.finish()
        self.sources.append(Source(segment.base_offset, segment.size))
        self.files.set_mtime_ms(os.path.join(self.directory, f"{segment.base_offset:020d}.log"), modified_ms)

    def run_pass(self, first_dirty_offset: int = 0, **changes: Any) -> tuple[list[Cleaned], Finished]:
        """Run a pass."""
        fields: dict[str, Any] = {
            "name": "p",
            "directory": self.directory,
            "sources": tuple(self.sources),
            "first_dirty_offset": first_dirty_offset,
            "end_offset": self.end,
            "now_ms": NOW,
            "delete_retention_ms": RETENTION,
            "memory_bytes": 1 << 20,
            "load_factor": 1.0,
            "segment_bytes": 10_000,
            "segment_index_bytes": 1 << 20,
            "index_interval_bytes": 100,
            "last_offsets": {},
        }
        alive = changes.pop("alive", lambda: None)
        *cleaned, finished = clean(self.files, Pass(**{**fields, **changes}), alive)
        assert isinstance(finished, Finished)
        return [one for one in cleaned if isinstance(one, Cleaned)], finished

    def content(self, cleaned: Cleaned) -> list[tuple[int, bytes | None]]:
        """Return offsets and values of a new segment's records."""
        path = os.path.join(self.directory, f"{cleaned.base_offset:020d}.log{suffix_of('p')}")
        with open(path, "rb") as file:
            data = file.read()
        self.assertEqual(len(data), cleaned.size)
        return [(record.offset, record.value) for record in iter_any(data)]

    def test_last_of_each_key(self) -> None:
        """The last record of each key is retained, in one new segment; the old segments stay."""
        self.segment([(b"a", b"1"), (b"b", b"2")], [(b"a", b"3")])
        self.segment([(b"c", b"4")], [(b"a", b"5")])
        before = {name: self.read(name) for name in os.listdir(self.directory)}
        (cleaned,), finished = self.run_pass()
        self.assertEqual(self.content(cleaned), [(1, b"2"), (3, b"4"), (4, b"5")])
        self.assertEqual((cleaned.base_offset, cleaned.replaces), (0, (0, 3)))
        self.assertEqual((finished.end_offset, finished.bytes_kept), (5, cleaned.size))
        self.assertEqual(finished.bytes_read, sum(source.size for source in self.sources))
        for name, data in before.items():
            self.assertEqual(self.read(name), data)

    def read(self, name: str) -> bytes:
        """Return the content of a file in the directory."""
        with open(os.path.join(self.directory, name), "rb") as file:
            return file.read()

    def test_clean_part(self) -> None:
        """Keys in the clean part are not compared with each other, but with the dirty part."""
        self.segment([(b"a", b"1"), (b"a", b"2"), (b"b", b"3")])
        self.segment([(b"b", b"4")])
        (cleaned,), _ = self.run_pass(first_dirty_offset=3)
        self.assertEqual(self.content(cleaned), [(0, b"1"), (1, b"2"), (3, b"4")])

    def test_groups(self) -> None:
        """Segments are merged while the next one fits: in bytes, in the index, in offsets."""
        for number in range(6):
            self.segment([(b"%d" % number, b"x" * 50)])
        size = self.sources[0].size
        for limit, groups in (
            ({"segment_bytes": size}, [1] * 6),
            ({"segment_bytes": 2 * size}, [2, 2, 2]),
            ({"segment_bytes": 5 * size}, [5, 1]),
            ({"segment_index_bytes": 35, "index_interval_bytes": 60}, [1] * 6),
        ):
            cleaned, _ = self.run_pass(**limit)
            self.assertEqual([len(one.replaces) for one in cleaned], groups, limit)
        self.end = 2**31
        self.segment([(b"far", b"x")])
        cleaned, _ = self.run_pass()
        self.assertEqual([len(one.replaces) for one in cleaned], [6, 1])

    def test_empty_outcome(self) -> None:
        """A segment that loses all records becomes an empty one, which keeps the base offset."""
        self.segment([(b"a", b"1")])
        self.segment([(b"a", b"2" * 50)])
        cleaned, _ = self.run_pass(segment_bytes=100)
        self.assertEqual([(one.base_offset, one.size > 0) for one in cleaned], [(0, False), (1, True)])
        self.assertEqual(cleaned[0].max_timestamp, -1)

    def test_map_too_small(self) -> None:
        """A pass with memory for few keys ends at the end of a batch, and the next one continues there."""
        self.segment(*[[(b"%d" % number, b"x"), (b"k", b"%d" % number)] for number in range(5)])
        (cleaned,), finished = self.run_pass(memory_bytes=5 * ENTRY_BYTES)
        self.assertEqual(finished.end_offset, 6)
        kept = [offset for offset, _ in self.content(cleaned)]
        self.assertEqual(kept, [0, 2, 4, 5, 6, 7, 8, 9])
        (cleaned,), finished = self.run_pass(first_dirty_offset=6)
        self.assertEqual(finished.end_offset, 10)

    def test_always_goes_on(self) -> None:
        """At least one batch is cleaned, however small the memory."""
        self.segment([(b"a", b"1"), (b"a", b"2")], [(b"b", b"3")])
        _, finished = self.run_pass(memory_bytes=1)
        self.assertEqual(finished.end_offset, 2)

    def test_nothing_but_gaps(self) -> None:
        """A dirty part without records is skipped."""
        self.segment()
        self.end += 10
        _, finished = self.run_pass()
        self.assertEqual(finished.end_offset, 10)

    def test_indexes(self) -> None:
        """The new segment has both indexes, as a segment should, and the time of the last old file."""
        for number in range(4):
            keys = [b"%d-%d" % (number, n) for n in range(6)]
            self.segment(*([(key, b"x" * 80)] for key in keys), modified_ms=NOW + number * 1000)
        (cleaned,), _ = self.run_pass()
        for kind in (".log", ".index", ".timeindex"):
            path = os.path.join(self.directory, f"{0:020d}{kind}")
            os.replace(path + suffix_of("p"), path)
        segment = LogSegment(self.files, self.directory, 0, cleaned.size, 0)
        self.assertIsNotNone(sound_tail(segment, EAGER))
        segment.make_ready()
        self.assertGreater(len(segment.index), 5)
        self.assertEqual(cleaned.max_timestamp, NOW)
        self.assertEqual(Files().mtime_ms(segment.path(".log")), NOW + 3000)

    def test_synced(self) -> None:
        """All three files and the directory are synced before a new segment is reported."""
        self.segment([(b"a", b"1")])
        self.files.synced.clear()
        self.run_pass()
        names = [name.split(".", 1)[-1] for name in self.files.synced]
        self.assertEqual(sorted(names[:3]), ["index.p.cleaned", "log.p.cleaned", "timeindex.p.cleaned"])
        self.assertEqual(names[3:], [os.path.basename(self.directory)])

    def test_damage(self) -> None:
        """A damaged batch ends the pass with its position; no record is dropped silently."""
        self.segment([(b"a", b"1")], [(b"b", b"2")])
        first = len(keyed([(b"a", b"1")]))
        path = os.path.join(self.directory, f"{0:020d}.log")
        for at in (first + 69, first + 16, first + 3):
            data = bytearray(self.read(os.path.basename(path)))
            data[at] ^= 0xFF
            with open(path, "wb") as file:
                file.write(data)
            with self.assertRaisesRegex(CorruptRecords, rf"00\.log at {first}: "):
                self.run_pass()
            data[at] ^= 0xFF
            with open(path, "wb") as file:
                file.write(data)
        self.run_pass()

    def test_abandoned(self) -> None:
        """A pass that is cancelled ends."""
        self.segment([(b"a", b"1")])

        def unwanted() -> None:
            raise CleaningAborted("enough")

        self.assertRaises(CleaningAborted, self.run_pass, alive=unwanted)

    def test_old_tombstones(self) -> None:
        """Tombstones of magic 1 are removed by the age of their segment before that of the last clean one."""
        for age_ms, offsets in ((RETENTION, [2, 3]), (RETENTION - 1, [0, 2, 3])):
            self.setUp()
            self.segment([(b"a", None)], [(b"b", b"1")], magic=1, modified_ms=NOW - age_ms)
            self.segment([(b"c", b"2")], magic=1, modified_ms=NOW)
            self.segment([(b"b", b"3")], magic=1, modified_ms=NOW + 9)
            cleaned, _ = self.run_pass(first_dirty_offset=3)
            self.assertEqual([offset for offset, _ in self.content(cleaned[0])], offsets)

    def test_old_tombstones_at_first(self) -> None:
        """No tombstone of magic 1 is removed without a clean part."""
        self.segment([(b"a", None)], magic=1, modified_ms=1)
        cleaned, _ = self.run_pass()
        self.assertEqual([offset for offset, _ in self.content(cleaned[0])], [0])
