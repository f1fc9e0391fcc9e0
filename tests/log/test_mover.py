"""Logs that move to another dir while they are written: nothing is lost, also by a crash at any step."""

from __future__ import annotations

import errno
import os
import random
import re
import uuid

from twisted.internet.defer import Deferred, execute
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import Worker
from kafkatx.log import mover, relocation
from kafkatx.log.relocation import MOVED_FROM, settle
from kafkatx.log.store import FileLogStore
from kafkatx.testing.contracts.partition_log import NOW_MS, StoreCase, batch, find_retention
from kafkatx.types import SharedFile, TopicPartition
from tests.broker.running import Held
from tests.log.fakes import Settings, crash
from tests.log.test_place import BadFiles

T0 = TopicPartition("t", 0)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100, file_delete_delay_ms=1000, retention_ms=-1)


class MovingFiles(BadFiles):
    """Files that may fail, and that know which paths were synced."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []

    def sync(self, file: SharedFile) -> None:
        """Note it, or fail."""
        super().sync(file)
        self.synced.append(file.path)

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read or fail."""
        self._check("read", file.path)
        return super().pread(file, size, position)


class MoverCase(StoreCase, SynchronousTestCase):
    """A store with two dirs, and one log that is in the first. What copies works when the test says so."""

    def setUp(self) -> None:
        """Make the store and the log."""
        super().setUp()
        self.dirs = [os.path.abspath(self.mktemp()) for _ in range(2)]
        self.files = MovingFiles()
        self.copying = Held()
        self.numbers = iter(range(1_000_000))
        self.written: list[bytes] = []
        self.store = self.reopened()
        self.topic_id = uuid.uuid4()
        self.log = self.result(self.store.create(T0, self.topic_id, SMALL))
        self.assertEqual(self.place(), self.dirs[0])

    def make_store(self) -> FileLogStore:
        """A store in the two dirs."""

        def workers(name: str) -> Worker:
            return self.copying(name) if name == "relocation" else execute

        return FileLogStore(Settings(*self.dirs), workers, self.clock, find_retention, self.files)

    def reopened(self) -> FileLogStore:
        """A store that is open."""
        self.copying.holding = False
        store = self.make_store()
        self.result(store.open(lambda topic: SMALL))
        self.copying.holding = True
        self.addCleanup(crash, store)
        return store

    def restart(self) -> None:
        """What kill -9 and another start do."""
        crash(self.store)
        self.store = self.reopened()
        self.log = self.store.logs[T0]

    def place(self) -> str:
        """The dir that the log is in, by what the store says."""
        (found,) = (place.path for place in self.store.dirs if T0 in place.logs)
        return found

    def write(self, count: int = 1) -> None:
        """Append some batches of two records."""
        for _ in range(count):
            values = [b"%d" % next(self.numbers) for _ in range(2)]
            self.put(self.log, batch(values))
            self.written += values

    def move(self, to: int = 1) -> None:
        """Begin to move the log."""
        self.store.relocate(T0, self.dirs[to])

    def finish(self, steps: int = 10_000) -> None:
        """Let the copying come to its end."""
        self.copying.work(steps)

    def check_content(self) -> None:
        """The log has all that was written, at the offsets at which it was, and tells the same sizes."""
        start = self.log.log_start_offset
        self.assertEqual(self.log.log_end_offset, len(self.written))
        self.assertEqual(self.content(self.log), list(enumerate(self.written))[start:])
        for offset in range(start, len(self.written), 5):
            self.assertEqual(self.content(self.log, offset)[0], (offset, self.written[offset]))
        self.assertEqual(self.log.size_bytes, sum(segment.size for segment in self.log.segments))

    def listed(self, number: int) -> list[str]:
        """The directories in a log dir, ids left out."""
        path = self.dirs[number]
        names = [name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name))]
        return sorted(re.sub(r"\.[0-9a-f]{32}", "", name) for name in names)


