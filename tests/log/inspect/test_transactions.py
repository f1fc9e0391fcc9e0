"""Dump, check and repair of the indexes of aborted transactions."""

from __future__ import annotations

import os
import uuid
from typing import Any

from kafkatx.log.inspect.dump import Dump
from kafkatx.log.inspect.faults import Remedy
from kafkatx.log.inspect.logdir import Check
from kafkatx.log.inspect.repair import execute, plans
from kafkatx.log.inspect.rows import AbortedRow, DamageRow
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.testing.contracts.partition_log import NOW_MS, TP
from tests.log.inspect.shared import SMALL, LogCase
from tests.log.transactions.oracle import aborted_of

EXPECTED = [(1, 0), *((2, 3 + 2 * number) for number in range(8))]


class TransactionCase(LogCase):
    """A log with a long aborted transaction, several short ones, and committed ones."""

    def setUp(self) -> None:
        """Make the log."""
        super().setUp()
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: SMALL))
        log = self.result(self.store.create(TP, uuid.UUID(int=7), SMALL))
        self.add(log, 1, 0)
        self.add(log, 3, 0)
        log.append_marker(3, 0, COMMIT, 0, NOW_MS)
        for number in range(8):
            self.add(log, 2, number)
            log.append_marker(2, 0, ABORT, 0, NOW_MS)
        log.append_marker(1, 0, ABORT, 0, NOW_MS)
        log.write()
        self.assertEqual(sorted(aborted_of(log)), sorted(EXPECTED))
        self.result(self.store.close())
        self.names = sorted(name for name in os.listdir(self.directory) if name.endswith(".txnindex"))
        self.assertGreater(len(self.names), 2)

    def add(self, log: Any, producer_id: int, sequence: int) -> None:
        """Append a batch of a transaction."""
        log.append(in_transaction(1, producer_id, sequence), 0, NOW_MS, True, None, True)


class DumpTests(TransactionCase):
    def test_rows(self) -> None:
        """Each entry is a row; a file that cannot be read is one row of damage."""
        rows = [row for row in Dump(self.files, indexes=True).rows(self.path) if isinstance(row, AbortedRow)]
        self.assertEqual(sorted((row.producer_id, row.first_offset) for row in rows), sorted(EXPECTED))
        self.assertEqual(rows[0], AbortedRow(self.file(self.names[0]), 0, 2, 3, 4, 0))
        self.assertEqual(next(iter(Dump(self.files).rows(self.file(self.names[0])))), rows[0])
        self.write(self.names[0], b"\0" * 35)
        (damage,) = Dump(self.files).rows(self.file(self.names[0]))
        assert isinstance(damage, DamageRow)
        self.assertIn("1 bytes into an entry", damage.problem)


class CheckTests(TransactionCase):
    def test_sound(self) -> None:
        """Sound indexes have no fault, of the log dir, of a segment, or alone."""
        self.assertEqual(self.faults(), [])
        for name in self.names:
            self.assertEqual(list(Check(self.files, self.file(name)).faults()), [])

    def test_each_bit(self) -> None:
        """A flip of any bit is found, in the first index and in the last."""
        for name in (self.names[0], self.names[-1]):
            sound = self.read(name)
            for at in range(len(sound)):
                data = bytearray(sound)
                data[at] ^= 1 << (at % 8)
                self.write(name, bytes(data))
                (fault,) = self.faults()
                self.assertEqual((fault.path, fault.remedy), (self.file(name), Remedy.TRANSACTIONS), at)
            self.write(name, sound)

    def test_missing(self) -> None:
        """A missing index, and one that lacks an entry, are found."""
        for name in self.names:
            sound = self.read(name)
            self.write(name, sound[:-34])
            (fault,) = self.faults()
            self.assertIn("is missing, which ends at", fault.problem)
            self.write(name, b"")
            self.assertEqual(len(self.faults()), 1)
            self.write(name, sound)

    def test_compacted(self) -> None:
        """In a compacted log a transaction may have begun before its first batch that is left."""
        name = self.names[-1]
        data = bytearray(self.read(name))
        self.assertEqual(self.faults(compacted=True), [])
        first = int.from_bytes(data[-24:-16], "big")
        data[-24:-16] = (first + 1).to_bytes(8, "big")
        self.write(name, bytes(data))
        self.assertEqual(len(self.faults(compacted=True)), 1)


class RepairTests(TransactionCase):
    def repair(self) -> None:
        """Repair the log dir."""
        for plan in list(plans(self.files, Check(self.files, self.path, ours=True), lambda amount: None)):
            execute(plan)

    def test_rebuilt(self) -> None:
        """Damaged indexes are written anew, as they were."""
        sound = {name: self.read(name) for name in self.names}
        self.write(self.names[0], b"\1" * 34)
        os.remove(self.file(self.names[1]))
        self.repair()
        self.assertEqual({name: self.read(name) for name in self.names}, sound)
        self.assertEqual(self.faults(), [])

    def test_cut(self) -> None:
        """The indexes lose the entries of what is cut off the log."""
        last = max(name for name in os.listdir(self.directory) if name.endswith(".log"))
        self.spoil(last, 17)
        self.repair()
        self.assertEqual(self.faults(), [])
        store = self.make_store()
        self.result(store.open(lambda topic: SMALL))
        self.addCleanup(store.close)
        self.assertLess(len(aborted_of(store.logs[TP])), len(EXPECTED))
