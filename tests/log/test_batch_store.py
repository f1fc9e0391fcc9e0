"""Stores of third parties: the logs that they find are compared with the topics of the cluster."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces.log_dirs import Expected
from kafkatx.log.batch_store import BatchLogStore, FoundLog
from kafkatx.log.memory import MemoryBatches, MemoryStorage
from kafkatx.testing.contracts.partition_log import NOW_MS, batch, find_retention
from kafkatx.types import LogDirRecord, TopicPartition

KNOWN, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


class LastingBatches(MemoryBatches):
    """Batches that outlive the process, as far as the store can see."""

    lasting = True

    def __init__(self, *found: FoundLog) -> None:
        self.found = found
        self.deleted: list[TopicPartition] = []

    def open(self) -> Sequence[FoundLog]:
        """Return the batches of an earlier process."""
        return self.found

    def storage(self, topic_partition: TopicPartition, topic_id: uuid.UUID) -> Any:
        """Return a storage in memory."""
        return MemoryStorage()

    def delete(self, topic_partition: TopicPartition) -> None:
        """Record the deletion."""
        self.deleted.append(topic_partition)


def expected(deleted: frozenset[uuid.UUID] = frozenset()) -> Expected:
    """Return a state with the topic t: its partition 0 is on this broker, 2 is on another."""
    ids = {T0: KNOWN}
    recorded = LogDirRecord(deleted=deleted)
    return Expected(
        "cluster", False, lambda: 1, ids.get, recorded, moved_away=lambda *log: log == (T2, KNOWN)
    )


class BelongingTests(SynchronousTestCase):
    def open(self, batches: LastingBatches, state: Expected) -> BatchLogStore:
        """Open a store; fail as the store does."""
        store = BatchLogStore(batches, lambda name: execute, Clock(), find_retention)
        self.opening = store.open(lambda topic: LogConfig(), state)
        return store

    def test_known(self) -> None:
        """The log of an existing partition is opened where it was."""
        store = self.open(LastingBatches(FoundLog(T0, KNOWN, 7)), expected())
        self.successResultOf(self.opening)
        self.assertEqual(store.logs[T0].log_start_offset, 7)

    def test_unknown(self) -> None:
        """A log of an unknown topic, or of another topic of the name, fails the start; nothing is deleted."""
        for found in (FoundLog(T1, KNOWN, 0), FoundLog(T0, OTHER, 0)):
            batches = LastingBatches(found)
            self.open(batches, expected())
            error = self.failureResultOf(self.opening, SettingError).value
            self.assertIn(str(found.topic_partition), str(error))
            self.assertEqual(batches.deleted, [])

    def test_deleted(self) -> None:
        """A log of a topic that a client has deleted is removed even after a crash."""
        batches = LastingBatches(FoundLog(T0, OTHER, 0))
        store = self.open(batches, expected(frozenset({OTHER})))
        self.successResultOf(self.opening)
        self.assertEqual((batches.deleted, dict(store.logs)), ([T0], {}))

    def test_moved_away(self) -> None:
        """The log of a partition that has moved to other brokers does not prevent the start, and stays."""
        batches = LastingBatches(FoundLog(T2, KNOWN, 0))
        store = self.open(batches, expected())
        self.successResultOf(self.opening)
        self.assertEqual((batches.deleted, dict(store.logs)), ([], {}))
        self.successResultOf(store.create(T2, KNOWN, LogConfig()))  # it moves back, and is copied anew
        self.assertEqual((batches.deleted, list(store.logs)), ([T2], [T2]))
        self.successResultOf(store.close())

    def test_moved_and_gone(self) -> None:
        """Its topic may be deleted since; a topic of the same name does not get its records."""
        batches = LastingBatches(FoundLog(T0, KNOWN, 0), FoundLog(T2, OTHER, 0))
        store = self.open(batches, expected())
        self.successResultOf(self.opening)
        self.failureResultOf(store.create(T2, KNOWN, LogConfig()), FileExistsError)
        self.assertEqual((batches.deleted, list(store.logs)), ([], [T0]))


class EmptiedTests(SynchronousTestCase):
    def test_log_start(self) -> None:
        """A log of which everything was deleted keeps its offsets though the process is killed at once."""
        for empty in ("retain", "advance_log_start", "restart_at"):
            kept: dict[TopicPartition, int] = {}
            batches = LastingBatches()
            self.patch(batches, "keep_log_start", kept.__setitem__)
            store = BatchLogStore(batches, lambda name: execute, Clock(), find_retention)
            self.successResultOf(store.open(lambda topic: LogConfig()))
            log: Any = self.successResultOf(store.create(T0, KNOWN, LogConfig()))
            for value in (b"a", b"b"):
                log.append(batch([value]), 0, NOW_MS, True)
                log.write()
            self.assertEqual(kept, {})
            argument = {"retain": 10 * NOW_MS, "advance_log_start": 2, "restart_at": 7}[empty]
            getattr(log, empty)(argument)
            self.assertEqual(kept, {T0: log.log_end_offset}, empty)
            self.assertEqual(log.log_end_offset, 7 if empty == "restart_at" else 2)


class HighWatermarkTests(SynchronousTestCase):
    def test_lost_records(self) -> None:
        """A saved high watermark above the log's end is written again before anything is appended."""
        kept: list[dict[TopicPartition, int]] = []
        batches = LastingBatches(FoundLog(T0, KNOWN, 0, 5))
        self.patch(batches, "keep_high_watermarks", lambda offsets: kept.append(dict(offsets)))
        store = BatchLogStore(batches, lambda name: execute, Clock(), find_retention)
        self.successResultOf(store.open(lambda topic: LogConfig()))
        self.assertEqual(kept, [{T0: 0}])