class MoverTests(MoverCase):
    def test_moved(self) -> None:
        """A log goes on in its new dir, as the same object; the old directory is removed after a while."""
        self.write(20)
        log = self.log
        self.move()
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.assertIs(self.store.logs[T0], log)
        self.assertEqual((self.listed(0), self.listed(1)), (["t-0-delete"], ["t-0"]))
        self.check_content()
        self.write(20)
        self.check_content()
        self.clock.advance(1.1)
        self.assertEqual(self.listed(0), [])
        self.assertFalse(os.path.exists(os.path.join(self.dirs[1], "t-0", MOVED_FROM)))
        self.restart()
        self.assertEqual(self.place(), self.dirs[1])
        self.assertEqual(self.store.topic_id(T0), self.topic_id)
        self.check_content()

    def test_clean_restart(self) -> None:
        """After a clean shutdown it is found where it was moved to."""
        self.write(20)
        self.move()
        self.finish()
        self.write(3)
        self.result(self.store.close())
        self.store = self.reopened()
        self.log = self.store.logs[T0]
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()

    def test_empty(self) -> None:
        """An empty log moves, too."""
        self.move()
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.write(2)
        self.restart()
        self.check_content()

    def test_quiet_since_the_start(self) -> None:
        """So does one that nobody has written to since the broker started."""
        self.write(10)
        self.restart()
        self.move()
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.write(1)
        self.check_content()
        self.restart()
        self.check_content()

    def test_there_and_back(self) -> None:
        """A log may move back to where it was, again and again."""
        for number in (1, 0, 1, 0):
            self.write(5)
            self.move(number)
            self.finish()
            self.assertEqual(self.place(), self.dirs[number])
            self.clock.advance(1.1)
            self.restart()
            self.check_content()

    def test_written_meanwhile(self) -> None:
        """What is written between any two steps of the copying is in the new dir."""
        self.write(20)
        self.move()
        for _ in range(200):
            self.copying.work(1)
            if self.place() == self.dirs[0]:
                self.write(1)
        self.finish()
        self.clock.advance(mover.RETRY_S)  # it may have grown too fast
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()
        self.restart()
        self.check_content()

    def test_reader_goes_on(self) -> None:
        """A slice that a reader was given stays readable after the files have moved and gone."""
        self.write(5)
        slices = self.log.read(0, 1 << 20, self.log.log_end_offset, True)
        expected = slices.tobytes()
        self.move()
        self.finish()
        self.clock.advance(1.1)
        self.assertEqual(slices.tobytes(), expected)

    def test_told(self) -> None:
        """While it is on its way the other dir tells how much was copied and what is missing."""
        self.write(20)
        incoming = self.store.dirs[1].incoming
        self.move()
        self.assertEqual((incoming[T0].size_bytes, incoming[T0].offset_lag), (0, 40))
        self.finish()
        self.assertEqual(incoming, {})

    def test_log_start(self) -> None:
        """Deleted records do not come back by a move, not even after a crash."""
        self.write(20)
        self.log.advance_log_start(7)
        self.result(self.store.checkpoint_log_start(T0))
        self.move()
        self.finish()
        self.restart()
        self.assertEqual(self.log.log_start_offset, 7)
        self.check_content()

    def test_compacted(self) -> None:
        """Nor is it forgotten what was compacted: recovery takes gaps for damage elsewhere."""
        self.write(20)
        self.log.first_dirty_offset = 8
        self.move()
        self.finish()
        self.restart()
        self.assertEqual(self.log.first_dirty_offset, 8)

    def test_truncated_meanwhile(self) -> None:
        """A log that is cut while it is copied is copied anew."""
        self.write(20)
        self.move()
        self.copying.work(12)
        self.log.truncate_to(12)
        del self.written[self.log.log_end_offset :]
        self.write(3)
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()
        self.restart()
        self.check_content()

    def test_two_logs(self) -> None:
        """Two logs move one after the other."""
        other = TopicPartition("t", 2)
        self.result(self.store.create(TopicPartition("t", 1), uuid.uuid4(), SMALL))
        log = self.result(self.store.create(other, uuid.uuid4(), SMALL))
        self.put(log, batch([b"x"]))
        self.write(3)
        self.move()
        self.store.relocate(other, self.dirs[1])
        self.finish()
        self.assertEqual(sorted(self.store.dirs[1].logs), [T0, (("t", 1)), other])
        self.assertEqual(self.content(log), [(0, b"x")])
        self.check_content()


