"""The contract of a log with transactions: what is open, what has been aborted, what readers may see."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import CorruptRecords, ErrorCode
from kafkatx.interfaces import IAppended
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.records.batch import parse_header
from kafkatx.records.builder import assemble, encode_record
from kafkatx.records.control import build_marker, read_marker
from kafkatx.records.header import CONTROL, TRANSACTIONAL
from kafkatx.testing.contracts.log_replication import ReplicationContract, at_offset, whole
from kafkatx.testing.contracts.store_case import ALL, NOW_MS, batch, bytes_of
from kafkatx.types import NO_SEQUENCE, Marker

COMMIT, ABORT = Marker(True, 3), Marker(False, 3)
MANY = 100


def in_transaction(count: int, producer_id: int, sequence: int = 0, epoch: int = 0) -> bytes:
    """Return a batch of a transaction, as the producer sends it."""
    values = [b"%d" % producer_id] * count
    return batch(values, producer=(producer_id, epoch, sequence), transactional=True)


class TransactionContract(ReplicationContract):
    """The contract of a log with transactions; a part of ``PartitionLogContract``."""

    def begin(
        self, log: Any, producer_id: int, sequence: int = 0, count: int = 1, epoch: int = 0
    ) -> IAppended:
        """Append a batch of a transaction; it must be accepted."""
        sent = in_transaction(count, producer_id, sequence, epoch)
        appended: IAppended = log.append(sent, 0, NOW_MS, True, None, True)
        self.assertEqual((appended.error, appended.message), (0, None))
        log.write()
        return appended

    def end(
        self, log: Any, producer_id: int, marker: Marker, epoch: int = 0, bumps: bool = False
    ) -> IAppended:
        """Append a marker and write it."""
        appended: IAppended = log.append_marker(producer_id, epoch, marker, 0, NOW_MS, bumps)
        log.write()
        return appended

    def open_transactions(self, log: Any) -> dict[int, int]:
        """Return producer id -> first offset of each open transaction."""
        known = {one.producer_id: one.txn_start_offset for one in log.active_producers()}
        return {key: first for key, first in known.items() if first >= 0}

    def aborted(self, log: Any, offset: int = 0, end_offset: int = NO_LIMIT) -> list[tuple[int, int]]:
        """Return the aborted transactions of a range, all of them."""
        found: list[tuple[int, int]] = log.aborted_transactions(offset, end_offset, MANY)[1]
        return found

    # --- open and ended

    def test_transaction(self) -> None:
        """Check that a transaction holds readers of committed records back until its marker is written."""
        log = self.make_log()
        self.put(log, batch([b"a"]))
        self.assertEqual(log.last_stable_offset(1), 1)
        self.begin(log, 7, count=2)
        self.put(log, batch([b"b"]))
        self.begin(log, 7, sequence=2)
        self.assertEqual(log.last_stable_offset(5), 1)
        self.assertEqual(self.open_transactions(log), {7: 1})
        self.assertTrue(log.has_transaction(7, 0))
        self.assertFalse(log.has_transaction(7, 1) or log.has_transaction(8, 0))
        ended = self.end(log, 7, COMMIT)
        self.assertEqual((ended.error, ended.base_offset, ended.last_offset), (0, 5, 5))
        self.assertEqual((log.last_stable_offset(6), self.open_transactions(log)), (6, {}))
        self.assertFalse(log.has_transaction(7, 0))
        self.assertEqual(self.aborted(log), [])

    def test_marker(self) -> None:
        """Check that a marker is a control batch that other readers of the format understand."""
        log = self.make_log()
        self.begin(log, 7, epoch=4)
        self.end(log, 7, Marker(False, 12), epoch=4)
        data = bytes_of(log.read(1, ALL, ALL, True))
        header = parse_header(data)
        self.assertEqual((header.base_offset, header.count, header.attributes), (1, 1, 0x30))
        self.assertEqual((header.producer_id, header.producer_epoch), (7, 4))
        self.assertEqual((header.base_sequence, header.max_timestamp), (NO_SEQUENCE, NOW_MS))
        self.assertEqual(read_marker(data), Marker(False, 12))

    def test_marker_above_the_high_watermark(self) -> None:
        """Check that an ended transaction holds readers back until its marker is committed, too."""
        log = self.make_log()
        log.deletable_end = 0
        self.begin(log, 7)
        self.begin(log, 8)
        self.end(log, 8, COMMIT)
        self.begin(log, 9)
        self.end(log, 7, ABORT)
        self.end(log, 9, COMMIT)
        stable = [log.last_stable_offset(high_watermark) for high_watermark in range(log.log_end_offset + 1)]
        self.assertEqual(stable, [0, 0, 0, 0, 0, 3, 6])

    def test_staged_marker(self) -> None:
        """Check that a marker ends nothing before it is written, and nothing if it never is."""
        log = self.make_log()
        self.begin(log, 7)
        log.append_marker(7, 0, ABORT, 0, NOW_MS)
        self.assertEqual(log.last_stable_offset(1), 0)
        log.discard()
        self.assertEqual((log.last_stable_offset(1), self.open_transactions(log)), (0, {7: 0}))
        self.assertEqual(self.aborted(log), [])
        self.begin(log, 8)
        log.append(in_transaction(1, 9), 0, NOW_MS, True, None, True)
        log.discard()
        self.assertEqual(self.open_transactions(log), {7: 0, 8: 1})
        self.end(log, 7, COMMIT)
        self.assertEqual(log.last_stable_offset(3), 1)

    def test_aborted(self) -> None:
        """Check that the aborted transactions of a range are found, by first offset, and others are not."""
        log = self.make_log()
        self.begin(log, 1)  # 0, open for long
        for producer_id in (2, 3, 4):
            self.begin(log, producer_id, count=2)  # 1, 4, 7
            self.end(log, producer_id, COMMIT if producer_id == 3 else ABORT)  # 3, 6, 9
        self.begin(log, 5)  # 10
        self.end(log, 1, ABORT)  # 11
        self.end(log, 5, ABORT)  # 12
        self.assertEqual(self.aborted(log), [(1, 0), (2, 1), (4, 7), (5, 10)])
        self.assertEqual(self.aborted(log, 4), [(1, 0), (4, 7), (5, 10)])
        self.assertEqual(self.aborted(log, 3, 7), [(1, 0), (2, 1)])
        self.assertEqual(self.aborted(log, 10, 11), [(1, 0), (5, 10)])
        self.assertEqual(self.aborted(log, 12), [(5, 10)])
        self.assertEqual(self.aborted(log, 13), [])

    def test_many_aborted(self) -> None:
        """Check that the range is made shorter if it has more aborted transactions than asked for."""
        log = self.make_log(segment_bytes=400)
        for number in range(20):
            self.begin(log, 1, sequence=number)
            self.end(log, 1, ABORT)
        at, found = 0, []
        while at < 40:
            at, some = log.aborted_transactions(at, 40, 3)
            self.assertLessEqual(len(some), 3)
            found += some
        self.assertEqual(found, [(1, 2 * number) for number in range(20)])
        for producer_id in range(2, 10):
            self.begin(log, producer_id)
        for producer_id in range(2, 10):
            self.end(log, producer_id, ABORT)
        expected = [(producer_id, 38 + producer_id) for producer_id in range(2, 10)]
        self.assertEqual(log.aborted_transactions(47, 56, 3), (56, expected))

    def test_without_records(self) -> None:
        """Check that a marker of a producer without a transaction here is stored and changes nothing else."""
        log = self.make_log()
        self.assertEqual(self.end(log, 7, ABORT).base_offset, 0)
        self.assertEqual((log.last_stable_offset(1), self.aborted(log)), (1, []))
        (known,) = log.active_producers()
        self.assertEqual((known.last_sequence, known.coordinator_epoch), (NO_SEQUENCE, 3))

    # --- refusals

    def test_not_verified(self) -> None:
        """Check that a transactional batch is refused unless the caller has verified it."""
        log = self.make_log()
        refused = log.append(in_transaction(1, 7), 0, NOW_MS, True)
        self.assertEqual(refused.error, ErrorCode.INVALID_TXN_STATE)
        self.begin(log, 7)
        refused = log.append(in_transaction(1, 7, 1), 0, NOW_MS, True)
        self.assertEqual(refused.error, ErrorCode.INVALID_TXN_STATE)

    def test_outside_of_the_transaction(self) -> None:
        """Check that a producer with an open transaction writes nothing outside of it."""
        log = self.make_log()
        self.begin(log, 7)
        refused = log.append(batch([b"a"], producer=(7, 0, 1)), 0, NOW_MS, True)
        self.assertEqual(refused.error, ErrorCode.INVALID_TXN_STATE)
        self.end(log, 7, COMMIT)
        self.put(log, batch([b"a"], producer=(7, 0, 1)))

    def test_control_batch_of_a_client(self) -> None:
        """Check that a control batch is refused, even if the caller has verified the transaction."""
        log = self.make_log()
        refused = log.append(build_marker(7, 0, COMMIT, NOW_MS), 0, NOW_MS, True, None, True)
        self.assertEqual(refused.error, ErrorCode.INVALID_RECORD)
        self.assertEqual(log.log_end_offset, 0)

    def test_duplicate(self) -> None:
        """Check that a repeated batch of a transaction that has ended does not begin another one."""
        log = self.make_log()
        self.begin(log, 7)
        self.end(log, 7, COMMIT)
        again = log.append(in_transaction(1, 7), 0, NOW_MS, True, None, True)
        log.write()
        self.assertEqual((again.error, again.base_offset), (0, 0))
        self.assertEqual((log.log_end_offset, self.open_transactions(log)), (2, {}))

    def test_old_markers(self) -> None:
        """Check that markers of old coordinators and of old epochs are refused, and write nothing."""
        log = self.make_log()
        self.begin(log, 7, epoch=5)
        self.assertEqual(self.end(log, 7, COMMIT, epoch=4).error, ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(self.end(log, 7, COMMIT, epoch=5).error, 0)
        self.begin(log, 7, sequence=1, epoch=5)
        refused = self.end(log, 7, Marker(False, 2), epoch=5)
        self.assertEqual(refused.error, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
        self.assertEqual((log.log_end_offset, self.open_transactions(log)), (3, {7: 2}))

    def test_bumped_epochs(self) -> None:
        """Check the epochs of transactions of version 2: the marker's is above that of the batches."""
        log = self.make_log()
        self.begin(log, 7, epoch=5)
        refused = self.end(log, 7, COMMIT, epoch=5, bumps=True)
        self.assertEqual(refused.error, ErrorCode.INVALID_PRODUCER_EPOCH)
        self.assertEqual(self.end(log, 7, COMMIT, epoch=6, bumps=True).error, 0)
        self.assertEqual(self.end(log, 7, COMMIT, epoch=6, bumps=True).error, 0)  # repeated: KAFKA-19999
        late = log.append(in_transaction(1, 7, 1, 5), 0, NOW_MS, True, None, True)
        self.assertEqual(late.error, ErrorCode.INVALID_PRODUCER_EPOCH)
        self.begin(log, 7, epoch=6)
        self.assertEqual(self.open_transactions(log), {7: 3})

    def test_fenced(self) -> None:
        """Check that a new epoch does not end the transaction of the old one."""
        log = self.make_log()
        self.begin(log, 7, epoch=1)
        self.assertEqual(self.end(log, 7, ABORT, epoch=2).error, 0)
        self.assertEqual(self.aborted(log), [(7, 0)])
        self.begin(log, 7, epoch=2)
        self.begin(log, 7, epoch=3)
        self.assertEqual(self.open_transactions(log), {7: 2})

    # --- copies

    def test_followed(self) -> None:
        """Check that a copy knows the transactions of its leader."""
        leader, log = self.make_both()
        self.begin(leader, 7)
        self.begin(leader, 8)
        self.begin(leader, 9)
        self.end(leader, 8, ABORT)
        self.end(leader, 9, COMMIT)
        self.follow(log, whole(leader))
        self.assertEqual(whole(log), whole(leader))
        self.assertEqual(log.last_stable_offset(5), 0)
        self.assertEqual(self.aborted(log), [(8, 1)])
        self.assertEqual(self.open_transactions(log), {7: 0})
        self.assertEqual(list(log.active_producers()), list(leader.active_producers()))
        self.end(leader, 7, COMMIT)
        self.follow(log, bytes_of(leader.read(5, ALL, ALL, True)))
        self.assertEqual(log.last_stable_offset(6), 6)

    def test_follow_old_markers(self) -> None:
        """Check that a copy takes what the leader has, also a marker that it would refuse itself."""
        log = self.make_log()
        first = at_offset(in_transaction(1, 7, epoch=5), 0)
        marker = at_offset(build_marker(7, 4, Marker(False, 1), NOW_MS), 1)
        self.follow(log, first, marker)
        self.assertEqual((self.open_transactions(log), self.aborted(log)), ({}, [(7, 0)]))

    def test_follow_other_control_records(self) -> None:
        """Check that control records that end no transaction do not, and that damaged ones are refused."""
        log = self.make_log()
        self.follow(log, at_offset(in_transaction(1, 7), 0))
        self.follow(log, at_offset(control_batch(7, b"\0\0\0\2", b""), 1))
        self.assertEqual((log.log_end_offset, self.open_transactions(log)), (2, {7: 0}))
        self.assertRaises(
            CorruptRecords, log.append_as_follower, at_offset(control_batch(7, b"\0\0\0", b""), 2), 9
        )
        self.assertRaises(
            CorruptRecords, log.append_as_follower, at_offset(control_batch(7, b"\0\0\0\1", b"\0"), 2), 9
        )

    # --- cuts

    def test_cut_marker(self) -> None:
        """Check that a transaction is open again when its marker is cut off."""
        log = self.make_log(segment_bytes=300)
        self.begin(log, 7)
        self.begin(log, 8)
        self.end(log, 7, ABORT)  # 2
        self.end(log, 8, COMMIT)  # 3
        self.begin(log, 9)
        self.end(log, 9, ABORT)  # 5
        log.truncate_to(5)
        self.assertEqual((self.open_transactions(log), self.aborted(log)), ({9: 4}, [(7, 0)]))
        log.truncate_to(2)
        self.assertEqual((self.open_transactions(log), self.aborted(log)), ({7: 0, 8: 1}, []))
        self.assertEqual(log.last_stable_offset(2), 0)
        self.end(log, 7, COMMIT)
        self.assertEqual((log.last_stable_offset(3), self.aborted(log)), (1, []))
        log.truncate_to(0)
        self.assertEqual((self.open_transactions(log), log.last_stable_offset(0)), ({}, 0))

    def test_restart(self) -> None:
        """Check that a log that begins anew knows no transaction."""
        log = self.make_log()
        self.begin(log, 7)
        self.end(log, 7, ABORT)
        self.begin(log, 8)
        log.restart_at(50)
        self.assertEqual((self.open_transactions(log), self.aborted(log)), ({}, []))
        self.assertEqual(log.last_stable_offset(50), 50)

    def test_records_deleted(self) -> None:
        """Check that a transaction whose first records were deleted is open, and its outcome known."""
        log = self.make_log(segment_bytes=200)
        self.begin(log, 7)
        self.begin(log, 8)
        self.end(log, 8, ABORT)
        for number in range(4):
            self.begin(log, 7, sequence=1 + number)
        log.advance_log_start(5)
        self.assertEqual(log.last_stable_offset(7), 5)
        self.assertEqual(self.open_transactions(log), {7: 0})
        log.advance_log_start(7)
        self.assertEqual(log.last_stable_offset(7), 7)
        self.put(log, batch([b"a"]))
        self.assertEqual(log.last_stable_offset(8), 7)
        self.end(log, 7, ABORT)
        self.assertEqual((log.last_stable_offset(9), self.aborted(log, 7)), (9, [(7, 0)]))

    def test_expiry(self) -> None:
        """Check that a producer is not forgotten before its transaction has ended."""
        log = self.make_log(producer_id_expiration_ms=1000, producer_ids_max=2)
        self.begin(log, 7)
        for producer_id in (1, 2, 3, 4):
            self.put(log, batch([b"a"], producer=(producer_id, 0, 0)))
        self.assertIn(7, {one.producer_id for one in log.active_producers()})
        log.retain(NOW_MS + 5000)
        self.assertEqual([one.producer_id for one in log.active_producers()], [7])
        self.end(log, 7, ABORT)
        log.retain(NOW_MS + 10_000)
        self.assertEqual((list(log.active_producers()), self.aborted(log)), ([], [(7, 0)]))


def control_batch(producer_id: int, key: bytes, value: bytes) -> bytes:
    """Return a control batch with this record, at offset 0."""
    return assemble(
        encode_record(0, 0, key, value),
        1,
        TRANSACTIONAL | CONTROL,
        NOW_MS,
        NOW_MS,
        producer_id,
        0,
        NO_SEQUENCE,
    )
