"""Moves that a crash cuts short: what the next start makes of what is there."""

from __future__ import annotations

import errno
import os
import random
import uuid

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from kafkatx.log.store.moves.relocation import MOVED_FROM, settle
from kafkatx.testing.contracts.partition_log import NOW_MS
from tests.log.fakes import crash
from tests.log.moving import SMALL, MoverCase


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
        """After a crash at any step the log has all records, in one dir, and no copy is left."""
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
            patch = self.patch(self.store.dirs[0].files, "set_moved", full)
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
        """The checkpoints of the new dir have the log's start and clean offset from the first moment on."""
        self.write(20)
        self.log.advance_log_start(8)
        self.log._local.first_dirty_offset = 10
        self.patch(self.log, "flush", Deferred)  # so that the move stops right after the new name
        self.move()
        self.finish()
        self.assertEqual((self.listed(0), self.listed(1)), (["t-0"], ["t-0"]))
        self.restart()
        self.assertEqual(self.place(), self.dirs[1])
        self.assertEqual((self.log.log_start_offset, self.log.first_dirty_offset), (8, 10))
        self.check_content()


class SettleTests(MoverCase):
    """The next start after a crash."""

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
        self.assertEqual(self.listed(1), ["t-0-moved"])
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