class FlushTests(MoverCase):
    def test_flush_begins_in_the_new_place(self) -> None:
        """A flush that is asked for while flushes are held fires after the new file is on the disk."""
        self.write(5)
        self.move()
        flushed: list[int] = []
        for _ in range(200):
            self.copying.work(1)
            self.write(1)
            flushed.clear()
            self.log.flush().addCallback(flushed.append)
            if not flushed:
                break
        self.assertEqual((flushed, self.place()), ([], self.dirs[0]))  # held
        self.files.synced.clear()
        self.finish()
        self.assertEqual((flushed, self.place()), ([self.log.log_end_offset], self.dirs[1]))
        self.assertEqual(self.log.flushed_offset, self.log.log_end_offset)
        name = os.path.basename(self.log.segments[-1].file.path)
        self.assertIn(os.path.join(self.dirs[1], "t-0", name), self.files.synced)

    def test_grows_too_fast(self) -> None:
        """A log that does not keep still is tried again later; its flushes go on meanwhile."""
        self.patch(relocation, "TAIL_BYTES", 0)
        self.write(5)
        self.move()
        for _ in range(1000):
            if not self.copying._waiting:
                break
            self.write(1)
            self.copying.work(1)
        self.assertEqual(self.place(), self.dirs[0])
        self.assertEqual(self.result(self.log.flush()), self.log.log_end_offset)
        self.clock.advance(mover.RETRY_S)
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()


class StopTests(MoverCase):
    def begin(self) -> None:
        """Begin a move, and let some of it be copied."""
        self.write(20)
        self.move()
        self.copying.work(10)
        self.assertEqual(self.listed(1), ["t-0-future"])

    def test_back(self) -> None:
        """A log that is to be where it is stays there; what was copied is removed."""
        self.begin()
        self.move(0)
        self.assertEqual(self.store.dirs[1].incoming, {})
        self.finish()
        self.assertEqual((self.place(), self.listed(0), self.listed(1)), (self.dirs[0], ["t-0"], []))
        self.check_content()

    def test_twice(self) -> None:
        """To ask for the same move again changes nothing."""
        self.begin()
        self.move()
        self.finish()
        self.assertEqual((self.place(), self.listed(1)), (self.dirs[1], ["t-0"]))

    def test_deleted(self) -> None:
        """A log that is deleted while it is copied leaves nothing."""
        self.begin()
        self.result(self.store.delete(T0))
        self.finish()
        self.assertEqual((self.listed(0), self.listed(1)), (["t-0-delete"], []))
        self.assertEqual(dict(self.store.logs), {})

    def test_made_again(self) -> None:
        """A topic of the same name that is made meanwhile is not touched by the move of the old one."""
        self.begin()
        self.result(self.store.delete(T0))
        log = self.result(self.store.create(T0, uuid.uuid4(), SMALL))
        self.finish()
        self.assertEqual(log.log_end_offset, 0)
        self.assertEqual(sum(T0 in place.logs for place in self.store.dirs), 1)
        self.assertEqual(self.listed(1).count("t-0-future"), 0)

    def test_closed(self) -> None:
        """A store that closes gives moves up first, also those that wait for another attempt."""
        self.begin()
        closing = self.store.close()
        self.assertNoResult(closing)
        self.finish()
        self.successResultOf(closing)
        self.assertEqual(self.listed(1), [])
        self.store = self.reopened()
        self.log = self.store.logs[T0]
        self.check_content()

    def test_closed_while_it_pauses(self) -> None:
        """A move that waits for its next attempt does not keep a store from closing."""
        self.patch(mover, "HELD_ROUNDS", 0)
        self.begin()
        self.finish()
        self.assertEqual(self.place(), self.dirs[0])
        closing = self.store.close()
        self.finish()
        self.successResultOf(closing)
        self.assertEqual(self.listed(1), [])


