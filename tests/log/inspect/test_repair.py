"""Tests of kafkatx.log.inspect.repair: the repaired log is sound, and no byte is lost."""

from __future__ import annotations

import os
from typing import Any

from kafkatx.log.inspect.logdir import Check
from kafkatx.log.inspect.paths import LogDirInUse, lock_owner, locked
from kafkatx.log.inspect.repair import execute, plans
from kafkatx.testing.contracts.partition_log import batch
from tests.log.fakes import FailingFiles, crash
from tests.log.inspect.shared import FIRST, LAST, SMALL, LogCase

MIDDLE = "00000000000000000008.log"


class RepairTests(LogCase):
    def setUp(self) -> None:
        """Make a clean log of three segments."""
        super().setUp()
        self.fill()
        self.all, _ = self.reopened_copy()

    def reopened_copy(self) -> Any:
        """Return the content of the log without changing it."""
        kept = self.keep()
        content = self.reopened()
        self.restore(kept)
        return content

    def plans(self) -> list[Any]:
        """Return the steps of the plans."""
        return list(plans(self.files, Check(self.files, self.path), lambda amount: None))

    def repair(self) -> list[Any]:
        """Repair the log."""
        todo = self.plans()
        for plan in todo:
            execute(plan)
        return todo

    def check_mended(self, end: int) -> None:
        """Check that the log is sound, ends at *end*, and that a broker serves it and appends there."""
        self.assertEqual(self.faults(), [])
        content, found_end = self.reopened()
        self.assertEqual(found_end, end)
        self.assertEqual(content, self.all[:end])
        store = self.make_store()
        self.result(store.open(lambda topic: SMALL))
        self.put(store.logs[next(iter(store.logs))], batch([b"next"]), leader_epoch=9)
        crash(store)
        self.assertEqual(self.reopened()[0][-1], (end, b"next"))

    def test_nothing_to_do(self) -> None:
        """A sound log has no plan."""
        self.assertEqual(self.plans(), [])

    def test_each_batch(self) -> None:
        """The repaired log ends at the damage, at any position; the cut-off bytes are kept beside it."""
        kept = self.keep()
        for name, base in ((FIRST, 0), (MIDDLE, 8), (LAST, 16)):
            size = len(self.read(name)) // (4 if name != LAST else 2)
            before = self.read(name)
            for number in range(len(before) // size):
                position = number * size
                self.spoil(name, position + 70)
                spoilt = self.read(name)
                (plan,) = self.repair()
                end = base + 2 * number
                self.assertEqual(plan.end_offset, end)
                self.assertEqual(plan.lost.batches, (20 - end) // 2 - 1)
                self.assertEqual(plan.lost.records, 20 - end - 2)
                self.assertEqual(self.read(name) + self.read(f"{name}.cut-{position}"), spoilt)
                self.check_mended(end)
                self.restore(kept)

    def test_plan_changes_nothing(self) -> None:
        """To make a plan changes no file."""
        self.spoil(MIDDLE, 70)
        before = {name: self.read(name) for name in os.listdir(self.directory)}
        self.assertEqual(len(self.plans()), 1)
        self.assertEqual({name: self.read(name) for name in os.listdir(self.directory)}, before)

    def test_later_segments(self) -> None:
        """Segments after the damage are put aside whole, and so are snapshots that know too much."""
        last, snapshot = self.read(LAST), self.read("00000000000000000016.snapshot")
        self.spoil(MIDDLE, 70)
        self.repair()
        self.assertEqual(self.read(f"{LAST}.cut-0"), last)
        self.assertEqual(self.read("00000000000000000016.snapshot.cut-0"), snapshot)
        names = os.listdir(self.directory)
        self.assertEqual([name for name in names if "16" in name and "cut" not in name], [])
        self.assertIn("00000000000000000008.snapshot", names)

    def test_marker_and_checkpoints(self) -> None:
        """A cut log is checked at the next start, and no checkpoint says more than it has."""
        self.spoil(MIDDLE, 70)
        self.repair()
        self.assertNotIn(".kafka_cleanshutdown", os.listdir(self.path))
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            self.assertEqual(self.read(name), b"0\n1\nevents 3 8\n")
        self.assertEqual(self.read("leader-epoch-checkpoint"), b"0\n2\n0 0\n1 6\n")

    def test_epoch_of_a_batch(self) -> None:
        """A batch with a wrong leader epoch is corrected; nothing is cut for it."""
        name = MIDDLE
        data = bytearray(self.read(name))
        whole = bytes(data)
        data[15] ^= 4
        self.write(name, bytes(data))
        (fault,) = self.faults()
        self.assertIn("leader epoch", str(fault))
        (plan,) = self.repair()
        self.assertIsNone(plan.end_offset)
        self.assertEqual(self.read(name), whole)
        self.check_mended(20)

    def test_epochs_from_before_a_crash(self) -> None:
        """After a crash the last batch keeps its epoch, which the checkpoint does not know yet."""
        epochs, data = self.read("leader-epoch-checkpoint"), self.read(LAST)
        self.assertEqual(epochs, b"0\n4\n0 0\n1 6\n2 12\n3 18\n")
        self.write("leader-epoch-checkpoint", b"0\n3\n0 0\n1 6\n2 12\n")
        kept = self.keep()
        self.repair()  # after a clean shutdown the checkpoint is complete: a bit of the batch has flipped
        self.assertEqual(self.read("leader-epoch-checkpoint"), b"0\n3\n0 0\n1 6\n2 12\n")
        self.assertNotEqual(self.read(LAST), data)
        self.restore(kept)
        os.unlink(self.file(".kafka_cleanshutdown"))
        (plan,) = self.repair()
        self.assertEqual((self.read("leader-epoch-checkpoint"), self.read(LAST)), (epochs, data))
        self.assertIsNone(plan.end_offset)
        self.check_mended(20)

    def test_epoch_without_batches(self) -> None:
        """An epoch that begins at the log's end is kept; one that begins later is not."""
        epochs = self.read("leader-epoch-checkpoint")
        self.spoil(LAST, 15, 4)
        kept = self.keep()
        for start, expected in ((20, b"0\n5\n0 0\n1 6\n2 12\n3 18\n7 20\n"), (21, epochs)):
            self.write("leader-epoch-checkpoint", epochs.replace(b"\n4\n", b"\n5\n") + b"7 %d\n" % start)
            self.repair()
            self.assertEqual(self.read("leader-epoch-checkpoint"), expected)
            self.assertEqual(self.faults(), [])
            self.restore(kept)

    def test_missing_segment(self) -> None:
        """A segment after a missing one cannot stay; the log ends where the missing one began."""
        os.unlink(self.file(MIDDLE))
        (plan,) = self.repair()
        self.assertEqual((plan.end_offset, plan.lost.records), (8, 4))
        self.check_mended(8)

    def test_indexes(self) -> None:
        """Damaged indexes are built anew, with an entry every 4096 bytes; nothing else is touched."""
        for suffix in ("index", "timeindex"):
            name = MIDDLE.replace("log", suffix)
            self.spoil(name, 0)
            (plan,) = self.repair()
            self.assertIsNone(plan.lost)
            self.assertEqual(len(plan.steps), 1)
        self.assertIn(".kafka_cleanshutdown", os.listdir(self.path))
        self.check_mended(20)

    def test_small_files(self) -> None:
        """A damaged snapshot goes aside, epochs come from the batches, a damaged checkpoint goes aside."""
        epochs = self.read("leader-epoch-checkpoint")
        for name in ("00000000000000000016.snapshot", "leader-epoch-checkpoint", "partition.metadata"):
            self.write(name, b"nonsense")
        self.write("log-start-offset-checkpoint", b"nonsense")
        self.assertEqual(len(self.repair()), 2)
        self.assertEqual(self.read("leader-epoch-checkpoint"), epochs)
        for name in ("00000000000000000016.snapshot", "leader-epoch-checkpoint"):
            self.assertEqual(self.read(f"{name}.cut-0"), b"nonsense")
        self.check_mended(20)

    def test_twice(self) -> None:
        """Files that an earlier repair has put aside are not overwritten."""
        self.spoil(FIRST, 70)
        first = self.read(FIRST)
        self.repair()
        self.write(FIRST, b"?" * 30)
        self.repair()
        self.assertEqual(self.read(f"{FIRST}.cut-0"), first)
        self.assertEqual(self.read(f"{FIRST}.cut-0-2"), b"?" * 30)

    def test_broken_off(self) -> None:
        """Broken off after any step, a repair that is begun again comes to the same end."""
        self.spoil(MIDDLE, 200)
        kept = self.keep()
        steps = len(self.plans()[0].steps)
        self.assertGreater(steps, 5)
        for done in range(steps):
            for step in self.plans()[0].steps[:done]:
                step.run()
            self.repair()
            self.check_mended(10)
            self.restore(kept)

    def test_copy_fails(self) -> None:
        """Nothing is cut off if there is no space for the copy."""
        self.files = files = FailingFiles()
        self.spoil(MIDDLE, 70)
        before = self.read(MIDDLE)
        (plan,) = self.plans()
        files.bytes_left = 10
        self.assertRaises(OSError, execute, plan)
        self.assertEqual(self.read(MIDDLE), before)
        files.bytes_left = None
        self.repair()
        self.check_mended(8)

    def test_locked(self) -> None:
        """The lock keeps brokers away and is kept from us by one; it is given back."""
        with locked(self.path):
            self.assertEqual(lock_owner(self.path), str(os.getpid()))
            with self.assertRaises(LogDirInUse) as caught, locked(self.path):
                self.fail("two have the lock")
            self.assertIn("stop it", str(caught.exception))
        self.assertIsNone(lock_owner(self.path))
        with locked(self.directory):
            pass
