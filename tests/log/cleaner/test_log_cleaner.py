"""The cleaner's rounds in a store: the choice of a log, results of passes, and concurrent changes."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.checkpoint import CLEANED_OFFSETS, decode_offsets
from kafkatx.log.cleaner.clean import clean
from kafkatx.log.cleaner.log_cleaner import RETRY_MS
from kafkatx.log.cleaner.passes import Finished, Pass
from kafkatx.log.cleaner.plan import cleanable, plan
from kafkatx.log.files import Files
from kafkatx.log.segment.swap import Cleaned
from kafkatx.testing.contracts.partition_log import NOW_MS, TP
from kafkatx.types import TopicPartition
from tests.log.cleaner.logs import EAGER, cleaning_store, keyed, last_values, records_of
from tests.log.fakes import crash

OTHER = TopicPartition("other", 0)
HUNDRED = attrs.evolve(EAGER, segment_bytes=100)

Step = Cleaned | Finished


class CleanerTests(SynchronousTestCase):
    """A store that cleans in steps."""

    def setUp(self) -> None:
        """Open a store; ``between`` is called between a pass's steps."""
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.path = self.mktemp()
        self.between: Callable[[], None] = lambda: None
        self.passes: list[Pass] = []
        self.store = self.open()
        self.addCleanup(lambda: self.successResultOf(self.store.close()))

    def open(self) -> Any:
        """Open another store on the same files."""
        store = cleaning_store(self.clock, self.path)
        store._cleaner._run_pass = self.run_pass
        self.successResultOf(store.open(lambda topic: HUNDRED))
        return store

    def run_pass(self, files: Files, job: Pass, alive: Callable[[], None]) -> Iterator[Step]:
        """Run ``clean``."""
        self.passes.append(job)
        for step in clean(files, job, alive):
            self.between()
            yield step

    def log(self, name: TopicPartition = TP, count: int = 6, **settings: Any) -> Any:
        """Make a log of *count* segments of a record each, all of one key, and an active one."""
        config = attrs.evolve(HUNDRED, **settings)
        log = self.successResultOf(self.store.create(name, uuid.uuid4(), config))
        for number in range(count):
            log.append(keyed([(b"k", b"%d" % number * 30)]), 0, NOW_MS, True)
            log.write()
        log.roll_if_due(NOW_MS + 10**12)
        return log

    def clean(self, now_ms: int = NOW_MS) -> bool:
        """Run one round."""
        found: bool = self.successResultOf(self.store.clean(now_ms))
        return found

    def names(self, *endings: str) -> list[str]:
        """Return files with these endings in the log's directory."""
        return sorted(name for name in os.listdir(os.path.join(self.path, str(TP))) if name.endswith(endings))

    def test_cleaned(self) -> None:
        """A dirty log is cleaned, its size follows, and a second round has nothing to do."""
        log = self.log()
        before = log.size_bytes
        self.assertTrue(self.clean())
        self.assertEqual(records_of(log), [(5, b"k", b"5" * 30)])
        self.assertEqual(log.first_dirty_offset, 6)
        self.assertEqual(log.size_bytes, sum(segment.size for segment in log.segments))
        self.assertLess(log.size_bytes, before / 3)
        self.assertFalse(self.clean())

    def test_checkpoint(self) -> None:
        """The clean offset is in Kafka's checkpoint, and is known after a restart and after a crash."""
        self.log()
        self.assertTrue(self.clean())
        with open(os.path.join(self.path, CLEANED_OFFSETS), "rb") as file:
            self.assertEqual(decode_offsets(file.read()), {TP: 6})
        crash(self.store)
        self.store = self.open()
        self.assertEqual(self.store.logs[TP].first_dirty_offset, 6)
        self.assertFalse(self.clean())

    def test_gaps_after_the_policy_has_changed(self) -> None:
        """A log that is no longer compacted keeps its gaps through a recovery."""
        log = self.log()
        log.append(keyed([(b"a", b"x"), (b"b", b"y")]), 0, NOW_MS, True)
        log.write()
        expected = [(5, b"k", b"5" * 30), (6, b"a", b"x"), (7, b"b", b"y")]
        self.assertTrue(self.clean())
        crash(self.store)
        store = cleaning_store(self.clock, self.path)
        config = attrs.evolve(HUNDRED, cleanup_policy=frozenset({"delete"}))
        self.successResultOf(store.open(lambda topic: config))
        self.store = store
        self.assertEqual(records_of(store.logs[TP]), expected)

    def test_old_files_go_later(self) -> None:
        """The old files are renamed at once and unlinked after file.delete.delay.ms."""
        log = self.log()
        old = log.read(0, 10**6, 6, True)
        content = old.tobytes()
        self.assertTrue(self.clean())
        self.assertIn(f"{5:020d}.log.deleted", self.names(".deleted"))
        self.assertEqual(old.tobytes(), content)
        self.clock.advance(log.config.file_delete_delay_ms / 1000)
        self.assertEqual(self.names(".deleted"), [])
        self.assertEqual(old.tobytes(), content)
        self.assertEqual(records_of(log), [(5, b"k", b"5" * 30)])

    def test_snapshots(self) -> None:
        """The producer snapshots of replaced segments go: their transactions may have lost markers."""
        log = self.log()
        log.advance_log_start(1)
        self.assertEqual(len(self.names(".snapshot")), 6)
        self.assertTrue(self.clean())
        self.assertEqual(self.names(".snapshot"), [f"{6:020d}.snapshot"])

    def test_dirtiest_first(self) -> None:
        """The log with the largest dirty part is cleaned first, the others later."""
        self.log()
        self.assertTrue(self.clean())
        log = self.store.logs[TP]
        log.append(keyed([(b"k", b"x")]), 0, NOW_MS, True)
        log.write()
        log.roll_if_due(NOW_MS + 10**13)
        self.log(OTHER)
        self.assertTrue(self.clean())
        self.assertTrue(self.clean())
        self.assertFalse(self.clean())
        names = [os.path.basename(job.directory) for job in self.passes]
        self.assertEqual(names, [str(TP), str(OTHER), str(TP)])

    def test_not_compacted(self) -> None:
        """A log without cleanup.policy=compact is left alone, and so is one that is clean enough."""
        self.log(cleanup_policy=frozenset({"delete"}))
        self.log(OTHER, min_cleanable_dirty_ratio=1.0)
        self.assertFalse(self.clean())

    def test_unflushed_after_a_crash(self) -> None:
        """Segments that recovery has left unsynced are synced before they are cleaned."""
        self.log()
        crash(self.store)
        self.store = self.open()
        self.store.logs[TP]._syncer.flushed_offset = 0
        self.assertTrue(self.clean())
        self.assertEqual(self.store.logs[TP].flushed_offset, 6)

    def test_appends_meanwhile(self) -> None:
        """Records that are appended during a pass are there afterwards, and dirty."""
        log = self.log()

        def append() -> None:
            log.append(keyed([(b"k", b"new")]), 0, NOW_MS, True)
            log.write()

        self.between = append
        self.assertTrue(self.clean())
        self.assertEqual(last_values(log), {b"k": b"new"})
        self.assertEqual(log.first_dirty_offset, 6)

    def refused(self) -> None:
        """Run a round whose pass is refused; check that nothing of it is left."""
        self.assertFalse(self.clean())
        self.assertEqual(self.names(".cleaned", ".swap"), [])

    def test_cut_meanwhile(self) -> None:
        """The result of a pass over a log that was truncated is refused."""
        log = self.log()
        self.between = lambda: log.truncate_to(3)
        self.refused()
        self.assertEqual([offset for offset, _, _ in records_of(log)], [0, 1, 2])
        self.between = lambda: None
        self.assertTrue(self.clean())
        self.assertEqual([offset for offset, _, _ in records_of(log)], [2])  # the active segment is empty

    def test_not_committed(self) -> None:
        """Records from the high watermark on are not compacted: they may be truncated."""
        log = self.log()
        log.deletable_end = 3
        self.assertTrue(self.clean())
        self.assertEqual([offset for offset, _, _ in records_of(log)], [2, 3, 4, 5])
        self.assertEqual(log.first_dirty_offset, 3)

    def test_retained_meanwhile(self) -> None:
        """The result of a pass is refused if segments that it read are gone; the next one is accepted."""
        log = self.log()
        self.between = lambda: log.advance_log_start(2)
        self.refused()
        self.assertEqual(log.first_dirty_offset, 0)
        self.assertTrue(self.clean())
        self.assertEqual(records_of(log), [(5, b"k", b"5" * 30)])

    def test_other_records_meanwhile(self) -> None:
        """Segments that were truncated and written again are not replaced by the result of a pass."""
        log = self.log()

        def write_anew() -> None:
            log.truncate_to(3)
            for _ in range(3):
                log.append(keyed([(b"other", b"x" * 30)]), 0, NOW_MS, True)
                log.write()
            log.roll_if_due(NOW_MS + 10**13)

        self.between = write_anew
        self.refused()
        self.assertEqual(last_values(log), {b"k": b"2" * 30, b"other": b"x" * 30})

    def test_groups_and_retention(self) -> None:
        """Segments that the pass has not read are never replaced, however many of those before are gone."""
        log = self.log()
        for number in range(6):
            log.append(keyed([(b"%d" % number, b"x" * 30)]), 0, NOW_MS, True)
            log.write()
        self.between = lambda: log.advance_log_start(2)
        self.refused()
        self.assertEqual([offset for offset, _, _ in records_of(log)], list(range(2, 12)))

    def test_deleted_meanwhile(self) -> None:
        """A topic can be deleted while it is cleaned."""
        self.log()
        self.between = lambda: self.successResultOf(self.store.delete(TP)) and None
        self.assertFalse(self.clean())
        self.assertEqual([name for name in os.listdir(self.path) if name == str(TP)], [])

    def test_created_again_meanwhile(self) -> None:
        """The result of a pass never gets into another topic of the same name."""
        self.log()

        def again() -> None:
            self.between = lambda: None
            self.successResultOf(self.store.delete(TP))
            self.log(count=2)

        self.between = again
        self.refused()
        self.assertEqual([offset for offset, _, _ in records_of(self.store.logs[TP])], [0, 1])

    def test_damage(self) -> None:
        """A damaged log is reported, left as it is, and tried again later; others are cleaned."""
        log = self.log()
        path = os.path.join(self.path, str(TP), f"{2:020d}.log")
        with open(path, "r+b") as file:
            file.seek(30)
            file.write(b"\xff")
        self.assertFalse(self.clean())
        self.assertEqual(len(log.segments), 7)
        self.log(OTHER)
        self.assertTrue(self.clean())
        self.assertFalse(self.clean(NOW_MS + RETRY_MS - 1))
        self.assertEqual(len(self.passes), 2)
        self.assertFalse(self.clean(NOW_MS + RETRY_MS))
        self.assertEqual(len(self.passes), 3)

    def test_rename_fails(self) -> None:
        """The old segments stay if the new files cannot replace them."""
        log = self.log()

        def take_away() -> None:
            for name in self.names(".cleaned"):
                os.unlink(os.path.join(self.path, str(TP), name))

        self.between = take_away
        self.assertFalse(self.clean())
        self.assertEqual(len(records_of(log)), 6)

    def test_our_bug(self) -> None:
        """The cleaner and the broker go on after any error in a pass."""
        log = self.log()

        def fail() -> None:
            raise ZeroDivisionError("ours")

        self.between = fail
        self.refused()
        self.assertEqual(len(records_of(log)), 6)

    def test_close_ends_a_pass(self) -> None:
        """A close of the store cancels the pass, and the log is as it was."""
        self.log()
        closing: list[Deferred[None]] = []
        self.between = lambda: closing.append(self.store.close())
        self.assertFalse(self.clean())
        self.successResultOf(closing[0])
        self.store = self.open()
        self.assertEqual(len(records_of(self.store.logs[TP])), 6)
        self.assertEqual(self.names(".cleaned"), [])

    def test_compact_and_delete(self) -> None:
        """With cleanup.policy=compact,delete a compacted log loses its old segments, too."""
        log = self.log(cleanup_policy=frozenset({"compact", "delete"}), retention_ms=5000)
        self.assertTrue(self.clean())
        self.assertEqual(len(records_of(log)), 1)
        self.assertEqual(log.retain(NOW_MS + 5001), 1)
        self.assertEqual((records_of(log), log.log_start_offset), ([], 6))
        self.assertFalse(self.clean())

    def test_other_memory(self) -> None:
        """log.cleaner.dedupe.buffer.size may change while the broker runs: the next pass uses it."""
        self.log()
        self.assertTrue(self.clean())
        self.store.reconfigure(BrokerConfig.load(None, {"log.cleaner.dedupe.buffer.size": "1234"}))
        memory = self.store._cleaner._cleaner.memory
        self.assertEqual((memory.memory_bytes, memory.load_factor), (1234, 0.9))

    def test_error_names_the_file(self) -> None:
        """The cleaner's errors are ours, with file and position."""
        log = self.log()
        found = cleanable(log.segments, log.first_dirty_offset, log.flushed_offset, log.config, NOW_MS)
        job = plan(log, found, self.store._cleaner._make_cleaner().memory, "x", NOW_MS)
        broken = attrs.evolve(job, sources=(attrs.evolve(job.sources[0], size=10**6), *job.sources[1:]))
        with self.assertRaisesRegex(CorruptRecords, str(TP)):
            list(clean(self.store._files, broken, lambda: None))