class FailureTests(MoverCase):
    def copy_while(self, number: int, what: str, error: int) -> None:
        """Copy a log while something fails under one of the dirs."""
        self.write(20)
        self.files.bad_dir, self.files.failing, self.files.error = self.dirs[number], {what}, error
        with capturedLogs():
            self.move()
            self.finish()
        self.files.failing = set()

    def test_full_disk(self) -> None:
        """A full disk stops the move; both dirs go on, and nothing is left of the copy."""
        self.copy_while(1, "write", errno.ENOSPC)
        self.assertEqual([place.error for place in self.store.dirs], [None, None])
        self.assertEqual((self.place(), self.listed(1)), (self.dirs[0], []))
        self.write(1)
        self.check_content()
        self.move()
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()

    def test_target_fails(self) -> None:
        """A disk that fails takes its own dir offline, and the log stays where it is."""
        for what in ("write", "sync", "create"):
            with self.subTest(what):
                self.setUp()
                self.copy_while(1, what, errno.EIO)
                self.assertEqual(self.place(), self.dirs[0])
                first, second = self.store.dirs
                self.assertEqual((first.error is None, second.error is None), (True, False))
                self.write(1)
                self.check_content()

    def test_source_fails(self) -> None:
        """Where the log cannot be read its own dir goes offline; the copy is not removed."""
        self.copy_while(0, "read", errno.EIO)
        first, second = self.store.dirs
        self.assertEqual((first.error is None, second.error is None), (False, True))
        self.assertEqual(self.listed(1), ["t-0-future"])

    def test_name_cannot_be_taken(self) -> None:
        """A copy that cannot be renamed changes nothing for the log."""
        self.copy_while(1, "rename", errno.ENOSPC)
        self.assertEqual(self.place(), self.dirs[0])
        self.write(1)
        self.check_content()
        self.restart()
        self.assertEqual((self.place(), self.listed(1)), (self.dirs[0], []))
        self.check_content()

    def test_in_the_way(self) -> None:
        """A directory of that name in the other dir is not touched."""
        there = os.path.join(self.dirs[1], "t-0")
        os.mkdir(there)
        with open(os.path.join(there, "precious"), "w"):
            pass
        self.write(2)
        self.move()
        self.finish()
        self.assertEqual(self.place(), self.dirs[0])
        self.assertEqual(os.listdir(there), ["precious"])
        self.assertEqual([place.error for place in self.store.dirs], [None, None])

    def test_refused(self) -> None:
        """A dir that is none, one that is offline, a log that is not here."""
        for name, path, code in (
            (T0, "/nowhere", ErrorCode.LOG_DIR_NOT_FOUND),
            (T0, "", ErrorCode.LOG_DIR_NOT_FOUND),
            (TopicPartition("u", 0), self.dirs[1], ErrorCode.REPLICA_NOT_AVAILABLE),
        ):
            error = self.assertRaises(RequestError, self.store.relocate, name, path)
            self.assertIs(error.code, code)
        with capturedLogs():
            self.store.dirs[1].take_offline(OSError(errno.EIO, "Input/output error"), "testing")
        error = self.assertRaises(RequestError, self.store.relocate, T0, self.dirs[1])
        self.assertIs(error.code, ErrorCode.KAFKA_STORAGE_ERROR)


