"""Tests of kafkatx.mirror.process with a reactor that the test drives; tests/integration has real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.mirror import process as module
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.core.status import State, StreamStatus, Totals
from kafkatx.mirror.process import LOOK_S, MirrorProcess, Outcome


class FakeReactor(Clock):
    """A reactor whose run calls a function of the test."""

    def __init__(self, during: Callable[[FakeReactor], None]) -> None:
        super().__init__()
        self.during = during
        self.triggers: list[Callable[[], object]] = []
        self.stopped = False

    def run(self) -> None:
        """Run the test's function, then the triggers."""
        self.during(self)
        for trigger in self.triggers:
            trigger()

    def stop(self) -> None:
        """Note it."""
        self.stopped = True

    def addSystemEventTrigger(self, phase: str, event: str, call: Callable[[], object]) -> None:
        """Keep a trigger."""
        self.triggers.append(call)

    def callWhenRunning(self, call: Callable[[], object]) -> None:
        """Call at once."""
        call()


class FakeService:
    """A mirror whose start and progress the test decides."""

    def __init__(self, settings: object, reactor: object) -> None:
        self.started: Deferred[None] = Deferred()
        self.status_at_end: list[StreamStatus] = []
        self.current = [StreamStatus(StreamId("C", "t", 0, "u"), State.COPYING)]
        self.done = False
        self.calls: list[str] = []

    def privilegedStartService(self) -> None:
        """Note it."""
        self.calls.append("privileged")

    def startService(self) -> None:
        """Note it."""
        self.calls.append("start")

    def stopService(self) -> Deferred[None]:
        """Note it."""
        self.calls.append("stop")
        self.status_at_end = self.current
        return succeed(None)

    async def source_ends(self) -> dict[str, int]:
        """Return something."""
        return {}

    async def copied_up_to(self, ends: dict[str, int]) -> bool:
        """Return what the test says."""
        return self.done

    def totals(self) -> Totals:
        """Return the sums."""
        return Totals.of(self.current)


class ProcessTests(SynchronousTestCase):
    def run_(self, until_end: bool, during: Callable[[Any, FakeReactor], None]) -> Outcome:
        """Run a process; *during* is called with its service and the reactor."""
        self.patch(module, "MirrorService", FakeService)
        reactor = FakeReactor(lambda reactor: during(self.service, reactor))
        settings: Any = None
        process = MirrorProcess(settings, reactor, until_end)
        self.service: Any = process.service
        self.reactor = reactor
        return process.run()

    def test_until_a_signal(self) -> None:
        """Without --exit it runs until the reactor is stopped; then the service is."""

        def during(service: FakeService, reactor: FakeReactor) -> None:
            service.started.callback(None)
            reactor.advance(10 * LOOK_S)
            self.assertFalse(reactor.stopped)

        outcome = self.run_(False, during)
        self.assertEqual((outcome.failure, outcome.failed), (None, []))
        self.assertEqual(self.service.calls, ["privileged", "start", "stop"])
        self.assertEqual(outcome.totals.partitions, 1)

    def test_until_the_end(self) -> None:
        """With --exit it ends when everything is copied."""

        def during(service: FakeService, reactor: FakeReactor) -> None:
            service.started.callback(None)
            reactor.advance(LOOK_S)
            self.assertFalse(reactor.stopped)
            service.done = True
            reactor.advance(LOOK_S)
            self.assertTrue(reactor.stopped)

        self.run_(True, during)

    def test_failed_partition(self) -> None:
        """With --exit it does not wait for a partition that has failed, and tells why."""

        def during(service: FakeService, reactor: FakeReactor) -> None:
            service.current[0].state, service.current[0].failure = State.FAILED, "why"
            service.started.callback(None)
            self.assertTrue(reactor.stopped)

        self.assertEqual(self.run_(True, during).failed, ["t-0 of C is not copied: why"])

    def test_no_start(self) -> None:
        """A mirror that cannot start ends with the reason."""

        def during(service: FakeService, reactor: FakeReactor) -> None:
            service.started.errback(SettingError("no"))
            self.assertTrue(reactor.stopped)

        self.assertEqual(self.run_(False, during).failure, "no")

    def test_signal_while_it_waits(self) -> None:
        """A signal ends it also while it waits for the end."""
        self.run_(True, lambda service, reactor: service.started.callback(None))
        self.assertEqual(self.reactor.getDelayedCalls(), [])
