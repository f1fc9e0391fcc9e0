"""The background tasks: their intervals and their failures."""

from __future__ import annotations

import errno
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import LogLevel, capturedLogs, formatEvent

from kafkatx.broker.background import RECORD_DELAY_S, BackgroundTasks
from kafkatx.broker.replica.logs import deletions
from kafkatx.errors import ErrorCode, RequestError
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS, BrokerTestCase

RETENTION_S, CHECKPOINT_S, OFFSETS_S, CLEANER_S = 300, 60, 600, 15
"""The defaults of the intervals."""


class BackgroundTasksTests(BrokerTestCase):
    def setUp(self) -> None:
        """Start the tasks of a broker."""
        super().setUp()
        self.idle_checks = 0
        self.tasks = BackgroundTasks(self.broker, self.clock, self.close_idle)
        self.tasks.start()
        self.addCleanup(self.tasks.stop)

    def close_idle(self) -> None:
        """Count the calls."""
        self.idle_checks += 1

    def pass_time(self, seconds: float) -> None:
        """Advance the clock in steps, so that work in slices gets its turns."""
        self.clock.pump([seconds] + [0] * 20)

    def counted(self, owner: object, name: str, result: Any = None) -> list[tuple[Any, ...]]:
        """Replace a method; return the list of the arguments of its calls."""
        calls: list[tuple[Any, ...]] = []

        def method(*args: Any) -> Any:
            calls.append(args)
            return result

        self.patch(owner, name, method)
        return calls

    def test_retention(self) -> None:
        """Every log is rolled and retained at log.retention.check.interval.ms, by the wall clock."""
        (partition,) = self.make_topic()
        rolled = self.counted(partition.log, "roll_if_due")
        retained = self.counted(partition.log, "retain", 0)
        self.pass_time(RETENTION_S - 1)
        self.assertEqual((rolled, retained), ([], []))
        self.pass_time(1)
        self.assertEqual((rolled, retained), ([(NOW_MS,)], [(NOW_MS,)]))

    def test_retention_is_logged(self) -> None:
        """Deleted segments are logged with their number and the reason."""
        self.make_topic(retention_ms="1000")
        self.fill(b"v", timestamp_ms=NOW_MS)
        self.now_ms += 1001
        with capturedLogs() as events:
            self.successResultOf(self.run_now(self.tasks.retain))
        (line,) = [formatEvent(event) for event in events if event["log_level"] == LogLevel.info]
        self.assertIn("retention of t-0 deleted 1 segments", line)
        self.assertIn("by retention.ms=1000; the log starts at offset 1 now", line)

    def test_sum_of_a_round(self) -> None:
        """A round that deletes from many partitions ends with the sum of those without a line."""
        self.patch(deletions, "MAX_LINES", 1)
        self.make_topic(partitions=3, retention_ms="1000")
        for number in range(3):
            self.fill(b"v", partition=number, timestamp_ms=NOW_MS)
        self.now_ms += 1001
        with capturedLogs() as events:
            self.successResultOf(self.run_now(self.tasks.retain))
        lines = [formatEvent(event) for event in events if event["log_level"] == LogLevel.info]
        self.assertEqual(len(lines), 2)
        self.assertIn("retention of 2 more partitions deleted 2 segments", lines[1])

    def run_now(self, task: Any) -> Deferred[None]:
        """Run a task in slices to its end."""
        running: Deferred[None] = task()
        self.pass_time(0)
        return running

    def test_failure_of_one_log(self) -> None:
        """A log that cannot be rolled or retained is logged, and does not affect the others."""
        full, bad, good = self.make_topic(partitions=3)
        error = OSError(errno.ENOSPC, "full")
        self.patch(full.log, "roll_if_due", lambda now_ms: self._raise(error))
        retained_full = self.counted(full.log, "retain", 0)
        self.patch(bad.log, "retain", lambda now_ms: self._raise(ZeroDivisionError()))
        retained_good = self.counted(good.log, "retain", 0)
        with capturedLogs() as events:
            self.successResultOf(self.run_now(self.tasks.retain))
        self.assertEqual((len(retained_full), len(retained_good)), (1, 1))
        levels = [event["log_level"] for event in events]
        self.assertEqual(levels, [LogLevel.warn, LogLevel.critical])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def _raise(self, error: Exception) -> None:
        raise error

    def test_stop_ends_a_round(self) -> None:
        """A stop ends the round of retention before its next log, and no task is called any more."""
        first, second = self.make_topic(partitions=2)
        self.patch(first.log, "retain", lambda now_ms: self.tasks.stop())
        retained = self.counted(second.log, "retain", 0)
        self.successResultOf(self.run_now(self.tasks.retain))
        self.assertEqual(retained, [])
        self.pass_time(10 * OFFSETS_S)
        self.assertEqual((retained, self.idle_checks), ([], 0))

    def test_checkpoint(self) -> None:
        """Checkpoints are written at their interval, together with the log dirs of new logs."""
        written = self.counted(self.broker.store, "checkpoint", succeed(None))
        recorded = self.counted(self.broker.topics.placements, "record", succeed(None))
        self.pass_time(CHECKPOINT_S)
        self.assertEqual((len(written), len(recorded)), (1, 1))

    def test_checkpoint_fails(self) -> None:
        """A checkpoint that fails is a warning for the disk, a failure for a bug, and tried again."""
        recorded = self.counted(self.broker.topics.placements, "record", succeed(None))
        for error, level in (
            (OSError(errno.EIO, "bad disk"), LogLevel.warn),
            (ZeroDivisionError(), LogLevel.critical),
        ):
            self.patch(self.broker.store, "checkpoint", lambda error=error: fail(error))
            with capturedLogs() as events:
                self.pass_time(CHECKPOINT_S)
            self.assertEqual([event["log_level"] for event in events], [level])
        self.assertEqual(len(recorded), 2)
        self.flushLoggedErrors(ZeroDivisionError)

    def test_record_soon(self) -> None:
        """The log dirs of several new logs are recorded once, shortly after the first."""
        recorded = self.counted(self.broker.topics.placements, "record", succeed(None))
        for _ in range(3):
            self.tasks.record_soon()
        self.assertEqual(recorded, [])
        self.pass_time(RECORD_DELAY_S)
        self.assertEqual(len(recorded), 1)
        self.tasks.record_soon()
        self.pass_time(RECORD_DELAY_S)
        self.assertEqual(len(recorded), 2)

    def test_record_fails(self) -> None:
        """A failed recording is a warning, and no error of the task."""
        error = RequestError(ErrorCode.KAFKA_STORAGE_ERROR)
        self.patch(self.broker.topics.placements, "record", lambda: fail(error))
        with capturedLogs() as events:
            self.successResultOf(self.tasks.record())
        self.assertEqual([event["log_level"] for event in events], [LogLevel.warn])

    def test_no_record_after_stop(self) -> None:
        """No log dirs are recorded after a stop, except on request."""
        recorded = self.counted(self.broker.topics.placements, "record", succeed(None))
        self.tasks.stop()
        self.tasks.record_soon()
        self.pass_time(1)
        self.assertEqual(recorded, [])

    def test_expiry(self) -> None:
        """Old offsets expire at offsets.retention.check.interval.ms, by the wall clock."""
        expired = self.counted(self.broker.expiry, "expire_each", iter(()))
        self.pass_time(OFFSETS_S)
        self.assertEqual(expired, [(NOW_MS,)])

    def test_idle_connections(self) -> None:
        """Idle connections are closed in short intervals."""
        self.pass_time(5)
        self.assertEqual(self.idle_checks, 1)

    def test_cleaning(self) -> None:
        """Logs are compacted until none needs it; a failure is logged, and the task continues."""
        results: list[Any] = [True, True, False, ZeroDivisionError(), False]

        def clean(now_ms: int) -> Deferred[bool]:
            result = results.pop(0)
            return fail(result) if isinstance(result, Exception) else succeed(result)

        self.patch(self.broker.store, "clean", clean)
        self.pass_time(CLEANER_S)
        self.assertEqual(len(results), 2)
        self.pass_time(CLEANER_S)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.pass_time(CLEANER_S)
        self.assertEqual(results, [])

    def test_cleaner_interval_is_dynamic(self) -> None:
        """A changed log.cleaner.backoff.ms is used from the next round on."""
        cleaned = self.counted(self.broker.store, "clean", succeed(False))
        change = {"log.cleaner.backoff.ms": "1000"}
        self.successResultOf(self.broker.metadata.alter_broker_configs("", lambda _: change))
        self.pass_time(CLEANER_S)
        self.assertEqual(len(cleaned), 1)
        for _ in range(3):
            self.pass_time(1)
        self.assertEqual(len(cleaned), 4)

    def test_no_cleaner(self) -> None:
        """No log is compacted with log.cleaner.enable=false."""
        broker = self.make_broker(**{"log.cleaner.enable": "false"})
        self.tasks.stop()
        tasks = BackgroundTasks(broker, self.clock, self.close_idle)
        tasks.start()
        cleaned = self.counted(broker.store, "clean", succeed(False))
        self.pass_time(10 * CLEANER_S)
        tasks.stop()
        self.assertEqual(cleaned, [])


class ReplicatedTests(ReplicatedTestCase):
    """The tasks of a broker of several."""

    def test_high_watermarks(self) -> None:
        """High watermarks are written at their interval; a failure is logged, and the next time goes on."""
        tasks = BackgroundTasks(self.broker, self.clock, lambda: None)
        tasks.start()
        self.addCleanup(tasks.stop)
        results: list[Deferred[None]] = [succeed(None), fail(ValueError("bug")), fail(OSError(28, "full"))]
        written: list[Any] = []

        def write(offsets: Any) -> Deferred[None]:
            written.append(offsets)
            return results.pop()

        self.patch(self.broker.store, "checkpoint_high_watermarks", write)
        self.make_replicated()
        self.clock.advance(4)
        self.assertEqual(written, [])
        with capturedLogs() as events:
            for _ in range(4):
                self.clock.advance(5)
        self.assertEqual(written, [{("t", 0): 0}] * 3)
        levels = [event["log_level"] for event in events]
        self.assertEqual((levels.count(LogLevel.warn), levels.count(LogLevel.critical)), (1, 1))
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