class CrashTests(MoverCase):
    """``kill -9`` after every step, with a log that grows, rolls, is flushed and loses its start."""

    def something(self, chance: random.Random) -> None:
        """Do to the log what clients and chores do."""
        what = chance.randrange(8)
        if what < 4:
            self.write(chance.randrange(1, 4))
        elif what == 4:
            self.log.flush()
        elif what == 5:
            self.log.roll_if_due(NOW_MS + 10**12)
        elif what == 6:
            self.log.advance_log_start(chance.randint(self.log.log_start_offset, self.log.log_end_offset))
        else:
            # not to the start: without any epoch recovery takes nothing for valid
            start = (self.log.log_start_offset + 1) // 2 * 2 + 2
            self.log.truncate_to(max(self.log.log_end_offset - 2 * chance.randrange(3), start))
            del self.written[self.log.log_end_offset :]

    def test_every_step(self) -> None:
        """Whatever the step, the log has all that was written, in one dir, and no copy is left."""
        seen = set()
        for seed in range(60):
            self.setUp()
            chance = random.Random(seed)
            self.write(chance.randrange(12))
            self.move()
            for _ in range(chance.randrange(60)):
                self.copying.work(1)
                self.something(chance)
            self.assertEqual(self.log.log_end_offset, len(self.written), seed)
            seen.add(self.dirs.index(self.place()))
            self.restart()
            self.assertEqual(self.log.log_end_offset, len(self.written), seed)
            self.assertEqual([*self.listed(0), *self.listed(1)].count("t-0"), 1, seed)
            self.assertNotIn("t-0-future", self.listed(1), seed)
            start = self.log.log_start_offset
            self.assertEqual(self.content(self.log), list(enumerate(self.written))[start:], seed)
        self.assertEqual(seen, {0, 1})

    def test_to_the_end(self) -> None:
        """A move that is let come to its end has everything, whatever was done meanwhile."""
        for seed in range(30):
            self.setUp()
            chance = random.Random(1000 + seed)
            self.write(chance.randrange(12))
            self.move()
            for _ in range(chance.randrange(60)):
                self.copying.work(1)
                self.something(chance)
            self.finish()
            self.assertEqual(self.place(), self.dirs[1], seed)
            self.check_content()
            self.something(chance)
            self.restart()
            self.check_content()


class HalfwayTests(MoverCase):
    """``kill -9`` while both directories have the partition's name."""

    def test_old_directory_is_still_there(self) -> None:
        """The new one is chosen, which has what was written since; the old one is put aside."""

        def full(*_: object) -> str:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.write(20)
        with capturedLogs():
            patch = self.patch(self.store.dirs[0].dir, "put_aside", full)
            self.move()
            self.finish()
            patch.restore()
        self.assertEqual((self.place(), self.listed(0), self.listed(1)), (self.dirs[1], ["t-0"], ["t-0"]))
        self.write(5)
        self.restart()
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()
        self.assertEqual(self.listed(0), [])
        self.restart()
        self.check_content()

    def test_offsets_are_known_before_the_name(self) -> None:
        """Where the log starts, and up to where it is clean, the new dir knows from the first moment on."""
        self.write(20)
        self.log.advance_log_start(8)
        self.log.first_dirty_offset = 10
        self.patch(self.log, "flush", Deferred)  # so that the move stops right after the new name
        self.move()
        self.finish()
        self.assertEqual((self.listed(0), self.listed(1)), (["t-0"], ["t-0"]))
        self.restart()
        self.assertEqual(self.place(), self.dirs[1])
        self.assertEqual((self.log.log_start_offset, self.log.first_dirty_offset), (8, 10))
        self.check_content()


