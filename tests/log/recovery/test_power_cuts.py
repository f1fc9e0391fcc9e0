"""Power cuts under a follower's log: what was flushed is on the disk, and nothing it never had."""

from __future__ import annotations

import os
import uuid
from itertools import pairwise
from random import Random
from typing import Any

from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.records.batch import parse_header
from kafkatx.records.conversion import iter_any
from kafkatx.testing.contracts.log_replication import at_offset, whole
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch
from tests.log.disk import PowerCutFiles
from tests.log.fakes import file_store

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
ROUNDS = 80


def split(data: bytes) -> list[bytes]:
    """Return the batches of a log."""
    found = []
    while data:
        size = parse_header(data).size_bytes
        found.append(data[:size])
        data = data[size:]
    return found


class History:
    """The content of a log, and the part of it that is on the disk for sure.

    :ivar written: every batch that the log ever had.
    :ivar safe: batches that were flushed and not cut since.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.batches: list[bytes] = []
        self.written: set[bytes] = set()
        self.safe: list[bytes] = []
        self.epoch = 0
        self.end = 0

    def some_batches(self) -> list[bytes]:
        """Return batches that follow, of a new or the same leader."""
        made = []
        for _ in range(self.random.randint(1, 4)):
            self.epoch += self.random.random() < 0.2
            value = b"%d" % self.random.randint(0, 9) * self.random.randint(1, 60)
            values = [value] * self.random.randint(1, 3)
            made.append(at_offset(batch(values), self.end, self.epoch))
            self.end += len(values)
        self.batches += made
        self.written |= set(made)
        return made

    def cut(self, offset: int) -> None:
        """Remove what ends at an offset or later."""
        self.batches = [one for one in self.batches if parse_header(one).last_offset < offset]
        self.safe = [one for one in self.safe if parse_header(one).last_offset < offset]
        self.end = offset


class PowerCutTests(SynchronousTestCase):
    def test_nothing_flushed_is_lost(self) -> None:
        """After a power cut at any change the log has what was flushed, and only batches that it once had."""
        for seed in range(ROUNDS):
            self.one_round(Random(seed), seed)

    def result(self, deferred: Any) -> Any:
        """Return the result of a Deferred."""
        return self.successResultOf(deferred)

    def one_round(self, random: Random, seed: int) -> None:
        """Copy, cut, flush and begin anew until the power is cut; then see what is left."""
        clock = Clock()
        clock.advance(NOW_MS / 1000)
        root = os.path.abspath(self.mktemp())
        os.makedirs(os.path.join(root, "d"))
        files = PowerCutFiles(root, random, random.randint(60, 400))
        history = History(random)
        store = file_store(clock, os.path.join(root, "d"), files=files)
        self.result(store.open(lambda topic: CONFIG))
        log = self.result(store.create(TP, uuid.uuid4(), CONFIG))
        self.result(log.flush())
        self.result(store.sync_directories())
        while not files.dead:
            self.change(random, store, log, history, files)
        after = root + "-after"
        files.restore(after)
        self.check(clock, os.path.join(after, "d"), history, seed)

    def change(self, random: Random, store: Any, log: Any, history: History, files: PowerCutFiles) -> None:
        """Do one thing."""
        chance = random.random()
        if chance < 0.5:
            log.append_as_follower(b"".join(history.some_batches()), history.epoch)
            log.write()
        elif chance < 0.75:
            if self.result(log.flush()) == history.end and not files.dead:
                history.safe = list(history.batches)
        elif chance < 0.85:
            offsets = [parse_header(one).base_offset for one in history.batches] or [history.end]
            offset = random.choice(offsets)
            history.cut(offset)
            log.truncate_to(offset)
            history.epoch += 1
        elif chance < 0.9:
            offset = max(history.end + random.randint(-5, 20), 0)
            history.cut(0)
            history.end = offset
            log.restart_at(offset)
        elif chance < 0.95:
            history.epoch += 1
            log.begin_epoch(history.epoch)
        else:
            self.result(store.checkpoint())

    def check(self, clock: Clock, path: str, history: History, seed: int) -> None:
        """Open what is left."""
        store = file_store(clock, path)
        with capturedLogs():
            self.result(store.open(lambda topic: CONFIG))
        self.addCleanup(store.close)
        self.assertEqual(dict(store.unavailable), {}, seed)
        log = store.logs[TP]
        found = split(whole(log))
        for one in found:
            self.assertIn(one, history.written, seed)
            self.assertTrue(list(iter_any(memoryview(one), check=True)))
        self.assertEqual([one for one in history.safe if one not in found], [], seed)
        for before, after in pairwise(found):
            self.assertEqual(parse_header(after).base_offset, parse_header(before).last_offset + 1, seed)
            self.assertLessEqual(
                parse_header(before).partition_leader_epoch, parse_header(after).partition_leader_epoch
            )
        for one in history.safe:
            header = parse_header(one)
            self.assertEqual(log.epoch_at(header.base_offset), header.partition_leader_epoch, seed)
