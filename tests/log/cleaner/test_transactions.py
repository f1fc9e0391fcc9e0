"""Compaction of transactions: aborted records, markers and their delete horizons, and what bounds a pass."""

from __future__ import annotations

import os
import uuid
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.cleaner.transactions import TransactionFilter
from kafkatx.log.segment.scan import parse
from kafkatx.log.transactions.aborted import AbortedTransaction
from kafkatx.records.batch import DELETE_HORIZON, iter_records, parse_header
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.control import build_marker
from kafkatx.records.conversion import batches
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.testing.contracts.log_replication import at_offset, whole
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, StoreCase, batch
from tests.log.cleaner.logs import EAGER, cleaning_store
from tests.log.fakes import crash
from tests.log.transactions.oracle import aborted_of, open_transactions, read_committed


class FilterTests(SynchronousTestCase):
    def test_aborted(self) -> None:
        """Batches of a producer are aborted from a transaction's first offset to its marker."""
        known = TransactionFilter([AbortedTransaction(1, 2, 5, 6), AbortedTransaction(1, 8, 9, 10)])
        sent = in_transaction(1, 1)
        found = [known.is_aborted(parse(at_offset(sent, offset), 0, 0)) for offset in range(11)]
        self.assertEqual(
            [offset for offset, is_aborted in enumerate(found) if is_aborted], [2, 3, 4, 5, 8, 9]
        )
        self.assertFalse(known.is_aborted(parse(at_offset(in_transaction(1, 2), 3), 0, 0)))
        self.assertFalse(known.is_aborted(parse(at_offset(batch([b"a"], producer=(1, 0, 0)), 3), 0, 0)))

    def test_markers(self) -> None:
        """A marker is not needed any more if no batch of its transaction came before it."""
        one = AbortedTransaction(1, 0, 1, 2)
        known = TransactionFilter([one])
        known.note(parse(at_offset(in_transaction(1, 1), 0), 0, 0))
        self.assertFalse(known.end(parse(at_offset(build_marker(1, 0, ABORT, NOW_MS), 1), 0, 0)))
        self.assertTrue(known.end(parse(at_offset(build_marker(1, 0, COMMIT, NOW_MS), 2), 0, 0)))
        self.assertEqual(known.take_kept(), (one,))
        self.assertEqual(known.take_kept(), ())


