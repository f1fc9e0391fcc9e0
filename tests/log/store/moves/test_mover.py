"""Logs that move to another dir while they are written: nothing is lost, whatever fails."""

from __future__ import annotations

import errno
import os
import uuid

from twisted.logger import capturedLogs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.log.store.moves import mover, relocation
from kafkatx.log.store.moves.relocation import MOVED_FROM
from kafkatx.log.transactions.aborted import decode_aborted
from kafkatx.testing.contracts.partition_log import NOW_MS, batch
from kafkatx.types import Marker, TopicPartition
from tests.log.moving import SMALL, T0, MoverCase
from tests.log.transactions.oracle import aborted_of


class MoverTests(MoverCase):
    def test_moved(self) -> None:
        """A log goes on in its new dir, as the same object; the old directory is removed after a while."""
        self.write(20)
        log = self.log
        self.move()
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        self.assertIs(self.store.logs[T0], log)
        self.assertEqual((self.listed(0), self.listed(1)), (["t-0-moved"], ["t-0"]))
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

    def indexed(self, directory: str) -> list[int]:
        """Return the first offsets in the indexes of transactions in a directory."""
        found = []
        for name in sorted(os.listdir(directory)):
            if name.endswith(".txnindex"):
                with open(os.path.join(directory, name), "rb") as file:
                    found += [one.first_offset for one in decode_aborted(file.read())]
        return found

    def test_transactions(self) -> None:
        """The indexes of aborted transactions move with it, and with what was aborted meanwhile."""

        def transaction(sequence: int) -> None:
            sent = batch([b"t"] * 2, producer=(7, 0, sequence), transactional=True)
            self.assertEqual(self.log.append(sent, 0, NOW_MS, True, None, True).error, 0)
            self.log.append_marker(7, 0, Marker(False, 0), 0, NOW_MS)
            self.log.write()

        for number in range(6):
            transaction(2 * number)
        copy = relocation.Copy(self.files, self.log.directory, self.dirs[1])
        copy.make()
        copy.copy_others()
        self.assertEqual(self.indexed(copy.directory), [3 * number for number in range(6)])
        copy.remove()
        self.move()
        for number in range(6, 12):
            self.copying.work(1)
            transaction(2 * number)
        self.finish()
        self.assertEqual(self.place(), self.dirs[1])
        transaction(24)
        expected = [3 * number for number in range(13)]
        self.assertEqual(self.indexed(self.log.directory), expected)
        self.restart()
        self.assertEqual(aborted_of(self.log), [(7, first) for first in expected])
        self.result(self.store.close())
        self.store = self.reopened()
        self.assertEqual(aborted_of(self.store.logs[T0]), [(7, first) for first in expected])

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
        """A log that was not written to since the start moves, too."""
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
        """Records written between any two steps of the copying are in the new dir."""
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
        self.log._local.first_dirty_offset = 8
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
        """The log's own dir goes offline if it cannot be read; the copy is not removed."""
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
