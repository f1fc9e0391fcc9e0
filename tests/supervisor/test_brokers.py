"""Brokers are started together, started again when they end, and stopped together; with fake processes."""

from __future__ import annotations

import signal
from collections.abc import Callable

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.supervisor.backoff import FIRST_S, MAX_S
from kafkatx.supervisor.brokers import MOST_ATTEMPTS, REMINDER_S, Brokers
from kafkatx.supervisor.status import Report


class FakeProcess:
    """A process that does what a test says."""

    def __init__(
        self, pid: int, index: int, reported: Callable[[Report], None], ended: Callable[[str], None]
    ) -> None:
        self.pid = pid
        self.index = index
        self.reported = reported
        self.ended = ended
        self.signals: list[signal.Signals] = []

    def signal(self, number: signal.Signals) -> None:
        """Keep a signal."""
        self.signals.append(number)


class BrokersTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make three brokers."""
        self.clock = Clock()
        self.processes: list[FakeProcess] = []
        self.error: OSError | None = None
        self.brokers = Brokers(["1", "2", "3"], self.start, self.clock)

    def start(
        self, index: int, reported: Callable[[Report], None], ended: Callable[[str], None]
    ) -> FakeProcess:
        """Start a fake process."""
        if self.error is not None:
            raise self.error
        process = FakeProcess(100 + len(self.processes), index, reported, ended)
        self.processes.append(process)
        return process

    def ready(self) -> None:
        """Start all, and have them ready."""
        self.brokers.start()
        for process in self.processes:
            process.reported(Report(None, "a:1"))
        self.successResultOf(self.brokers.started)

    def test_started(self) -> None:
        """The start is over when the last broker is ready."""
        self.brokers.start()
        self.assertEqual([process.index for process in self.processes], [0, 1, 2])
        for process in self.processes:
            self.assertNoResult(self.brokers.started)
            process.reported(Report(None, "a:1"))
        self.successResultOf(self.brokers.started)

    def test_cannot_start(self) -> None:
        """A broker that says why it cannot start ends the start."""
        self.brokers.start()
        self.processes[1].reported(Report("port in use"))
        self.processes[1].ended("status 1")
        failure = self.failureResultOf(self.brokers.started, SettingError)
        self.assertEqual(str(failure.value), "broker 2 cannot start: port in use")
        stopped = self.brokers.stop()
        for process in (self.processes[0], self.processes[2]):
            self.assertEqual(process.signals, [signal.SIGTERM])
            process.ended("status 0")
        self.successResultOf(stopped)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_killed_while_others_start(self) -> None:
        """A broker that is killed before all are ready is started again, whether it was ready or not."""
        self.brokers.start()
        one, two, three = self.processes
        one.reported(Report(None, "a:1"))
        one.ended("signal 9 (SIGKILL)")
        two.ended("signal 9 (SIGKILL)")
        three.reported(Report(None, "a:3"))
        self.clock.advance(FIRST_S)
        again = self.processes[3:]
        self.assertEqual([process.index for process in again], [0, 1])
        for process in again:
            self.assertNoResult(self.brokers.started)
            process.reported(Report(None, "a:4"))
        self.successResultOf(self.brokers.started)

    def test_ends_again_and_again(self) -> None:
        """A broker that never gets ready, and says no reason, ends the start at last."""
        self.brokers.start()
        for _ in range(MOST_ATTEMPTS):
            self.assertNoResult(self.brokers.started)
            process = [each for each in self.processes if each.index == 1][-1]
            process.ended("signal 11 (SIGSEGV)")
            self.clock.advance(MAX_S)
        failure = self.failureResultOf(self.brokers.started, SettingError)
        self.assertEqual(str(failure.value), "broker 2 cannot start: signal 11 (SIGSEGV)")

    def test_no_process_at_first(self) -> None:
        """A process that the system refuses ends the start."""
        self.error = OSError("too many")
        self.brokers.start()
        self.failureResultOf(self.brokers.started, SettingError)

    def test_started_again(self) -> None:
        """A broker that ends is started again after a pause that grows; the log says so."""
        self.ready()
        with capturedLogs() as events:
            self.processes[1].ended("signal 9 (SIGKILL)")
        (line,) = map(formatEvent, events)
        self.assertIn("broker 2 (process 101) has ended: signal 9 (SIGKILL)", line)
        self.assertIn(f"again in {FIRST_S:g} s", line)
        self.clock.advance(FIRST_S - 0.01)
        self.assertEqual(len(self.processes), 3)
        self.clock.advance(0.01)
        self.assertEqual(self.processes[3].index, 1)
        self.processes[3].reported(Report("disk is full"))
        with capturedLogs() as events:
            self.processes[3].ended("status 1")
        self.assertIn("disk is full; it is started again in 1 s", formatEvent(events[0]) or "")
        self.clock.advance(2 * FIRST_S)
        self.processes[4].reported(Report(None, "a:2"))
        self.assertEqual(self.brokers.pids, [100, 104, 102])

    def test_no_process(self) -> None:
        """A process that the system refuses is tried again."""
        self.ready()
        self.error = OSError("too many")
        self.processes[0].ended("status 1")
        with capturedLogs() as events:
            self.clock.advance(FIRST_S)
        self.assertIn("it cannot be started: too many", formatEvent(events[0]) or "")
        self.error = None
        self.clock.advance(2 * FIRST_S)
        self.assertEqual(len(self.processes), 4)

    def test_stop(self) -> None:
        """All are stopped at once; a slow one is named; nothing is started again."""
        self.ready()
        self.processes[0].ended("status 1")  # its pause is cut short
        stopped = self.brokers.stop()
        self.processes[1].ended("status 0")
        with capturedLogs() as events:
            self.clock.advance(REMINDER_S)
        self.assertIn("still stopping: broker 3", formatEvent(events[0]) or "")
        self.assertNoResult(stopped)
        self.processes[2].ended("status 0")
        self.successResultOf(stopped)
        self.assertEqual((len(self.processes), self.clock.getDelayedCalls()), (3, []))
        self.successResultOf(self.brokers.stop())

    def test_signals(self) -> None:
        """A signal goes to every broker that runs."""
        self.ready()
        self.processes[0].ended("status 1")
        self.brokers.signal(signal.SIGHUP)
        found = [process.signals for process in self.processes]
        self.assertEqual(found, [[], [signal.SIGHUP], [signal.SIGHUP]])
