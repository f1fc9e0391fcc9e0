"""The contract of a log that is a copy of its leader's: appends as a follower, leader epochs, cuts."""

from __future__ import annotations

import struct
import uuid
from typing import Any

import attrs

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords, RequestError
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.records.batch import LEADER_EPOCH_AT, Record
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches
from kafkatx.records.legacy.message_sets import build as build_set
from kafkatx.testing.contracts.log_appends import AppendContract
from kafkatx.testing.contracts.store_case import ALL, NOW_MS, TP, batch, bytes_of
from kafkatx.types import TopicPartition


def at_offset(records: bytes, offset: int, leader_epoch: int = 0) -> bytes:
    """Return a batch as a leader has it: with this base offset and leader epoch, which no checksum covers."""
    stamped = bytearray(records)
    struct.pack_into(">q", stamped, 0, offset)
    struct.pack_into(">i", stamped, LEADER_EPOCH_AT, leader_epoch)
    return bytes(stamped)


def whole(log: Any) -> bytes:
    """Return the bytes of all batches of a log."""
    found, at = [], log.log_start_offset
    while at < log.log_end_offset:
        found.append(bytes_of(log.read(at, ALL, log.log_end_offset, True)))
        ends = [one.last_offset + 1 for one in batches(found[-1])]
        if not ends or ends[-1] <= at:
            break
        at = ends[-1]
    return b"".join(found)


