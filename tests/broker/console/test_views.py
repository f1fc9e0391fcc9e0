"""The processes that look at messages."""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.views import COMMAND, IDLE_S, ViewProcesses
from kafkatx.views.requests import StepRequest, StepResult, ViewRequest, encode_request
from tests.broker.running import Held
from tests.views.test_rows import batch


def step(text: str = "true") -> dict[str, object]:
    """Return the head of a request for a step."""
    return encode_request(StepRequest(ViewRequest("t", text), 0, 0, 9, 9), {}, True)


USER = "User:ann"


class ViewProcessesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a clock."""
        self.clock = Clock()

    def processes(self, workers: Any = lambda name: execute, **more: Any) -> ViewProcesses:
        """Make processes, which end after the test."""
        made = ViewProcesses(workers, self.clock, **more)
        self.addCleanup(made.stop)
        return made

    def begin(self, processes: ViewProcesses, text: str = "true") -> Deferred[Any]:
        """Ask for a step."""
        return Deferred.fromCoroutine(processes.ask(USER, step(text), lambda: batch(0, [b"a", b"b"])))

    def test_answer(self) -> None:
        """A step is performed in a process, which ends when nothing has been asked for a while."""
        processes = self.processes()
        head, body = self.successResultOf(self.begin(processes))
        self.assertEqual(StepResult.read(head["step"], body).matched, 2)
        self.assertTrue(any(place.child.pid for place in processes._places))
        self.clock.advance(IDLE_S)
        self.assertFalse(any(place.child.pid for place in processes._places))
        self.successResultOf(self.begin(processes))

    def test_error(self) -> None:
        """A wrong filter is an error of the request, with the filter's words."""
        error = self.failureResultOf(self.begin(self.processes(), "1 +"), ConsoleError).value
        self.assertEqual(error.status, 400)
        self.assertIn("filter, line 1", str(error))

    def test_killed(self) -> None:
        """A process that hangs is killed; that is said, and the next request is answered."""
        processes = self.processes(command=(sys.executable, "-c", "input()"), hard_s=0.1)
        error = self.failureResultOf(self.begin(processes), ConsoleError).value
        self.assertEqual((error.status, error.code), (503, "MESSAGES_NOT_READ"))
        self.assertIn("within 0.1 s", str(error))
        for place in processes._places:
            place.child._command = COMMAND
            place.child._timeout_s = 60
        self.successResultOf(self.begin(processes))

    def test_body_fails(self) -> None:
        """Records that cannot be read from the disk are an error of their request."""
        processes = self.processes()

        def body() -> bytes:
            raise OSError("the disk")

        self.failureResultOf(Deferred.fromCoroutine(processes.ask(USER, step(), body)), OSError)
        self.successResultOf(self.begin(processes))

    def test_turns(self) -> None:
        """A request that is given up holds its process until it ends; others wait for one that is free."""
        held = Held()
        processes = self.processes(lambda name: held(name), most=1)
        first, second, third = (self.begin(processes) for _ in range(3))
        first.cancel()
        second.cancel()
        self.failureResultOf(first, CancelledError)
        self.failureResultOf(second, CancelledError)
        self.assertEqual(len(held._waiting), 1)
        held.work()
        self.successResultOf(third)
        self.assertEqual(len(processes._free), 1)
        held.holding = False

    def test_users_have_turns(self) -> None:
        """Many requests of one user leave a process to others."""
        held = Held()
        processes = self.processes(lambda name: held(name))
        many = [self.begin(processes) for _ in range(20)]
        self.assertEqual(len(held._waiting), 1)
        other = Deferred.fromCoroutine(processes.ask("User:ben", step("true"), lambda: batch(0, [b"a"])))
        self.assertEqual(len(held._waiting), 2)
        for one in many[2:]:
            one.cancel()
            self.failureResultOf(one, CancelledError)
        held.work()
        for one in (*many[:2], other):
            self.successResultOf(one)
        held.holding = False

    def test_stop(self) -> None:
        """After a stop nothing starts, and no timer stays."""
        processes = self.processes()
        self.successResultOf(self.begin(processes))
        processes.stop()
        self.failureResultOf(self.begin(processes), ConsoleError)
        self.assertEqual(self.clock.getDelayedCalls(), [])
