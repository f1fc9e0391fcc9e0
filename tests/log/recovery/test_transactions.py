"""Recovery of transactions: after a cut at every byte, a flip of every bit, and power cuts at any change."""

from __future__ import annotations

import os
import shutil
import uuid
from random import Random
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.checkpoint import TRANSACTION_CHECKSUMS
from kafkatx.records.control import build_marker
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.testing.contracts.log_replication import at_offset, whole
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch
from tests.log.disk import PowerCutFiles
from tests.log.fakes import crash, file_store
from tests.log.recovering import RecoveryCase
from tests.log.transactions.oracle import aborted_of, open_transactions, outcomes

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100)
ROUNDS = 60


class History:
    """Batches of random transactions of three producers, as a leader sends them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.end = self.epoch = 0
        self.sequences = {1: 0, 2: 0, 3: 0}

    def some(self, count: int) -> bytes:
        """Return the next batches."""
        return b"".join(self._next() for _ in range(count))

    def _next(self) -> bytes:
        producer_id = self.random.choice((1, 2, 3))
        chance, size = self.random.random(), self.random.randint(1, 3)
        if chance < 0.5:
            sent = in_transaction(size, producer_id, self.sequences[producer_id])
            self.sequences[producer_id] += size
        elif chance < 0.6:
            sent, size = batch([b"a"]), 1
        else:
            marker = ABORT if chance < 0.85 else COMMIT
            sent, size = build_marker(producer_id, 0, marker, NOW_MS), 1
        stored = at_offset(sent, self.end, self.epoch)
        self.end += size
        return stored


class DamageTests(RecoveryCase, SynchronousTestCase):
    """A log of several segments with transactions, damaged after a shutdown or a kill."""

    def fill_transactions(self, clean: bool, seed: int = 1) -> None:
        """Make the log, and keep a copy."""
        store = self.opened(CONFIG)
        log = self.result(store.create(TP, uuid.uuid4(), CONFIG))
        history = History(Random(seed))
        for _ in range(45):
            log.append_as_follower(history.some(1), 0)
            log.write()
        self.data = whole(log)
        self.known = outcomes(self.data)
        self.assertGreater(len(self.known.aborted), 5)
        self.assertGreater(len(log.segments), 3)
        self.indexes = [name for name in os.listdir(self.file("")) if name.endswith(".txnindex")]
        self.assertGreater(len(self.indexes), 2)
        if clean:
            self.result(store.close())
        else:
            crash(store)

        shutil.copytree(self.path, self.keep)

    def check(self, what: str, data: bytes | None = None) -> None:
        """Open the log; check it against its batches."""
        log = self.reopen(CONFIG)
        if data is not None:
            self.assertEqual(whole(log), data, what)
        expected = outcomes(whole(log))
        self.assertEqual(open_transactions(log), expected.open, what)
        self.assertEqual(aborted_of(log), sorted(one[:2] for one in expected.aborted), what)
        stable = expected.last_stable_offset(log.log_end_offset)
        self.assertEqual(log.last_stable_offset(log.log_end_offset), stable, what)
        crash(self.store)

    def test_cut_at_every_byte(self) -> None:
        """After a kill in the middle of any write, what is left of the log is known."""
        self.fill_transactions(clean=False)
        last = max(name for name in os.listdir(self.file("")) if name.endswith(".log"))
        for size in range(len(self.read_file(last))):
            self.restore()
            self.write_file(last, self.read_file(last)[:size])
            self.check(f"{last} cut at {size}")

    def test_indexes_flipped(self) -> None:
        """A flip in any byte of an index, or of the checksums, changes nothing that is known of the log."""
        for clean in (True, False):
            self.fill_transactions(clean)
            for name in [self.indexes[0], TRANSACTION_CHECKSUMS]:
                self.restore()
                sound = self.read_file(name)
                for at in range(len(sound)):
                    data = bytearray(sound)
                    data[at] ^= 1 << (at * 3 % 8)
                    self.restore()
                    self.write_file(name, bytes(data))
                    self.check(f"{name}: byte {at}", self.data)
            self.tearDownStore()

    def tearDownStore(self) -> None:
        """Remove the log, for another one."""

        shutil.rmtree(self.path)
        shutil.rmtree(self.keep)

    def test_indexes_cut(self) -> None:
        """An index that is too short, or missing, is rebuilt, with a warning after a clean shutdown."""
        self.fill_transactions(clean=True)
        for name in self.indexes:
            for size in (None, 0, 20, 34):
                self.restore()
                before = self.read_file(name)
                if size is None:
                    os.unlink(self.file(name))
                elif size >= len(before):
                    continue
                else:
                    self.write_file(name, before[:size])
                with capturedLogs() as logged:
                    self.check(f"{name} cut at {size}", self.data)
                self.assertEqual(self.read_file(name), before)
                warnings = [one for one in logged if one["log_level"] is LogLevel.warn]
                self.assertIn("rebuilt", warnings[0]["log_format"])

    def test_too_long(self) -> None:
        """Entries of transactions that the log does not have are removed."""
        self.fill_transactions(clean=False)
        for name in self.indexes:
            self.restore()
            before = self.read_file(name)
            self.write_file(name, before + before[-34:-8] + b"\0\0\0\0\1\0\0\0")
            self.check(name, self.data)
            self.assertEqual(self.read_file(name), before)

    def test_no_checksums(self) -> None:
        """Without checksums, as Apache Kafka leaves a log, the indexes are compared with the log."""
        self.fill_transactions(clean=True)
        os.unlink(self.file(TRANSACTION_CHECKSUMS))
        data = bytearray(self.read_file(self.indexes[0]))
        data[17] ^= 1
        self.write_file(self.indexes[0], bytes(data))
        self.check("no checksums", self.data)

    def test_snapshots_missing(self) -> None:
        """Without producer snapshots everything is found in the batches."""
        self.fill_transactions(clean=True)
        for name in os.listdir(self.file("")):
            if name.endswith(".snapshot"):
                os.unlink(self.file(name))
        os.unlink(self.file(self.indexes[-1]))
        self.check("no snapshots", self.data)

    def test_orphan(self) -> None:
        """An index without its segment is removed."""
        self.fill_transactions(clean=True)
        self.write_file("00000000000000099999.txnindex", self.read_file(self.indexes[0]))
        self.check("orphan", self.data)
        self.assertFalse(os.path.exists(self.file("00000000000000099999.txnindex")))

    def test_sound(self) -> None:
        """After a clean shutdown sound indexes are used as they are, without a look at batches."""
        self.fill_transactions(clean=True)
        stamps = {name: os.stat(self.file(name)).st_mtime_ns for name in self.indexes}
        with capturedLogs() as logged:
            self.check("sound", self.data)
        self.assertEqual([one for one in logged if one["log_level"] is LogLevel.warn], [])
        self.assertEqual({name: os.stat(self.file(name)).st_mtime_ns for name in self.indexes}, stamps)


class PowerCutTests(SynchronousTestCase):
    def test_any_change(self) -> None:
        """After a power cut at any change the log knows the transactions of the batches that it has."""
        for seed in range(ROUNDS):
            self.one_round(Random(seed), seed)

    def result(self, deferred: Any) -> Any:
        """Return the result of a Deferred."""
        return self.successResultOf(deferred)

    def one_round(self, random: Random, seed: int) -> None:
        """Copy, cut, flush and restart until the power is cut; then see what is left."""
        clock = Clock()
        clock.advance(NOW_MS / 1000)
        root = os.path.abspath(self.mktemp())
        os.makedirs(os.path.join(root, "d"))
        files = PowerCutFiles(root, random, random.randint(60, 500))
        history = History(random)
        store = file_store(clock, os.path.join(root, "d"), files=files)
        self.result(store.open(lambda topic: CONFIG))
        log = self.result(store.create(TP, uuid.uuid4(), CONFIG))
        self.result(log.flush())
        self.result(store.sync_directories())
        while not files.dead:
            chance = random.random()
            if chance < 0.7:
                log.append_as_follower(history.some(random.randint(1, 4)), history.epoch)
                log.write()
            elif chance < 0.85:
                self.result(log.flush())
            elif chance < 0.95:
                markers = [one[2] for one in outcomes(whole(log)).ended if one[2] >= log.flushed_offset]
                log.truncate_to(random.choice([log.log_end_offset, *markers]))
                history.end, history.epoch = log.log_end_offset, history.epoch + 1
            else:
                self.result(store.close())
                store = file_store(clock, os.path.join(root, "d"), files=files)
                self.result(store.open(lambda topic: CONFIG))
                log = store.logs[TP]
        after = root + "-after"
        files.restore(after)
        opened = file_store(clock, os.path.join(after, "d"))
        with capturedLogs():
            self.result(opened.open(lambda topic: CONFIG))
        log = opened.logs[TP]
        expected = outcomes(whole(log))
        self.assertEqual(open_transactions(log), expected.open, seed)
        self.assertEqual(aborted_of(log), sorted(one[:2] for one in expected.aborted), seed)
        self.result(opened.close())