class ReplicationContract(AppendContract):
    """The contract of a follower's log; a part of ``PartitionLogContract``."""

    def make_both(self, **settings: Any) -> tuple[Any, Any]:
        """Return two empty logs with these settings, of one store: the leader's and the follower's."""
        config = attrs.evolve(LogConfig(), **settings)
        store = self.opened(config)
        names = (TopicPartition("leader", 0), TP)
        leader, log = (self.result(store.create(name, uuid.uuid4(), config)) for name in names)
        return leader, log

    def follow(self, log: Any, *records: bytes, leader_epoch: int = 9) -> int:
        """Append a fetch reply and write it; return its size."""
        staged: int = log.append_as_follower(memoryview(b"".join(records)), leader_epoch)
        log.write()
        return staged

    def not_followed(self, log: Any, *records: bytes, leader_epoch: int = 9) -> None:
        """Append what must be refused: nothing of it is staged."""
        before = (log.log_end_offset, log.latest_epoch, list(log.active_producers()))
        self.assertRaises(CorruptRecords, log.append_as_follower, b"".join(records), leader_epoch)
        log.write()
        self.assertEqual((log.log_end_offset, log.latest_epoch, list(log.active_producers())), before)

    # --- appends as a follower

    def test_copy(self) -> None:
        """Check that a follower has the bytes, offsets and epochs of its leader."""
        leader, log = self.make_both(segment_bytes=400)
        log.configure(attrs.evolve(log.config, segment_bytes=700))
        for number in range(20):
            codec = Codec.GZIP if number % 3 == 0 else Codec.NONE
            sent = batch([b"%d" % number * 20] * (1 + number % 4), codec=codec)
            self.put(leader, sent, leader_epoch=number // 6)
        for _ in range(20):
            if log.log_end_offset < leader.log_end_offset:
                self.follow(log, bytes_of(leader.read(log.log_end_offset, 900, ALL, True)))
        self.assertEqual(whole(log), whole(leader))
        self.assertEqual(log.size_bytes, leader.size_bytes)
        self.assertEqual(self.content(log), self.content(leader))
        for offset in range(leader.log_end_offset + 1):
            self.assertEqual(log.epoch_at(offset), leader.epoch_at(offset))
        self.assertEqual(log.latest_epoch, 3)

    def test_follow_is_staged(self) -> None:
        """Check that fetched batches are invisible before write(), and leave nothing when discarded."""
        log = self.make_log()
        first = at_offset(batch([b"a"], producer=(4, 0, 0)), 0, 1)
        second = at_offset(batch([b"b"], producer=(4, 0, 1)), 1, 2)
        self.assertEqual(log.append_as_follower(memoryview(first), 9), len(first))
        self.assertEqual(log.append_as_follower(memoryview(second), 9), len(second))
        self.assertEqual((log.log_end_offset, log.latest_epoch), (0, -1))
        log.discard()
        log.write()
        self.assertEqual((log.log_end_offset, log.latest_epoch, list(log.active_producers())), (0, -1, []))
        self.follow(log, first, second)
        self.assertEqual((log.log_end_offset, log.latest_epoch), (2, 2))
        self.assertEqual([one.last_sequence for one in log.active_producers()], [1])

    def test_follow_partial(self) -> None:
        """Check that a batch that is cut off at the end of a reply is left out, wherever it is cut."""
        first, second = at_offset(batch([b"a"]), 0), at_offset(batch([b"b"]), 1)
        for size in range(len(second)):
            log = self.make_log()
            self.assertEqual(self.follow(log, first, second[:size]), len(first))
            self.assertEqual(log.log_end_offset, 1)
            self.assertEqual(self.follow(log, second[:size]), 0)

    def test_follow_damaged(self) -> None:
        """Check that a bit that flips on the way is found, in each byte that a checksum covers."""
        log = self.make_log()
        first, second = at_offset(batch([b"a"]), 0), at_offset(batch([b"b"], producer=(1, 0, 0)), 1)
        for at in range(17, len(second)):
            wrong = second[:at] + bytes([second[at] ^ 4]) + second[at + 1 :]
            self.not_followed(log, first, wrong)
        self.not_followed(log, first, second[:16] + b"\x03" + second[17:])
        self.not_followed(log, first, second[:8] + struct.pack(">i", 48) + second[12:])
        self.follow(log, first, second)

    def test_follow_offsets(self) -> None:
        """Check that an offset never goes back; one that is missing was removed by compaction."""
        log = self.make_log()
        records = batch([b"a", b"b"])
        self.follow(log, at_offset(records, 0), at_offset(records, 2))
        for offset in (0, 2, 3, -1, 2**63 - 2):
            self.not_followed(log, at_offset(records, offset))
        self.not_followed(log, at_offset(records, 4), at_offset(records, 5))
        self.follow(log, at_offset(records, 10), at_offset(records, 20))
        self.assertEqual(log.log_end_offset, 22)
        expected = [(at + delta, (b"a", b"b")[delta]) for at in (0, 2, 10, 20) for delta in (0, 1)]
        self.assertEqual(self.content(log), expected)
        self.assertEqual(self.content(log, 11)[0], (11, b"b"))
        self.assertEqual(self.content(log, 5)[0], (10, b"a"))

    def test_follow_epochs(self) -> None:
        """Check that a batch's epoch is at least that of the one before it, and at most its leader's."""
        log = self.make_log()
        one = batch([b"a"])
        self.follow(log, at_offset(one, 0, 2), at_offset(one, 1, 2), at_offset(one, 2, 4), leader_epoch=4)
        self.assertEqual([log.end_offset_for_epoch(epoch) for epoch in (2, 3, 4)], [(2, 2), (2, 2), (4, 3)])
        self.not_followed(log, at_offset(one, 3, 3))
        self.not_followed(log, at_offset(one, 3, -1))
        self.not_followed(log, at_offset(one, 3, 6), leader_epoch=5)
        self.not_followed(log, at_offset(one, 3, 4), leader_epoch=3)
        self.not_followed(log, at_offset(one, 3, 6), at_offset(one, 4, 5))
        self.follow(log, at_offset(one, 3, 5), leader_epoch=5)
        self.assertEqual(log.latest_epoch, 5)

    def test_follow_into_empty(self) -> None:
        """Check that the first batch of an empty log may begin below the log's end, but not end there."""
        log = self.make_log()
        records = batch([b"a", b"b", b"c"])
        log.restart_at(11)
        self.not_followed(log, at_offset(records, 8))
        self.assertEqual(log.append_as_follower(at_offset(records, 10), 9), len(records))
        log.discard()
        self.assertEqual((log.log_start_offset, log.log_end_offset), (11, 11))
        self.follow(log, at_offset(records, 10), at_offset(records, 13))
        self.assertEqual((log.log_start_offset, log.log_end_offset), (11, 16))
        self.assertEqual(self.content(log), [(11, b"b"), (12, b"c"), (13, b"a"), (14, b"b"), (15, b"c")])
        self.not_followed(log, at_offset(records, 15))
        log = self.make_log()
        self.follow(log, at_offset(records, 7))
        self.assertEqual((log.log_start_offset, log.log_end_offset), (0, 10))
        self.assertEqual(self.content(log, 0), [(7, b"a"), (8, b"b"), (9, b"c")])

    def test_follow_old_formats(self) -> None:
        """Check that messages of magic 0 and 1 are copied whole, and the log's epochs are forgotten."""
        leader, log = self.make_both(segment_bytes=300)
        records = [Record(0, NOW_MS, None, value, []) for value in (b"a" * 30, b"b", b"c")]
        self.put(leader, batch([b"new"]), leader_epoch=3)
        for magic in (0, 1):
            for codec in (Codec.NONE, Codec.GZIP):
                self.put(leader, build_set(records, magic, codec, 0), leader_epoch=4, one_batch=False)
        sent = whole(leader)
        for at in (len(sent) - 1, len(sent) - 30):
            self.not_followed(log, sent[:at] + bytes([sent[at] ^ 1]) + sent[at + 1 :])
        self.follow(log, sent[:-1])
        self.assertLess(log.log_end_offset, leader.log_end_offset)
        self.follow(log, bytes_of(leader.read(log.log_end_offset, ALL, ALL, True)))
        self.assertEqual((whole(log), self.content(log)), (sent, self.content(leader)))
        self.assertEqual((log.latest_epoch, log.end_offset_for_epoch(9)), (-1, (-1, -1)))
        self.follow(log, at_offset(batch([b"d"]), log.log_end_offset, 5))
        self.assertEqual(log.latest_epoch, 5)
        self.not_followed(log, sent[-40:])

    def test_follow_producers(self) -> None:
        """Check that a follower that becomes leader knows duplicates of batches that it copied."""
        log = self.make_log()
        sent = [batch([b"%d" % number], producer=(4, 0, number)) for number in (3, 4, 6)]
        self.follow(log, *(at_offset(one, number) for number, one in enumerate(sent)))
        (again,) = self.put(log, sent[-1], leader_epoch=10)
        self.assertEqual((again.base_offset, log.log_end_offset), (2, 3))
        (following,) = self.put(log, batch([b"7"], producer=(4, 0, 7)), leader_epoch=10)
        self.assertEqual(following.base_offset, 3)
        log.truncate_to(1)
        self.follow(log, at_offset(sent[1], 1))
        self.assertEqual([one.last_sequence for one in log.active_producers()], [4])

    def test_follow_transactions(self) -> None:
        """Check that batches that no producer may send are copied: control batches, any attributes."""
        log = self.make_log(max_message_bytes=10)
        marker = bytearray(at_offset(batch([b"x" * 50], [NOW_MS * 3]), 0))
        marker[22] |= 0x30
        struct.pack_into(">I", marker, 17, crc32c(bytes(marker[21:])))
        self.assertEqual(self.follow(log, bytes(marker)), len(marker))
        self.assertEqual(whole(log), bytes(marker))

    # --- leader epochs

    def test_begin_epoch(self) -> None:
        """Check that an epoch that a leader begins ends the one before it at once, before it has a record."""
        log = self.make_log()
        self.assertEqual(log.latest_epoch, -1)
        self.put(log, batch([b"a"]), leader_epoch=2)
        log.begin_epoch(5)
        self.assertEqual((log.latest_epoch, log.epoch_at(1), log.epoch_at(0)), (5, 5, 2))
        self.assertEqual([log.end_offset_for_epoch(epoch) for epoch in (2, 4, 5)], [(2, 1), (2, 1), (5, 1)])
        log.begin_epoch(4)
        log.begin_epoch(5)
        self.put(log, batch([b"b"]), leader_epoch=5)
        self.assertEqual((log.latest_epoch, log.end_offset_for_epoch(5)), (5, (5, 2)))
        log.begin_epoch(6)
        log.begin_epoch(7)
        self.assertEqual([log.end_offset_for_epoch(epoch) for epoch in (5, 6, 7)], [(5, 2), (5, 2), (7, 2)])
        self.put(log, batch([b"c"]), leader_epoch=6)
        self.assertEqual(log.epoch_at(2), 7)

    def test_begin_epoch_of_staged(self) -> None:
        """Check that an epoch cannot begin between records that are staged and their write."""
        log = self.make_log()
        log.append(batch([b"a"]), 1, NOW_MS, True)
        self.assertRaises(RuntimeError, log.begin_epoch, 3)
        log.write()
        log.begin_epoch(3)
        self.assertEqual((log.epoch_at(0), log.latest_epoch), (1, 3))

    def test_forget_begun_epoch(self) -> None:
        """Check that a cut at the log's end forgets an epoch that has no record."""
        log = self.make_log()
        self.put(log, batch([b"a"]), leader_epoch=2)
        log.begin_epoch(5)
        log.truncate_to(1)
        self.assertEqual((log.latest_epoch, log.log_end_offset), (2, 1))
        self.follow(log, at_offset(batch([b"b"]), 1, 3), leader_epoch=6)
        log.begin_epoch(7)
        log.truncate_to(100)
        self.assertEqual((log.latest_epoch, self.content(log)), (3, [(0, b"a"), (1, b"b")]))

    def test_epoch_at_the_start(self) -> None:
        """Check that the epoch of the first records begins at the log start, also within a batch."""
        log = self.make_log()
        self.put(log, batch([b"a", b"b", b"c"]), leader_epoch=2)
        self.put(log, batch([b"d"]), leader_epoch=4)
        log.advance_log_start(2)
        self.assertEqual([log.end_offset_for_epoch(epoch) for epoch in (1, 2, 4)], [(1, 2), (2, 3), (4, 4)])
        log.truncate_to(2)
        self.assertEqual((log.latest_epoch, log.log_start_offset, log.log_end_offset), (-1, 2, 2))

    # --- cuts

    def test_restart(self) -> None:
        """Check that a log that begins anew has no record, epoch or producer of before, at any offset."""
        for offset in (100, 5, 0, 3):
            log = self.make_log(segment_bytes=200)
            for number in range(8):
                self.put(log, batch([b"%d" % number], producer=(1, 0, number)), leader_epoch=number // 4)
            log.append(batch([b"staged"]), 2, NOW_MS, True)
            log.restart_at(offset)
            self.assertEqual((log.log_start_offset, log.log_end_offset, log.size_bytes), (offset, offset, 0))
            self.assertEqual(
                (log.latest_epoch, list(log.active_producers()), self.content(log)), (-1, [], [])
            )
            self.assertEqual(len(log.segments), 1)
            self.follow(log, at_offset(batch([b"new"], producer=(1, 0, 5)), offset, 1))
            self.put(log, batch([b"own"]), leader_epoch=2)
            self.assertEqual(self.content(log), [(offset, b"new"), (offset + 1, b"own")])
            self.assertEqual((log.epoch_at(offset), log.latest_epoch), (1, 2))
            self.assertEqual(self.result(log.flush()), offset + 2)

    def test_cut_under_a_reader(self) -> None:
        """Check that a reply that was read before a cut ends early or is as it was."""
        for cut in (0, 1, 2, 3, None):
            log = self.make_log()
            for number in range(4):
                self.put(log, batch([b"old %d" % number]))
            records = log.read(0, ALL, 4, True)
            before = bytes_of(log.read(0, ALL, 4, True))
            if cut is None:
                log.restart_at(0)
            else:
                log.truncate_to(cut)
            for _ in range(6):
                self.put(log, batch([b"new %d" % log.log_end_offset]))
            try:
                after = bytes_of(records)
            except OSError:
                continue  # it is shorter than it says: the reply ends early
            self.assertEqual(after, before)

    # --- what is not committed

    def test_deletable_end(self) -> None:
        """Check that retention deletes no segment with an offset that may still be truncated."""
        log = self.make_log(segment_bytes=100, retention_policy="time", retention_ms=1)
        self.assertEqual(log.deletable_end, NO_LIMIT)
        for number in range(6):
            self.put(log, batch([b"%d" % number * 40]))
        self.assertEqual(len(log.segments), 6)
        for end, start in ((0, 0), (3, 3), (4, 4), (5, 5), (6, 6)):
            log.deletable_end = end
            log.retain(NOW_MS + 10**6)
            self.assertEqual(log.log_start_offset, start)
        self.assertEqual((log.log_end_offset, log.size_bytes), (6, 0))

    def test_unread_is_out_of_range(self) -> None:
        """Check that a log that began anew serves nothing below its start."""
        log = self.make_log()
        log.restart_at(50)
        self.assertRaises(RequestError, log.read, 49, ALL, 50, True)
        self.assertEqual(len(log.read(50, ALL, 50, True)), 0)
