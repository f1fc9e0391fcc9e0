"""Logs that were copied from a leader, after a crash at any byte and at any step."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.checkpoint import LEADER_EPOCHS, decode_epochs
from kafkatx.log.files import Buffers
from kafkatx.testing.contracts.log_replication import at_offset, whole
from kafkatx.testing.contracts.partition_log import TP, StoreCase, batch
from kafkatx.types import SharedFile
from tests.log.fakes import QuickFiles, crash, file_store

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


class Ended(BaseException):
    """The process has ended."""


class EndingFiles(QuickFiles):
    """The real file system, until the process ends before a change of it."""

    def __init__(self, changes: int) -> None:
        self.left = changes

    def _step(self) -> None:
        if not self.left:
            raise Ended
        self.left -= 1

    def create(self, path: str) -> SharedFile:
        """Create, or end."""
        self._step()
        return super().create(path)

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write, or end."""
        self._step()
        super().writev(file, buffers, position, size)

    def truncate(self, file: SharedFile, size: int) -> None:
        """Truncate, or end."""
        self._step()
        super().truncate(file, size)

    def rename(self, old: str, new: str) -> None:
        """Rename, or end."""
        self._step()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        """Unlink, or end."""
        self._step()
        super().unlink(path)


class FollowerCase(StoreCase, SynchronousTestCase):
    """A log with batches of a leader, in a dir of its own."""

    def setUp(self) -> None:
        """Make the batches: six of two records in three epochs, of one producer; one of them small."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.files = QuickFiles()
        self.batches = [
            at_offset(
                batch([b"%d" % number * 30, b"-"], producer=(1, 0, 2 * number)), 2 * number, number // 2
            )
            for number in range(6)
        ]

    def make_store(self) -> Any:
        """Return a store in the test's dir."""
        return file_store(self.clock, self.path, files=self.files)

    def copied(self, config: LogConfig = SMALL) -> Any:
        """Return a log that got all batches in one reply."""
        self.store = self.opened(config)
        self.addCleanup(crash, self.store)
        log = self.result(self.store.create(TP, uuid.uuid4(), config))
        self.follow(log, *self.batches)
        return log

    def follow(self, log: Any, *batches: bytes) -> None:
        """Append batches of the leader."""
        log.append_as_follower(memoryview(b"".join(batches)), 9)
        log.write()

    def reopened(self, config: LogConfig = SMALL) -> Any:
        """Return the log after a crash."""
        crash(self.store)
        self.files = QuickFiles()
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: config))
        self.addCleanup(crash, self.store)
        self.assertEqual(dict(self.store.unavailable), {})
        return self.store.logs[TP]

    def check(self, log: Any, *batches: bytes) -> None:
        """Check that a log has these first batches of the leader, and all that belongs to them."""
        self.assertEqual(whole(log), b"".join(batches))
        count = len(batches)
        self.assertEqual(log.log_end_offset, 2 * count)
        for offset in range(2 * count):
            self.assertEqual(log.epoch_at(offset), offset // 4)
        producers = [one.last_sequence for one in log.active_producers()]
        self.assertEqual(producers, [2 * count - 1] if count else [])


class OldEpochsTests(FollowerCase):
    def test_one_batch(self) -> None:
        """A batch whose epoch was not on the disk yet keeps it: followers that have it agree (KIP-101)."""
        log = self.copied()
        self.result(log.flush())
        path = os.path.join(log.directory, LEADER_EPOCHS)
        with open(path, "rb") as file:
            synced = file.read()
        self.follow(log, at_offset(batch([b"-"]), 12, 5))
        self.assertEqual(log.end_offset_for_epoch(5), (5, 13))
        with open(path, "wb") as file:
            file.write(synced)  # the power cut spares the batch
        leader = self.reopened()
        leader.begin_epoch(7)
        self.assertEqual(leader.end_offset_for_epoch(5), (5, 13))
        with open(path, "rb") as file:
            self.assertEqual(decode_epochs(file.read())[-2:], [(5, 12), (7, 13)])


class EveryByteTests(FollowerCase):
    def test_cut_at_every_byte(self) -> None:
        """However much of the last segment is lost, whole batches are left; the follower goes on."""
        log = self.copied()
        name = os.path.join(str(TP), f"{log.segments[-1].base_offset:020d}.log")
        size, first = log.segments[-1].size, log.segments[-1].base_offset // 2
        crash(self.store)
        keep = self.mktemp()
        shutil.copytree(self.path, keep)
        for cut in range(size + 1):
            shutil.rmtree(self.path)
            shutil.copytree(keep, self.path)
            os.truncate(os.path.join(self.path, name), cut)
            log = self.reopened()
            count = first
            while count < 6 and sum(map(len, self.batches[first : count + 1])) <= cut:
                count += 1
            self.check(log, *self.batches[:count])
            if cut % 16 == 0:
                self.follow(log, *self.batches[count:])
                self.check(log, *self.batches)

    def test_partly_written(self) -> None:
        """A process that is killed during the write of a reply has whole batches of it."""
        whole_reply = b"".join(self.batches)
        for size in range(0, len(whole_reply), 7):
            shutil.rmtree(self.path, ignore_errors=True)
            big = LogConfig()
            self.store = self.opened(big)
            log = self.result(self.store.create(TP, uuid.uuid4(), big))
            with open(os.path.join(log.directory, f"{0:020d}.log"), "wb") as file:
                file.write(whole_reply[:size])
            with open(os.path.join(log.directory, "leader-epoch-checkpoint"), "w") as text:
                text.write("0\n3\n0 0\n1 4\n2 8\n")
            log = self.reopened(big)
            count = size // len(self.batches[0])
            self.assertEqual(whole(log), b"".join(self.batches[:count]))
            self.follow(log, *self.batches[count:])
            self.check(log, *self.batches)


class EveryStepTests(FollowerCase):
    def ended(self, change: Callable[[Any], None], step: int) -> Any:
        """Return the log, opened again after the process ended at a step of *change*; None if it did not."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.files = QuickFiles()
        log = self.copied()
        self.result(log.flush())
        self.result(self.store.checkpoint())
        log._location.files = files = EndingFiles(step)
        for segment in log.segments:
            segment._files = segment.index._files = segment.time_index._files = files
        try:
            change(log)
        except Ended:
            return self.reopened()
        return None

    def every_step(self, change: Callable[[Any], None]) -> list[Any]:
        """Check the log after a crash at each step; return the states, without repetition."""
        states: list[Any] = []
        for step in range(200):
            log = self.ended(change, step)
            if log is None:
                break
            state = (log.log_start_offset, log.log_end_offset, log.latest_epoch)
            if state not in states:
                states.append(state)
            self.check_usable(log)
        else:
            self.fail("it does not end")
        return states

    def check_usable(self, log: Any) -> None:
        """Check that a log is a part of the leader's, and that the rest can be added."""
        start, end = log.log_start_offset, log.log_end_offset
        if start == end:
            log.restart_at(0)
        else:
            self.check(log, *self.batches[: end // 2])
        self.follow(log, *self.batches[log.log_end_offset // 2 :])
        self.check(log, *self.batches)
        self.check(self.reopened(), *self.batches)

    def test_truncate(self) -> None:
        """A cut that is interrupted leaves a log with fewer batches, and no other ones."""
        for offset in (2, 4, 6, 10):
            states = self.every_step(lambda log, offset=offset: log.truncate_to(offset))  # type: ignore[misc]
            self.assertEqual({end for start, end, epoch in states} - {12, 10, 8, 6, 4, 2}, set())
            self.assertIn(12, {end for start, end, epoch in states})

    def test_truncate_all(self) -> None:
        """A cut at the start leaves the old log or an empty one."""
        self.assertEqual(self.every_step(lambda log: log.truncate_to(0)), [(0, 12, 2), (0, 0, -1)])

    def test_restart(self) -> None:
        """A log that begins anew is the old one, or begins at the new offset; it lacks no segment."""
        for offset in (0, 4, 5, 12, 100):
            states = self.every_step(lambda log, offset=offset: log.restart_at(offset))  # type: ignore[misc]
            self.assertEqual(states, [(0, 12, 2), (offset, offset, -1)])

    def test_begin_epoch(self) -> None:
        """An epoch is noted or it is not."""
        log = None
        states = []
        for step in range(20):
            log = self.ended(lambda log: log.begin_epoch(7), step)
            if log is None:
                break
            states.append(log.latest_epoch)
            self.check(log, *self.batches)
        self.assertIsNone(log)
        self.assertEqual(set(states), {2})
        self.assertEqual(self.reopened().latest_epoch, 7)


class RestartedTests(FollowerCase):
    def test_noted_epoch(self) -> None:
        """An epoch without records is known after a crash, a clean restart and a flush."""
        log = self.copied()
        log.begin_epoch(7)
        log = self.reopened()
        self.assertEqual((log.latest_epoch, log.end_offset_for_epoch(6)), (7, (2, 12)))
        self.result(self.store.close())
        log = self.reopened()
        self.assertEqual((log.latest_epoch, log.end_offset_for_epoch(7)), (7, (7, 12)))
        self.put(log, batch([b"x"], producer=(1, 0, 12)), leader_epoch=7)
        log = self.reopened()
        self.assertEqual((log.epoch_at(11), log.epoch_at(12)), (2, 7))

    def test_gaps(self) -> None:
        """Offsets that compaction once removed on the leader are not missed after a crash."""
        log = self.copied()
        more = [at_offset(batch([b"far"]), offset, 2) for offset in (20, 40, 41)]
        self.follow(log, *more[:1])
        self.follow(log, *more[1:])
        for _ in range(2):
            log = self.reopened()
            self.assertEqual(whole(log), b"".join([*self.batches, *more]))
            self.result(log.flush())
            self.result(self.store.checkpoint())
        self.assertEqual(self.content(log, 21)[0], (40, b"far"))

    def test_cut_inside_a_batch(self) -> None:
        """The offsets of a batch that a cut has removed whole are not missed after a crash."""
        log = self.copied()
        log.truncate_to(7)
        log = self.reopened()
        self.assertEqual((whole(log), log.log_end_offset), (b"".join(self.batches[:3]), 7))
        self.put(log, batch([b"seven"]), leader_epoch=5)
        self.assertEqual(self.content(self.reopened())[-1], (7, b"seven"))

    def test_recovery_point_after_a_cut(self) -> None:
        """The checkpoint counts nothing as synced that was written after a cut."""
        big = LogConfig()
        log = self.copied(big)
        self.result(log.flush())
        self.result(self.store.checkpoint())
        log.truncate_to(4)
        self.follow(log, *self.batches[2:])
        self.assertEqual(log.flushed_offset, 4)
        log = self.reopened(big)
        self.assertEqual((log.flushed_offset, log.log_end_offset), (4, 12))
        self.result(log.flush())
        log.restart_at(3)
        self.assertEqual(log.flushed_offset, 3)
        self.follow(log, at_offset(batch([b"x"] * 9), 3, 4))
        log = self.reopened(big)
        self.assertLessEqual(log.flushed_offset, 3)

    def test_log_start_after_a_cut(self) -> None:
        """A cut below the log start leaves no later start in the checkpoint, which would hide new records."""
        log = self.copied()
        log.advance_log_start(9)
        self.result(self.store.checkpoint())
        log.truncate_to(4)
        self.follow(log, at_offset(batch([b"four"] * 8), 4, 3))
        self.assertEqual(self.reopened().log_start_offset, 4)

    def test_mark_of_a_damaged_disk(self) -> None:
        """An error while a log begins anew is reported; the next start completes it."""
        log = self.copied()
        files = EndingFiles(10**6)
        self.patch(files, "unlink", self._failing)
        log._location.files = files
        self.assertRaises(OSError, log.restart_at, 50)
        log = self.reopened()
        self.assertEqual((log.log_start_offset, log.log_end_offset, log.size_bytes), (50, 50, 0))
        self.assertEqual([name for name in os.listdir(log.directory) if "restart" in name], [])

    def test_no_room_to_begin_anew(self) -> None:
        """A log stays as it is if the disk has no room for the file with which it would begin anew."""
        log = self.copied()
        files = EndingFiles(10**6)
        self.patch(files, "create", self._failing)
        log._location.files = files
        self.assertRaises(OSError, log.restart_at, 50)
        self.check(log, *self.batches)
        log._location.files = self.files
        self.put(log, batch([b"x"], producer=(1, 0, 12)), leader_epoch=2)
        self.assertEqual(self.content(self.reopened())[-1], (12, b"x"))

    def _failing(self, path: str) -> None:
        raise OSError(errno.EROFS, "read-only", path)