class PassTests(StoreCase, SynchronousTestCase):
    """A log that is compacted again and again; tombstones and markers stay 1 s."""

    def setUp(self) -> None:
        """Make the log."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.store = self.reopened()
        self.log: Any = self.result(self.store.create(TP, uuid.uuid4(), EAGER))
        self.sequences: dict[int, int] = {}
        self.rolls = 0

    def make_store(self) -> Any:
        """Return a store that compacts in this process."""
        return cleaning_store(self.clock, self.path)

    def reopened(self) -> Any:
        """Return an open store."""
        store = self.make_store()
        self.result(store.open(lambda topic: EAGER))
        self.addCleanup(crash, store)
        return store

    def add(self, producer_id: int, *keys: bytes) -> None:
        """Append records of a transaction."""
        sequence = self.sequences.setdefault(producer_id, 0)
        builder = BatchBuilder(0, producer_id, 0, sequence, True)  # type: ignore[arg-type]
        for key in keys:
            builder.append(key, b"%d-%d" % (producer_id, sequence), NOW_MS)
        self.sequences[producer_id] += len(keys)
        self.assertEqual(self.log.append(builder.build(), 0, NOW_MS, True, None, True).error, 0)
        self.log.write()

    def end(self, producer_id: int, marker: Any) -> None:
        """Append a marker."""
        self.assertEqual(self.log.append_marker(producer_id, 0, marker, 0, NOW_MS).error, 0)
        self.log.write()

    def clean(self) -> None:
        """Close the active segment, begin another one with a record, and run passes."""
        self.put(self.log, keyless(b"other"))
        self.rolls += 1
        self.log.roll_if_due(NOW_MS + self.rolls * 10**13)
        self.put(self.log, keyless(b"active"))
        while self.result(self.store.clean(int(self.clock.seconds() * 1000))):
            pass

    def offsets(self) -> list[int]:
        """Return the base offsets of all batches."""
        return [one.base_offset for one in batches(whole(self.log))]

    def test_aborted_records(self) -> None:
        """Aborted records are removed at once, and hide no earlier record of their key."""
        self.add(1, b"k")
        self.end(1, COMMIT)
        self.add(2, b"k", b"l")  # 2, 3
        self.add(3, b"k")  # 4
        self.end(2, ABORT)  # 5
        self.end(3, ABORT)  # 6
        self.add(2, b"z")  # 7: the last batches of the producers stay as headers
        self.end(2, COMMIT)  # 8
        self.clean()
        self.assertEqual(
            [one for one in read_committed(self.log, self.log.log_end_offset) if one[0] < 9],
            [(0, b"k", b"1-0"), (7, b"z", b"2-2")],
        )
        self.assertNotIn(2, self.offsets())
        self.assertIn(4, self.offsets())
        self.assertEqual(open_transactions(self.log), {})
        self.assertEqual(aborted_of(self.log), [(2, 2), (3, 4)])

    def test_markers(self) -> None:
        """A marker stays with its records, then gets a horizon, and goes when that has passed."""
        self.add(2, b"k")
        self.end(2, ABORT)  # 1
        self.add(2, b"m")
        self.end(2, COMMIT)  # 3
        self.add(2, b"m")
        self.end(2, COMMIT)  # 5
        self.clean()
        self.assertEqual(self.offsets()[:4], [1, 3, 4, 5])
        self.assertEqual(aborted_of(self.log), [(2, 0)])
        self.clean()  # without the records: horizons
        headers = [parse_header(whole(self.log), one.position) for one in batches(whole(self.log))]
        horizons = [one.base_offset for one in headers if one.attributes & DELETE_HORIZON]
        self.assertEqual(horizons, [1, 3])
        self.assertEqual(aborted_of(self.log), [])
        (record,) = iter_records(memoryview(whole(self.log)))
        self.assertEqual((record.key, record.timestamp), (b"\0\0\0\0", NOW_MS))
        self.clean()
        self.assertEqual(self.offsets()[:4], [1, 3, 4, 5])
        self.clock.advance(1.1)
        self.clean()
        self.assertEqual(self.offsets()[:2], [4, 5])

    def test_last_marker(self) -> None:
        """The marker of a producer of which nothing else is known stays, for its epoch."""
        self.log.append_marker(9, 4, ABORT, 0, NOW_MS)
        self.log.write()
        for _ in range(3):
            self.clean()
            self.clock.advance(1.1)
        self.assertEqual(self.offsets()[0], 0)
        crash(self.store)
        self.store = self.reopened()
        (known,) = self.store.logs[TP].active_producers()
        self.assertEqual((known.producer_id, known.producer_epoch), (9, 4))

    def test_open(self) -> None:
        """Nothing from the first open transaction on is touched, nor one whose marker is not committed."""
        self.add(1, b"k")
        self.end(1, COMMIT)
        self.add(1, b"k")  # 2
        self.end(1, COMMIT)
        self.add(2, b"k")  # 4, open
        self.clean()
        self.assertLessEqual(self.log.first_dirty_offset, 4)
        self.end(2, ABORT)
        self.log.deletable_end = self.log.log_end_offset - 1
        self.clean()
        self.assertLessEqual(self.log.first_dirty_offset, 4)
        self.log.deletable_end = self.log.log_end_offset
        self.clean()
        self.assertGreater(self.log.first_dirty_offset, 4)
        self.assertEqual(read_committed(self.log, self.log.log_end_offset)[0], (2, b"k", b"1-1"))

    def test_restarted(self) -> None:
        """The outcomes are known after a restart and after a kill, with new indexes and without old ones."""
        for number in range(6):
            self.add(1, b"k%d" % number)
            self.end(1, ABORT if number % 2 else COMMIT)
        self.add(1, b"last")
        self.end(1, COMMIT)
        for clean in (False, True):
            self.clean()
            known = aborted_of(self.log)
            if clean:
                self.result(self.store.close())
            else:
                crash(self.store)
            self.store = self.reopened()
            self.log = self.store.logs[TP]
            # After a kill the index is rebuilt: without those that have no records any more.
            self.assertLessEqual(set(aborted_of(self.log)), set(known))
            self.assertEqual(open_transactions(self.log), {})
            values = [one[1] for one in read_committed(self.log, self.log.log_end_offset) if one[1] != b"o"]
            self.assertEqual(values[:4], [b"k0", b"k2", b"k4", b"last"])


def keyless(value: bytes) -> bytes:
    """Return a batch with a record of the key ``o``."""
    return batch([value], key=b"o")