class SettleTests(MoverCase):
    """What the next start makes of what a crash has left."""

    def leave(self, note: str | None, name: str = "t-0", with_log: bool = True) -> str:
        """A directory in the second dir, as a move leaves it: a copy of the log's."""
        crash(self.store)
        path = os.path.join(self.dirs[1], name)
        os.mkdir(path)
        source = os.path.join(self.dirs[0], "t-0")
        for one in os.listdir(source) if with_log else ():
            with open(os.path.join(source, one), "rb") as file, open(os.path.join(path, one), "wb") as copy:
                copy.write(file.read())
        if note is not None:
            with open(os.path.join(path, MOVED_FROM), "w") as file:
                file.write(note)
        return path

    def future(self) -> str:
        """The name of a copy that is not complete."""
        return f"t-0.{uuid.uuid4().hex}-future"

    def test_copy_is_removed(self) -> None:
        """An unfinished copy is removed where its original is there."""
        self.write(5)
        path = self.leave(os.path.join(self.dirs[0], "t-0"), self.future())
        self.restart()
        self.assertFalse(os.path.exists(path))
        self.check_content()

    def test_removal_cut_short(self) -> None:
        """A crash while a copy is removed leaves what the next start removes: the name says so first."""
        self.write(5)
        self.leave(os.path.join(self.dirs[0], "t-0"), self.future())

        def half(path: str) -> None:
            os.unlink(os.path.join(path, MOVED_FROM))
            raise KeyboardInterrupt

        self.copying.holding = False
        patch = self.patch(self.files, "remove_tree", half)
        self.assertRaises(KeyboardInterrupt, settle, self.files, self.store.dirs)
        patch.restore()
        self.assertEqual(self.listed(1), ["t-0-delete"])
        self.restart()
        self.assertEqual(self.listed(1), [])
        self.check_content()

    def test_copy_without_its_original(self) -> None:
        """One whose original is not there is left alone, with a line in the log: it may be all there is."""
        self.write(5)
        path = self.leave(os.path.join(self.dirs[0], "gone-0"), self.future())
        with capturedLogs() as events:
            self.restart()
        self.assertTrue(os.path.exists(os.path.join(path, "0" * 20 + ".log")))
        self.assertTrue(any(path in str(event.get("line")) for event in events))

    def test_copy_that_says_nothing(self) -> None:
        """One with records that does not say where they are from is left alone; an empty one is removed."""
        self.write(5)
        with_records = self.leave(None, self.future())
        empty = self.leave(None, self.future(), with_log=False)
        self.restart()
        self.assertEqual((os.path.exists(with_records), os.path.exists(empty)), (True, False))

    def test_name_was_taken(self) -> None:
        """A copy that had got its name is the newer one: its original is put aside."""
        self.write(5)
        path = self.leave(os.path.join(self.dirs[0], "t-0"))
        self.restart()
        self.assertEqual(self.place(), self.dirs[1])
        self.check_content()
        self.assertFalse(os.path.exists(os.path.join(path, MOVED_FROM)))

    def test_of_another_topic(self) -> None:
        """A note decides nothing between directories of different topics."""
        self.write(5)
        path = self.leave(os.path.join(self.dirs[0], "t-0"))
        with open(os.path.join(path, "partition.metadata"), "w") as file:
            file.write("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
        self.copying.holding = False
        failure = self.failureResultOf(self.make_store().open(lambda topic: SMALL))
        self.assertIn("both in", str(failure.value))
        self.assertTrue(os.path.exists(os.path.join(self.dirs[0], "t-0")))

    def test_without_a_note(self) -> None:
        """Two directories of one partition, and nothing says why: the start is refused, nothing removed."""
        self.write(5)
        path = self.leave(None)
        self.copying.holding = False
        failure = self.failureResultOf(self.make_store().open(lambda topic: SMALL))
        self.assertIn("both in", str(failure.value))
        self.assertTrue(os.path.exists(path))

    def test_stale_note(self) -> None:
        """A note of an earlier move is forgotten before the log moves again."""
        self.write(5)
        self.move()
        self.finish()
        note = os.path.join(self.dirs[1], "t-0", MOVED_FROM)
        with open(note, "w") as file:
            file.write(os.path.join(self.dirs[0], "t-0"))
        self.move(0)
        self.copying.work(3)
        self.assertFalse(os.path.exists(note))
        self.finish()
        self.assertEqual(self.place(), self.dirs[0])
        self.check_content()

    def test_dir_that_cannot_be_read(self) -> None:
        """A dir whose names cannot be read is offline, as ever; the other opens."""
        self.write(5)
        crash(self.store)
        self.files.bad_dir, self.files.failing = self.dirs[1], {"names"}
        with capturedLogs():
            self.store = self.reopened()
        self.assertEqual([place.error is None for place in self.store.dirs], [True, False])
