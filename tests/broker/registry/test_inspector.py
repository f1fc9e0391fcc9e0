"""The inspector and its process: answers, hangs and crashes."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.registry import inspector as module
from kafkatx.broker.registry.inspector import COMMAND, IDLE_S, Inspector
from kafkatx.registry.errors import RegistryError
from kafkatx.registry.inspection import Inspected, Inspection, Source
from kafkatx.schemas.types import Schema

GOOD = Inspection(Source(Schema('"string"')))


class InspectorTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a clock."""
        self.clock = Clock()

    def inspector(self, *script: str, timeout_s: float = 30.0) -> Inspector:
        """Make an inspector, whose process runs a script of Python, or the real one."""
        command = (sys.executable, "-c", *script) if script else COMMAND
        made = Inspector([execute], self.clock, timeout_s, command)
        self.addCleanup(made.stop)
        return made

    def ask(self, inspector: Inspector, job: Inspection = GOOD) -> Inspected:
        """Make an inspection."""
        return self.successResultOf(Deferred.fromCoroutine(inspector.inspect("ann", job)))

    def refused(self, inspector: Inspector, job: Inspection = GOOD) -> str:
        """Make an inspection that fails; return the message."""
        failure = self.failureResultOf(Deferred.fromCoroutine(inspector.inspect("ann", job)), RegistryError)
        message: str = failure.getErrorMessage()
        return message

    def test_answers(self) -> None:
        """One process answers one inspection after the other, the bad ones with their error."""
        inspector = self.inspector()
        self.assertEqual(self.ask(inspector).text, '"string"')
        process = inspector._places[0].child._process
        self.assertIn("Invalid schema", self.refused(inspector, Inspection(Source(Schema("x")))))
        self.assertEqual(self.ask(inspector).text, '"string"')
        self.assertIs(inspector._places[0].child._process, process)

    def test_killed(self) -> None:
        """A process that was killed is replaced."""
        inspector = self.inspector()
        self.ask(inspector)
        process = inspector._places[0].child._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(self.ask(inspector).text, '"string"')

    def test_hangs(self) -> None:
        """A process that does not answer in time is killed, and the schema refused."""
        inspector = self.inspector("import time; time.sleep(1000)", timeout_s=0.1)
        self.assertIn("within 0.1 s", self.refused(inspector))
        self.assertIsNone(inspector._places[0].child._process)

    def test_crashes(self) -> None:
        """A process that ends without an answer, or in the middle of one, has refused the schema."""
        for script in ("input()", "input(); print('{\"text', end='')"):
            self.assertIn("could not be understood", self.refused(self.inspector(script)))

    def test_idle(self) -> None:
        """The process ends a while after the last inspection."""
        inspector = self.inspector()
        self.ask(inspector)
        self.clock.advance(IDLE_S - 1)
        self.ask(inspector)
        self.clock.advance(IDLE_S - 1)
        self.assertIsNotNone(inspector._places[0].child._process)
        self.clock.advance(1)
        self.assertIsNone(inspector._places[0].child._process)

    def test_stopped(self) -> None:
        """After the end no process is started, and no timer is left."""
        inspector = self.inspector()
        self.ask(inspector)
        inspector.stop()
        self.refused(inspector)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_large(self) -> None:
        """An inspection that is too large is refused before anything is started."""
        self.patch(module, "MOST_BYTES", 100)
        inspector = self.inspector()
        self.assertIn("more than 100", self.refused(inspector))
        self.assertIsNone(inspector._places[0].child._process)

    def test_many(self) -> None:
        """Only some inspections may wait."""
        self.patch(module, "MOST_WAITING_BYTES", 100)
        never: Deferred[bytes] = Deferred()
        worker: Any = lambda function: never  # noqa: E731
        inspector = Inspector([worker], self.clock, 1.0)
        waiting = Deferred.fromCoroutine(inspector.inspect("ann", GOOD))
        self.assertIn("wait to be inspected", self.refused(inspector))
        self.assertNoResult(waiting)

    def test_clients_have_turns(self) -> None:
        """One client does not get all processes, and an inspection whose client has gone is not made."""
        begun: list[Deferred[bytes]] = []

        def work(function: object) -> Deferred[bytes]:
            begun.append(Deferred())
            return begun[-1]

        worker: Any = work
        inspector = Inspector([worker, worker], self.clock, 1.0)
        many = [Deferred.fromCoroutine(inspector.inspect("ann", GOOD)) for _ in range(5)]
        self.assertEqual(len(begun), 1)
        Deferred.fromCoroutine(inspector.inspect("ben", GOOD))
        self.assertEqual(len(begun), 2)
        for one in many[1:]:
            one.cancel()
            self.failureResultOf(one, CancelledError)
        begun[0].callback(b"")
        self.failureResultOf(many[0], RegistryError)
        self.assertEqual(len(begun), 2)
